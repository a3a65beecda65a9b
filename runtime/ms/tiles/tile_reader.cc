#include "runtime/ms/tiles/tile_reader.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "runtime/math/conventions.h"
#include "runtime/ms/set/one_order.h"
#include "runtime/ms/set/row_blocks.h"
#include "runtime/ms/set/weights.h"

namespace rimetree::ms {
namespace {

std::vector<Baseline> unique_baselines(const RowIndex& index, const TilePlan& plan, const TileKey& key) {
  std::vector<Baseline> baselines;
  for (std::size_t i = plan.slot_begin[key.first_slot]; i < plan.slot_begin[key.first_slot + key.n_slot]; ++i) {
    baselines.push_back({index.antenna1[plan.row_order[i]], index.antenna2[plan.row_order[i]]});
  }
  std::sort(baselines.begin(), baselines.end());
  baselines.erase(std::unique(baselines.begin(), baselines.end()), baselines.end());
  return baselines;
}

/// Reads [row, channel, correlation] in blocks and hands each row to place(values of the row, position in the tile).
template <class Value, class Place>
void read_rows(const CasacoreTable& table, const std::string& column, const std::vector<std::size_t>& positions,
               const std::vector<std::int64_t>& rows, const CellPart& part, Place&& place) {
  std::vector<Value> buffer;
  for_row_blocks(rows.size(), part.size() * sizeof(Value), [&](std::size_t begin, std::size_t end) {
    buffer.resize((end - begin) * part.size());
    table.read_cells(column, {rows.begin() + begin, rows.begin() + end}, part, buffer.data());
    for (std::size_t i = begin; i < end; ++i) place(buffer.data() + (i - begin) * part.size(), positions[i]);
  });
}

void require_frequencies(const MeasurementSet& ms, int data_desc_id, const CellPart& part) {
  const SpectralWindow& window = ms.spectral_window(data_desc_id);
  const int id = ms.metadata().data_descriptions[data_desc_id].spectral_window_id;
  const auto require = [&](bool good, std::size_t channel, const char* column, double value, const char* expected) {
    if (good) return;
    std::ostringstream text;
    text << "spectral window " << id << " of " << ms.path() << ": channel " << channel << " has " << column << ' '
         << value << " Hz, expected " << expected << "; correct it in the set";
    throw MsError(text.str());
  };
  for (std::size_t channel = part.first_channel; channel < part.first_channel + part.n_channel; ++channel) {
    const double frequency_hz = window.frequency_hz[channel], width_hz = window.width_hz[channel];
    require(is_frequency(frequency_hz), channel, "CHAN_FREQ", frequency_hz, "a positive frequency");
    require(std::isfinite(width_hz), channel, "CHAN_WIDTH", width_hz, "a finite number");
  }
}

/// Memory for the values of a tile; `absent`: of rows that there are not, where not `all` are there.
template <class T>
void prepare(bool all, std::size_t n, T absent, std::vector<T>* array) {
  all ? array->resize(n) : array->assign(n, absent);
}

}  // namespace

TileReader::TileReader(const MeasurementSet& ms, ReadSelection selection)
    : ms_(ms),
      selection_(std::move(selection)),
      index_(selection_.rows.one_order ? ms.rows_in_one_order() : ms.rows()) {
  for (const std::string& column : selection_.columns) ms.require_visibilities(column);
  const RowSelection& rows = selection_.rows;
  if (rows.data_desc_id >= 0) ms.cell_shape(rows.data_desc_id);  // throws if there is none
  if (rows.field_id >= 0 && static_cast<std::size_t>(rows.field_id) >= ms.metadata().fields.size()) {
    throw MsError(ms.path() + " has no FIELD_ID " + std::to_string(rows.field_id) + ": table FIELD " +
                  rows_text(ms.metadata().fields.size()));
  }
  if (const std::size_t unit = rows.slot_unit(); unit > 1) {
    selection_.rows.time_slots = (std::max<std::size_t>(1, rows.time_slots) + unit - 1) / unit * unit;
    selection_.flags = true;  // which say whose UVW count
  }
  plan_ = plan_tiles(*index_, rows);
  for (const TileKey& key : plan_.tiles) channels(key.data_desc_id);  // throws if out of range
}

ChannelRange TileReader::channels(int data_desc_id) const {
  const std::size_t n = ms_.spectral_window(data_desc_id).n_channel();
  ChannelRange range = selection_.channels.value_or(ChannelRange{0, n});
  if (!selection_.chosen.all()) {
    const ChannelRange chosen = selection_.chosen.range(ms_.spectral_window(data_desc_id));
    range = {std::max(range.first, chosen.first), std::min(range.stop, chosen.stop)};
    if (range.first >= range.stop)
      throw MsError("none of the " + std::to_string(n) + " channels of DATA_DESC_ID " + std::to_string(data_desc_id) +
                    " of " + ms_.path() + " is selected; select other channels, or other data descriptions");
  }
  if (range.first < range.stop && range.stop <= n) return range;
  throw MsError("channels " + std::to_string(range.first) + " to " + std::to_string(range.stop) +
                " (exclusive) selected, but DATA_DESC_ID " + std::to_string(data_desc_id) + " of " + ms_.path() +
                " has " + std::to_string(n) + " channels; select a data description or other channels");
}

CellPart TileReader::part(int data_desc_id) const {
  const ChannelRange range = channels(data_desc_id);
  return {ms_.cell_shape(data_desc_id), range.first, range.stop - range.first};
}

Tile TileReader::outline(std::size_t index) const {
  Tile tile = stored_outline(index);
  const Averaging averaging = averaging_of(index);
  return averaging.any() ? average_outline(tile, averaging) : tile;
}

Tile TileReader::read(std::size_t index) const {
  constexpr std::size_t kPartBytes = std::size_t{32} << 20;
  const TileKey& key = plan_.tiles.at(index);
  const Averaging averaging = averaging_of(index);
  if (!averaging.any()) return read_stored(key, stored_outline(index));
  const Tile outline = stored_outline(index);
  const std::size_t of_slot = std::max<std::size_t>(1, bytes(index) / std::max<std::size_t>(1, key.n_slot));
  return average_by_parts(outline, averaging, std::max<std::size_t>(1, kPartBytes / of_slot),
                          [&](std::size_t first, std::size_t n) {
                            TileKey part = key;
                            part.first_slot += first;
                            part.n_slot = n;
                            Tile axes = stored_outline(part);
                            axes.baselines = outline.baselines;
                            return read_stored(part, std::move(axes));
                          });
}

Tile TileReader::stored_outline(std::size_t index) const { return stored_outline(plan_.tiles.at(index)); }

Tile TileReader::stored_outline(const TileKey& key) const {
  const CellPart part = this->part(key.data_desc_id);
  const SpectralWindow& window = ms_.spectral_window(key.data_desc_id);
  Tile tile;
  tile.data_desc_id = key.data_desc_id;
  tile.field_id = key.field_id;
  tile.layer = key.layer;
  tile.first_channel = part.first_channel;
  require_frequencies(ms_, key.data_desc_id, part);
  for (std::size_t channel = part.first_channel; channel < part.first_channel + part.n_channel; ++channel) {
    tile.frequency_hz.push_back(window.frequency_hz[channel]);
    tile.channel_width_hz.push_back(std::abs(window.width_hz[channel]));
  }
  tile.correlation_type = ms_.polarization(key.data_desc_id).correlation_type;
  for (std::size_t slot = key.first_slot; slot < key.first_slot + key.n_slot; ++slot) {
    tile.time_s.push_back(plan_.slot_time_s[slot]);
    tile.interval_s.push_back(plan_.slot_interval_s[slot]);
  }
  tile.baselines = unique_baselines(*index_, plan_, key);
  return tile;
}

Tile TileReader::read_stored(const TileKey& key, Tile tile) const {
  const CellPart part = this->part(key.data_desc_id);
  place_rows(key, &tile);

  const std::vector<std::size_t> positions = places_in_order_of_rows(tile);
  std::vector<std::int64_t> rows;
  for (const std::size_t position : positions) rows.push_back(tile.row[position]);
  ms_.spare_arrays().lend(selection_.columns, selection_.flags, selection_.weights, &tile);
  fill_arrays(positions, rows, part, &tile);
  if (selection_.flags) fill_flags(positions, rows, part, &tile);
  if (selection_.weights) fill_weights(positions, rows, part, &tile);
  turn_rows(index_->turned, &tile);
  ms_.left_out().flag(&tile);
  if (const auto& to = selection_.rows.phase_centre) {
    const Field& field = ms_.metadata().fields[tile.field_id];
    move_phase_centre({field.ra_rad, field.dec_rad}, *to, &tile);
  }
  return tile;
}

void TileReader::place_rows(const TileKey& key, Tile* tile) const {
  tile->row.assign(tile->n_row(), -1);
  tile->uvw_m.assign(tile->n_row() * 3, 0);
  tile->uvw_rate_m_s.assign(tile->n_row() * 3, 0);
  tile->exposure_s.assign(tile->n_row(), 0);
  for (std::size_t time = 0; time < key.n_slot; ++time) {
    const std::size_t slot = key.first_slot + time;
    for (std::size_t i = plan_.slot_begin[slot]; i < plan_.slot_begin[slot + 1]; ++i) {
      const std::int64_t row = plan_.row_order[i];
      const std::ptrdiff_t baseline = tile->find({index_->antenna1[row], index_->antenna2[row]});
      const std::size_t position = static_cast<std::size_t>(baseline) * key.n_slot + time;
      tile->row[position] = row;
      tile->exposure_s[position] = index_->exposure_s[row];
    }
  }
}

void TileReader::fill_arrays(const std::vector<std::size_t>& positions, const std::vector<std::int64_t>& rows,
                             const CellPart& part, Tile* tile) const {
  std::vector<double> uvw_m(rows.size() * 3);
  ms_.table().read_vectors("UVW", rows, 3, uvw_m.data());
  const double dec_rad = ms_.metadata().fields[tile->field_id].dec_rad;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::copy_n(&uvw_m[3 * i], 3, &tile->uvw_m[3 * positions[i]]);
    uvw_rate(&uvw_m[3 * i], dec_rad, &tile->uvw_rate_m_s[3 * positions[i]]);
  }
  for (const std::string& name : selection_.columns) {
    auto& column = tile->columns[name];
    prepare(positions.size() == tile->n_row(), tile->n_visibility(), std::complex<float>(), &column);
    read_rows<std::complex<float>>(ms_.table(), name, positions, rows, part, [&](const auto* values, std::size_t at) {
      std::copy_n(values, part.size(), &column[at * part.size()]);
    });
  }
}

