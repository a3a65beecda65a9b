#include "runtime/ms/tiles/tile_writer.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "runtime/ms/set/row_blocks.h"
#include "runtime/ms/set/weights.h"

namespace rimetree::ms {
namespace {

namespace fs = std::filesystem;

std::string now_text() {
  using std::chrono::duration, std::chrono::system_clock;
  return utc_text(40587.0 * 86400.0 + duration<double>(system_clock::now().time_since_epoch()).count());
}

/// The distinct cell shapes of all rows, and which of them each row has.
struct ShapesOfRows {
  std::vector<CellShape> shapes;
  std::vector<int> shape_of_row;
  std::uint64_t bytes = 0;  ///< of complex<float> in all cells
};

ShapesOfRows shapes_of_rows(const MeasurementSet& ms) {
  ShapesOfRows result;
  std::map<int, int> shape_of_description;
  for (const int id : ms.table().ints("DATA_DESC_ID", 0, ms.n_row())) {
    auto found = shape_of_description.find(id);
    if (found == shape_of_description.end()) {
      const CellShape shape = ms.cell_shape(id);
      auto at = std::find(result.shapes.begin(), result.shapes.end(), shape);
      if (at == result.shapes.end()) at = result.shapes.insert(at, shape);
      found = shape_of_description.emplace(id, static_cast<int>(at - result.shapes.begin())).first;
    }
    const CellShape& shape = result.shapes[found->second];
    result.shape_of_row.push_back(found->second);
    result.bytes += sizeof(std::complex<float>) * shape.n_channel * shape.n_correlation;
  }
  return result;
}

/// Throws unless a column of fixed shape has the shape that all rows need.
void require_shapes(const MeasurementSet& ms, const std::string& column, const std::vector<CellShape>& shapes) {
  const ColumnInfo info = ms.table().column(column);
  if (info.shape.empty()) return;
  for (const CellShape& shape : shapes) {
    if (info.shape == std::vector<std::size_t>{shape.n_channel, shape.n_correlation}) continue;
    throw MsError("column " + column + " of " + ms.path() +
                  " exists with another shape than the data descriptions say" + " (" + std::to_string(shape.n_channel) +
                  " channels x " + std::to_string(shape.n_correlation) + " correlations): write another column");
  }
}

template <class Value>
void write_rows(CasacoreTable& table, const std::string& column, const std::vector<std::size_t>& positions,
                const std::vector<std::int64_t>& rows, const CellPart& part, const std::vector<Value>& values) {
  std::vector<Value> buffer;
  for_row_blocks(rows.size(), part.size() * sizeof(Value), [&](std::size_t begin, std::size_t end) {
    buffer.resize((end - begin) * part.size());
    for (std::size_t i = begin; i < end; ++i) {
      std::copy_n(&values[positions[i] * part.size()], part.size(), &buffer[(i - begin) * part.size()]);
    }
    table.write_cells(column, {rows.begin() + begin, rows.begin() + end}, part, buffer.data());
  });
}

// What is no visibilities in any Measurement Set that has it (besides what all sets have).
constexpr std::array<std::string_view, 20> kOthers = {"SIGMA_SPECTRUM",
                                                      "FLOAT_DATA",
                                                      "IMAGING_WEIGHT",
                                                      "IMAGING_WEIGHT_SPECTRUM",
                                                      "CORRECTED_WEIGHT_SPECTRUM",
                                                      "FLAG_CATEGORY",
                                                      "UVW2",
                                                      "VIDEO_POINT",
                                                      "BASELINE_REF",
                                                      "PULSAR_BIN",
                                                      "PULSAR_GATE_ID",
                                                      "PHASE_ID",
                                                      "TIME_EXTRA_PREC",
                                                      "TIME_CENTROID",
                                                      "ANTENNA3",
                                                      "FEED3",
                                                      "LAG_DATA",
                                                      "INTERVAL",
                                                      "STATE_ID",
                                                      "OBSERVATION_ID"};

void require_permission(const MeasurementSet& ms, const std::string& column) {
  if (column.empty() || column.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") !=
                            std::string::npos) {
    throw MsError("a column cannot be called '" + column + "': use letters, digits and underscores");
  }
  const bool has_meaning = std::find(kOthers.begin(), kOthers.end(), column) != kOthers.end();
  if (has_meaning && !ms.has_column(column)) {
    throw MsError("a column of visibilities cannot be called " + column +
                  ": in Measurement Sets that is the name of something else");
  }
  if (!ms.writable()) {
    throw MsError("column " + column + " cannot be written: " + ms.path() + " was opened for reading only");
  }
  for (const fs::directory_entry& file : fs::directory_iterator(ms.path())) {
    const std::string name = file.path().filename().string();
    if (!file.is_regular_file() || name.rfind("table.", 0) != 0) continue;
    if (::access(file.path().c_str(), W_OK) != 0) {
      throw MsError("column " + column + " cannot be written: no permission to write " + file.path().string());
    }
  }
  if (::access(ms.path().c_str(), W_OK) != 0) {
    throw MsError("column " + column + " cannot be written: no permission to create files in " + ms.path());
  }
}

void require_space(const MeasurementSet& ms, const std::string& column, std::uint64_t bytes,
                   std::uint64_t spare_bytes) {
  std::error_code error;
  const fs::space_info space = fs::space(ms.path(), error);
  if (error) return;  // a file system that does not tell; writing zeros will
  const std::uint64_t needed = bytes + bytes / 50 + spare_bytes;  // tiles at the edges are padded: 2 per cent
  if (space.available >= needed) return;
  if (bytes == 0) {
    throw MsError("writing column " + column + " of " + ms.path() + ": only " + size_text(space.available) +
                  " of disk are free, and " + size_text(spare_bytes) + " shall stay free; free some space");
  }
  throw MsError("column " + column + " of " + ms.path() + " needs " + size_text(needed) + " of disk, but only " +
                size_text(space.available) + " are free (" + size_text(spare_bytes) +
                " shall stay free); free some space");
}

/// Weights are real numbers in a column that must be there: none is made, since it would count from then on for what
/// has no weights in it.
constexpr const char* kWeights = "WEIGHT_SPECTRUM";

void require_weights(const MeasurementSet& ms, const std::vector<CellShape>& shapes) {
  if (!ms.has_column(kWeights) || ms.table().column(kWeights).type != ValueType::kFloat)
    throw MsError(ms.path() + " has no column " + kWeights +
                  " of real numbers to write weights into: create the set with one (make-ms --weight-spectrum)");
  require_shapes(ms, kWeights, shapes);
}

}  // namespace

void check_writable(const MeasurementSet& ms, const std::string& column, std::uint64_t spare_bytes) {
  require_permission(ms, column);
  const bool exists = ms.has_column(column);
  const ShapesOfRows rows = shapes_of_rows(ms);
  if (column == kWeights) return require_weights(ms, rows.shapes);
  if (exists) ms.require_visibilities(column);
  if (exists) require_shapes(ms, column, rows.shapes);
  require_space(ms, column, exists ? 0 : rows.bytes, spare_bytes);
}

TileWriter::TileWriter(MeasurementSet& ms, std::string column, WriteOptions options)
    : ms_(ms), column_(std::move(column)), options_(options), stored_(std::chrono::steady_clock::now()) {
  progress_.column = column_;
  progress_.started = now_text();
  progress_.rows_expected = options_.rows_expected;
  check_writable(ms_, column_, options_.spare_bytes);
  if (options_.continues) take_up_journal();
  prepare_column();
}

void TileWriter::take_up_journal() {
  for (const Progress& found : read_progress(ms_.path())) {
    if (found.column != column_ || found.creating || found.rows_expected < 0) continue;
    progress_.started = found.started;
    progress_.rows_written = found.rows_written;
    progress_.complete = found.complete;
    for (const CompleteUntil& one : found.complete) complete_until_s_[{one.data_desc_id, one.field_id}] = one.time_s;
  }
}

TileWriter::~TileWriter() {
  if (finished_ || !begun_) return;
  try {
    store();
  } catch (const std::exception&) {  // the journal on the disk stays: it claims less than is there, never more
  }
}

void TileWriter::prepare_column() {
  if (column_ == kWeights) return;
  const bool exists = ms_.has_column(column_);
  const ShapesOfRows rows = shapes_of_rows(ms_);
  // A column whose creation was interrupted looks complete, but its cells hold anything.
  bool half_created = false;
  for (const Progress& found : read_progress(ms_.path())) half_created |= found.column == column_ && found.creating;
  progress_.creating = !exists || half_created;
  if (progress_.creating) begin();
  try {
    if (exists) {
      ms_.table().fill_zeros(column_, rows.shapes, rows.shape_of_row, !half_created);
    } else {
      ms_.table().add_complex_column(column_, "The " + column_ + " column", rows.shapes, rows.shape_of_row);
    }
    ms_.table().flush(true);
  } catch (...) {
    if (!exists && !ms_.has_column(column_)) remove_progress(ms_.path(), column_);
    throw;
  }
  progress_.creating = false;
  if (begun_) store_progress(ms_.path(), progress_);
}

// What notes and an older journal say of the column holds until then.
void TileWriter::begin() {
  if (begun_) return;
  begun_ = true;
  store_progress(ms_.path(), progress_);
  remove_applied_notes(ms_.path(), column_);
}

CellPart TileWriter::part_of(const Tile& tile) const {
  const CellShape shape = ms_.cell_shape(tile.data_desc_id);
  if (tile.n_correlation() != shape.n_correlation || tile.first_channel + tile.n_channel() > shape.n_channel) {
    throw MsError("a tile with channels " + std::to_string(tile.first_channel) + " to " +
                  std::to_string(tile.first_channel + tile.n_channel()) + " (exclusive) and " +
                  std::to_string(tile.n_correlation()) + " correlations does not fit DATA_DESC_ID " +
                  std::to_string(tile.data_desc_id) + " of " + ms_.path() + ": expected " +
                  std::to_string(shape.n_channel) + " channels and " + std::to_string(shape.n_correlation) +
                  " correlations");
  }
  return {shape, tile.first_channel, tile.n_channel()};
}

void TileWriter::write(const Tile& tile, bool flags_changed) {
  if (finished_) throw MsError("column " + column_ + " of " + ms_.path() + " is finished: no tile can be added");
  const auto values = tile.columns.find(column_);
  if (values == tile.columns.end()) {
    throw MsError("the tile holds no column " + column_ + ", which is to be written to " + ms_.path());
  }
  if (values->second.size() != tile.n_visibility() || tile.row.size() != tile.n_row()) {
    throw MsError("column " + column_ + " of the tile: expected " + std::to_string(tile.n_visibility()) +
                  " values (baselines x times x channels x correlations), got " +
                  std::to_string(values->second.size()));
  }
  const CellPart part = part_of(tile);
  const std::vector<std::size_t> positions = places_in_order_of_rows(tile);
  std::vector<std::int64_t> rows;
  for (const std::size_t position : positions) rows.push_back(tile.row[position]);
  begin();
  if (column_ == kWeights) {
    std::vector<float> weights(values->second.size());
    std::transform(values->second.begin(), values->second.end(), weights.begin(),
                   [](std::complex<float> weight) { return weight.real(); });
    write_rows(ms_.table(), column_, positions, rows, part, weights);
    write_row_weights(ms_.table(), rows, part.whole);
  } else {
    write_rows(ms_.table(), column_, positions, rows, part, values->second);
  }
  if (options_.flags && flags_changed) write_flags(tile, part, positions, rows);

  progress_.rows_written += static_cast<std::int64_t>(rows.size());
  // Layer 0 comes last of its time slots (plan_tiles), so that only it makes them complete.
  if (!tile.time_s.empty() && tile.layer == 0)
    complete_until_s_[{tile.data_desc_id, tile.field_id}] = tile.time_s.back();
  const std::chrono::duration<double> since = std::chrono::steady_clock::now() - stored_;
  if (since.count() >= options_.sync_interval_s) store();
}

void TileWriter::write_flags(const Tile& tile, const CellPart& part, const std::vector<std::size_t>& positions,
                             const std::vector<std::int64_t>& rows) {
  if (part.n_channel != part.whole.n_channel || tile.flag.size() != tile.n_visibility()) {
    throw MsError("flags of " + ms_.path() +
                  " can only be written for all channels at once, from a tile that has them");
  }
  write_rows(ms_.table(), "FLAG", positions, rows, part, tile.flag);
  std::vector<std::uint8_t> row_flags;
  for (const std::size_t position : positions) {
    const auto first = tile.flag.begin() + static_cast<std::ptrdiff_t>(position * part.size());
    row_flags.push_back(std::all_of(first, first + static_cast<std::ptrdiff_t>(part.size()),
                                    [](std::uint8_t flag) { return flag != 0; }));
  }
  ms_.table().write_bools("FLAG_ROW", rows, row_flags);
}

void TileWriter::store() {
  ms_.table().flush_column(column_);
  if (column_ == kWeights)
    for (const char* name : {"WEIGHT", "SIGMA"}) ms_.table().flush_column(name);
  if (options_.flags) ms_.table().flush_column("FLAG");
  progress_.complete.clear();
  for (const auto& [ids, time_s] : complete_until_s_) progress_.complete.push_back({ids.first, ids.second, time_s});
  store_progress(ms_.path(), progress_);
  stored_ = std::chrono::steady_clock::now();
}

void TileWriter::finish() {
  if (finished_) return;
  if (options_.more_follow) {
    if (begun_) store();
  } else {
    ms_.table().flush(true);
    remove_progress(ms_.path(), column_);
  }
  finished_ = true;
}

}  // namespace rimetree::ms
