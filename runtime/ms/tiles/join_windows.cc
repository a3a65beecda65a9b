// Nodes need not know that windows were joined: a Parm of one solution tile in frequency is then one quantity in all
// windows. A joined tile has no rows of one window to write to, so Sinks are refused.
#include "runtime/ms/tiles/join_windows.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "runtime/ms/tables/error.h"
#include "runtime/ms/tables/metadata.h"

namespace rimetree::ms {

namespace {

std::string names(const std::vector<int>& correlation_types) {
  std::string text;
  for (const int type : correlation_types) text += (text.empty() ? "" : " ") + correlation_name(type);
  return text;
}

/// The slots of all tiles, those that agree as one: centres and widths.
void join_times(const std::vector<Tile>& tiles, Tile* joined) {
  std::vector<std::pair<double, double>> slots;
  for (const Tile& tile : tiles)
    for (std::size_t t = 0; t < tile.n_time(); ++t) slots.emplace_back(tile.time_s[t], tile.interval_s[t]);
  std::sort(slots.begin(), slots.end());
  for (std::size_t begin = 0, end; begin < slots.size(); begin = end) {
    const double tolerance_s = slot_tolerance_s(slots[begin].second);
    double sum_s = 0, interval_s = 0;
    for (end = begin; end < slots.size() && slots[end].first - slots[begin].first <= tolerance_s; ++end) {
      sum_s += slots[end].first - slots[begin].first;
      interval_s = std::max(interval_s, slots[end].second);
    }
    joined->time_s.push_back(slots[begin].first + sum_s / static_cast<double>(end - begin));
    joined->interval_s.push_back(interval_s);
  }
}

/// Where each slot of a tile is among the joined ones.
std::vector<std::size_t> places_of_times(const Tile& tile, const Tile& joined) {
  std::vector<std::size_t> places;
  for (const double time_s : tile.time_s) {
    const auto after = std::lower_bound(joined.time_s.begin(), joined.time_s.end(), time_s);
    auto at = after;
    if (after == joined.time_s.end() || (after != joined.time_s.begin() && time_s - *(after - 1) < *after - time_s))
      at = after - 1;
    places.push_back(static_cast<std::size_t>(at - joined.time_s.begin()));
  }
  return places;
}

/// Copies what a tile has into its channels of the joined one.
class Filler {
 public:
  Filler(const Tile& tile, std::size_t first_channel, Tile* joined)
      : tile_(tile), joined_(*joined), times_(places_of_times(tile, *joined)), first_channel_(first_channel) {}

  void fill() {
    for (std::size_t b = 0; b < tile_.n_baseline(); ++b) {
      const auto baseline = static_cast<std::size_t>(joined_.find(tile_.baselines[b]));
      for (std::size_t t = 0; t < tile_.n_time(); ++t) {
        const std::size_t from = b * tile_.n_time() + t, to = baseline * joined_.n_time() + times_[t];
        if (tile_.row[from] < 0) continue;
        if (joined_.row[to] < 0) {
          joined_.row[to] = tile_.row[from];
          joined_.exposure_s[to] = tile_.exposure_s[from];
          std::copy_n(&tile_.uvw_m[3 * from], 3, &joined_.uvw_m[3 * to]);
          std::copy_n(&tile_.uvw_rate_m_s[3 * from], 3, &joined_.uvw_rate_m_s[3 * to]);
        }
        for (const auto& [name, values] : tile_.columns) copy_row(values, from, to, joined_.columns[name]);
        copy_row(tile_.flag, from, to, joined_.flag);
        copy_row(tile_.weight, from, to, joined_.weight);
      }
    }
  }

 private:
  template <class Value>
  void copy_row(const std::vector<Value>& values, std::size_t from, std::size_t to, std::vector<Value>& into) const {
    if (values.empty()) return;
    const std::size_t n = tile_.n_channel() * tile_.n_correlation();
    const std::size_t at = (to * joined_.n_channel() + first_channel_) * joined_.n_correlation();
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(from * n), n,
                into.begin() + static_cast<std::ptrdiff_t>(at));
  }

  const Tile& tile_;
  Tile& joined_;
  std::vector<std::size_t> times_;
  std::size_t first_channel_;
};

}  // namespace