void TileReader::fill_flags(const std::vector<std::size_t>& positions, const std::vector<std::int64_t>& rows,
                            const CellPart& part, Tile* tile) const {
  prepare<std::uint8_t>(positions.size() == tile->n_row(), tile->n_visibility(), 1, &tile->flag);
  read_rows<std::uint8_t>(ms_.table(), "FLAG", positions, rows, part, [&](const auto* values, std::size_t at) {
    std::copy_n(values, part.size(), &tile->flag[at * part.size()]);
  });
  if (rows.empty()) return;
  const std::vector<std::uint8_t> row_flags =
      ms_.table().bools("FLAG_ROW", rows.front(), rows.back() - rows.front() + 1);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (row_flags[rows[i] - rows.front()]) std::fill_n(&tile->flag[positions[i] * part.size()], part.size(), 1);
  }
  flag_between(part, tile);
}

void TileReader::flag_between(const CellPart& part, Tile* tile) const {
  if (selection_.chosen.all()) return;
  const std::vector<bool> chosen = selection_.chosen.of(ms_.spectral_window(tile->data_desc_id));
  const std::size_t n_correlation = tile->n_correlation();
  for (std::size_t channel = 0; channel < part.n_channel; ++channel) {
    if (chosen[part.first_channel + channel]) continue;
    for (std::size_t row = 0; row < tile->n_row(); ++row)
      std::fill_n(&tile->flag[(row * part.n_channel + channel) * n_correlation], n_correlation, 1);
  }
}

void TileReader::fill_weights(const std::vector<std::size_t>& positions, const std::vector<std::int64_t>& rows,
                              const CellPart& part, Tile* tile) const {
  prepare(positions.size() == tile->n_row(), tile->n_visibility(), 0.0f, &tile->weight);
  std::vector<float> weights;
  const bool spectrum = has_weight_spectrum(ms_.table(), rows);
  for_row_blocks(rows.size(), part.size() * sizeof(float), [&](std::size_t begin, std::size_t end) {
    const std::vector<std::int64_t> block(rows.begin() + begin, rows.begin() + end);
    read_weights(ms_.table(), block, part, spectrum, &weights);
    for (std::size_t i = begin; i < end; ++i) {
      std::copy_n(&weights[(i - begin) * part.size()], part.size(), &tile->weight[positions[i] * part.size()]);
    }
  });
}

std::size_t TileReader::bytes(std::size_t index, std::size_t more_columns) const {
  const TileKey& key = plan_.tiles.at(index);
  const std::size_t n_row = key.n_baseline * key.n_slot;
  const std::size_t n_visibility = n_row * part(key.data_desc_id).size();
  const std::size_t columns = selection_.columns.size() + more_columns;
  const std::size_t per_row = sizeof(std::int64_t) + 7 * sizeof(double);
  const std::size_t per_visibility = columns * sizeof(std::complex<float>) +
                                     (selection_.flags ? sizeof(std::uint8_t) : 0) +
                                     (selection_.weights ? sizeof(float) : 0);
  const std::size_t buffer = std::min(kRowBlockBytes, n_visibility * sizeof(std::complex<float>));
  return n_row * per_row + n_visibility * per_visibility + buffer;
}