std::vector<std::vector<std::size_t>> windows_together(const TilePlan& plan) {
  std::map<std::tuple<int, int, int, int>, std::size_t>
      seen;  // field, layer, averaging, data description: tiles so far
  std::map<std::tuple<int, int, int, std::size_t>, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < plan.tiles.size(); ++i) {
    const TileKey& key = plan.tiles[i];
    std::size_t& n = seen[{key.field_id, key.layer, key.averaged, key.data_desc_id}];
    groups[{key.field_id, key.layer, key.averaged, n++}].push_back(i);
  }
  std::vector<std::vector<std::size_t>> together;
  double last_s = 0;
  std::tuple<int, int, int> last{-1, -1, -1};
  for (auto& [which, members] : groups) {
    double first_s = plan.tiles[members.front()].first_time_s, end_s = plan.tiles[members.front()].last_time_s;
    for (const std::size_t i : members) {
      first_s = std::min(first_s, plan.tiles[i].first_time_s);
      end_s = std::max(end_s, plan.tiles[i].last_time_s);
    }
    const std::tuple<int, int, int> now{std::get<0>(which), std::get<1>(which), std::get<2>(which)};
    if (now == last && first_s <= last_s)
      throw MsError("the spectral windows of FIELD_ID " + std::to_string(std::get<0>(now)) +
                    " have different time slots, so that groups of so many do not go together; choose a range of "
                    "times and as many time slots as it has");
    last = now, last_s = end_s;
    together.push_back(std::move(members));
  }
  std::stable_sort(together.begin(), together.end(), [&plan](const auto& a, const auto& b) { return a[0] < b[0]; });
  return together;
}

Tile join_outlines(const std::vector<Tile>& tiles) {
  Tile joined;
  const Tile& first = tiles.front();
  joined.data_desc_id = first.data_desc_id;
  joined.field_id = first.field_id;
  joined.layer = first.layer;
  joined.correlation_type = first.correlation_type;
  for (const Tile& tile : tiles) {
    if (tile.correlation_type != first.correlation_type)
      throw MsError("DATA_DESC_ID " + std::to_string(first.data_desc_id) + " and " + std::to_string(tile.data_desc_id) +
                    " have different correlations (" + names(first.correlation_type) + " and " +
                    names(tile.correlation_type) + ") and cannot be solved together");
    joined.baselines.insert(joined.baselines.end(), tile.baselines.begin(), tile.baselines.end());
    joined.frequency_hz.insert(joined.frequency_hz.end(), tile.frequency_hz.begin(), tile.frequency_hz.end());
    joined.channel_width_hz.insert(joined.channel_width_hz.end(), tile.channel_width_hz.begin(),
                                   tile.channel_width_hz.end());
  }
  std::sort(joined.baselines.begin(), joined.baselines.end());
  joined.baselines.erase(std::unique(joined.baselines.begin(), joined.baselines.end()), joined.baselines.end());
  join_times(tiles, &joined);
  return joined;
}

Tile join_windows(const std::vector<Tile>& outlines, const std::function<Tile(std::size_t)>& read) {
  if (outlines.size() == 1) return read(0);
  Tile joined = join_outlines(outlines);
  joined.row.assign(joined.n_row(), -1);
  joined.uvw_m.assign(3 * joined.n_row(), 0);
  joined.uvw_rate_m_s.assign(3 * joined.n_row(), 0);
  joined.exposure_s.assign(joined.n_row(), 0);
  std::size_t first_channel = 0;
  for (std::size_t window = 0; window < outlines.size(); ++window) {
    const Tile tile = read(window);
    if (window == 0) {
      for (const auto& [name, values] : tile.columns) joined.columns[name].assign(joined.n_visibility(), {});
      if (!tile.flag.empty()) joined.flag.assign(joined.n_visibility(), 1);
      if (!tile.weight.empty()) joined.weight.assign(joined.n_visibility(), 0);
    }
    Filler(tile, first_channel, &joined).fill();
    first_channel += tile.n_channel();
  }
  return joined;
}

Tile read_joined(const TileReader& reader, const std::vector<std::size_t>& parts) {
  if (parts.size() == 1) return reader.read(parts.front());
  std::vector<Tile> outlines;
  for (const std::size_t part : parts) outlines.push_back(reader.outline(part));
  return join_windows(outlines, [&](std::size_t window) { return reader.read(parts[window]); });
}

}  // namespace rimetree::ms