std::vector<Baseline> TileReader::baselines() const {
  std::vector<Baseline> result;
  for (const std::int64_t row : plan_.row_order) {
    const auto i = static_cast<std::size_t>(row);
    result.push_back({index_->antenna1[i], index_->antenna2[i]});
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

std::size_t TileReader::largest_bytes(std::size_t more_columns) const {
  std::size_t largest = 0;
  for (std::size_t index = 0; index < plan_.tiles.size(); ++index) {
    largest = std::max(largest, bytes(index, more_columns));
  }
  return largest;
}

std::size_t TileReader::fit(std::size_t budget_bytes, std::size_t most, std::size_t more_columns) {
  const std::size_t unit = selection_.rows.slot_unit();
  const auto whole = [unit](std::size_t n) { return std::max(unit, n / unit * unit); };
  std::size_t slots = whole(most);
  while (true) {
    selection_.rows.time_slots = slots;
    plan_ = plan_tiles(*index_, selection_.rows);
    const std::size_t largest = largest_bytes(more_columns);
    if (largest <= budget_bytes) return slots;
    if (slots == unit) {
      throw MsError(
          "one time slot of " + ms_.path() + " takes " + size_text(largest) + " of memory, and may take " +
          size_text(budget_bytes) +
          " of the budget, as others are read and written meanwhile; raise the budget or select fewer channels");
    }
    const double share = static_cast<double>(budget_bytes) / static_cast<double>(largest);
    slots = whole(std::clamp<std::size_t>(static_cast<std::size_t>(static_cast<double>(slots) * share), 1, slots - 1));
  }
}

}  // namespace rimetree::ms
