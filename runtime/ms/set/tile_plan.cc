#include "runtime/ms/set/tile_plan.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace rimetree::ms {
namespace {

using Rows = std::vector<std::int64_t>;

/// Where a row that is selected belongs. Slots are counted through all groups, windows within a group.
struct Placed {
  std::int64_t row;
  std::size_t slot;
  std::size_t window;
  int layer;
  int averaged;
};

/// Most sets have their rows in order, which is quick to see.
template <class T, class Less>
void sort_unless_sorted(std::vector<T>& these, const Less& less) {
  if (!std::is_sorted(these.begin(), these.end(), less)) std::stable_sort(these.begin(), these.end(), less);
}

bool has(const std::set<int>& chosen, int one) { return chosen.empty() || chosen.count(one) > 0; }

/// Whether a row is among those that are chosen by more than its data description, field and range of times.
bool is_chosen(const RowIndex& index, const RowSelection& selection, std::int64_t row) {
  if (!has(selection.data_desc_ids, index.data_desc_id[row])) return false;
  if (!selection.scans.empty() && !has(selection.scans, index.scan.at(static_cast<std::size_t>(row)))) return false;
  const double time_s = index.time_s[row];
  const auto holds = [time_s](const auto& range) { return range.first <= time_s && time_s <= range.second; };
  if (!selection.times_s.empty() && std::none_of(selection.times_s.begin(), selection.times_s.end(), holds))
    return false;
  const auto [low, high] = std::minmax(index.antenna1[row], index.antenna2[row]);
  return selection.baselines.empty() || selection.baselines.count({low, high}) > 0;
}

Rows select(const RowIndex& index, const RowSelection& selection) {
  Rows rows;
  const auto [first, last] = index.rows_within(selection.first_time_s, selection.last_time_s);
  for (std::int64_t row = first; row < last; ++row) {
    if (selection.data_desc_id >= 0 && index.data_desc_id[row] != selection.data_desc_id) continue;
    if (selection.field_id >= 0 && index.field_id[row] != selection.field_id) continue;
    if (index.time_s[row] < selection.first_time_s || index.time_s[row] > selection.last_time_s) continue;
    if (!selection.autocorrelations && index.antenna1[row] == index.antenna2[row]) continue;
    if (!is_chosen(index, selection, row)) continue;
    rows.push_back(row);
  }
  return rows;
}

auto group_of(const RowIndex& index, std::int64_t row) {
  return std::make_pair(index.data_desc_id[row], index.field_id[row]);
}

auto baseline_of(const RowIndex& index, std::int64_t row) {
  return std::make_pair(index.antenna1[row], index.antenna2[row]);
}

/// How baselines are averaged (TileKey::averaged).
class AveragedNumbers {
 public:
  explicit AveragedNumbers(const RowSelection& selection) {
    for (std::size_t k = 0; k < selection.averaged.size(); ++k)
      for (const auto& pair : selection.averaged[k].baselines) numbers_[pair] = static_cast<int>(k) + 1;
  }
  int of(const std::pair<int, int>& baseline) const {
    if (numbers_.empty()) return 0;
    const auto found = numbers_.find(std::minmax(baseline.first, baseline.second));
    return found == numbers_.end() ? 0 : found->second;
  }

 private:
  std::map<std::pair<int, int>, int> numbers_;
};

/// Splits the rows of one slot, sorted by baseline, into layers without duplicates.
void place_slot(const RowIndex& index, const AveragedNumbers& averaged, Rows rows, std::size_t slot, std::size_t window,
                std::vector<Placed>* placed) {
  sort_unless_sorted(rows, [&index](std::int64_t a, std::int64_t b) {
    return std::make_pair(baseline_of(index, a), a) < std::make_pair(baseline_of(index, b), b);
  });
  int layer = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool again = i > 0 && baseline_of(index, rows[i]) == baseline_of(index, rows[i - 1]);
    layer = again ? layer + 1 : 0;
    placed->push_back({rows[i], slot, window, layer, averaged.of(baseline_of(index, rows[i]))});
  }
}

/// The window of each slot: so many slots at most, and none ends within what is averaged.
std::vector<std::size_t> windows_of(const std::vector<double>& slot_s, const RowSelection& selection) {
  const std::size_t unit = selection.slot_unit(), most = std::max(unit, selection.time_slots);
  const std::vector<double>& limits = selection.averaging.time_edges_s;
  const auto interval = [&limits](double at) { return std::upper_bound(limits.begin(), limits.end(), at); };
  std::vector<std::size_t> may_begin;  // slots with which a window may
  for (std::size_t i = 0, since = 0; i < slot_s.size(); ++i, ++since) {
    if (i > 0 && interval(slot_s[i]) != interval(slot_s[i - 1])) since = 0;
    if (since % unit == 0) may_begin.push_back(i);
  }
  may_begin.push_back(slot_s.size());
  std::vector<std::size_t> windows;
  for (std::size_t k = 0, window = 0, next; k + 1 < may_begin.size(); k = next, ++window) {
    next = k + 1;
    while (next + 1 < may_begin.size() && may_begin[next + 1] - may_begin[k] <= most) ++next;
    windows.resize(may_begin[next], window);
  }
  return windows;
}

/// Places the rows of one (data description, field), sorted by time.
void place_group(const RowIndex& index, const Rows& rows, const RowSelection& selection,
                 const AveragedNumbers& averaged, std::size_t* slot, std::vector<Placed>* placed) {
  const double tolerance_s = slot_tolerance_s(index, rows);
  std::vector<std::size_t> begins;
  std::vector<double> slot_s;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i > 0 && index.time_s[rows[i]] - slot_s.back() <= tolerance_s) continue;
    begins.push_back(i);
    slot_s.push_back(index.time_s[rows[i]]);
  }
  begins.push_back(rows.size());
  const std::vector<std::size_t> windows = windows_of(slot_s, selection);
  for (std::size_t i = 0; i < slot_s.size(); ++i)
    place_slot(index, averaged, Rows(rows.begin() + begins[i], rows.begin() + begins[i + 1]), (*slot)++, windows[i],
               placed);
}

/// All rows selected, sorted by data description, field, window, layer (the highest first), averaging, slot and
/// baseline.
std::vector<Placed> place(const RowIndex& index, const RowSelection& selection) {
  Rows rows = select(index, selection);
  sort_unless_sorted(rows, [&index](std::int64_t a, std::int64_t b) {
    return std::make_tuple(group_of(index, a), index.time_s[a], a) <
           std::make_tuple(group_of(index, b), index.time_s[b], b);
  });
  std::vector<Placed> placed;
  placed.reserve(rows.size());
  const AveragedNumbers averaged(selection);
  std::size_t slot = 0;
  for (std::size_t begin = 0, end; begin < rows.size(); begin = end) {
    end = begin + 1;
    while (end < rows.size() && group_of(index, rows[end]) == group_of(index, rows[begin])) ++end;
    place_group(index, Rows(rows.begin() + begin, rows.begin() + end), selection, averaged, &slot, &placed);
  }
  sort_unless_sorted(placed, [&index](const Placed& a, const Placed& b) {
    return std::make_tuple(group_of(index, a.row), a.window, -a.layer, a.averaged, a.slot) <
           std::make_tuple(group_of(index, b.row), b.window, -b.layer, b.averaged, b.slot);
  });
  return placed;
}

void append_slot(const RowIndex& index, const std::vector<Placed>& placed, std::size_t begin, std::size_t end,
                 TilePlan* plan) {
  const double first_s = index.time_s[placed[begin].row];
  double sum_s = 0, interval_s = 0;
  for (std::size_t i = begin; i < end; ++i) {
    sum_s += index.time_s[placed[i].row] - first_s;
    if (const double exposure_s = index.exposure_s[placed[i].row]; std::isfinite(exposure_s))
      interval_s = std::max(interval_s, exposure_s);
    plan->row_order.push_back(placed[i].row);
  }
  plan->slot_time_s.push_back(first_s + sum_s / static_cast<double>(end - begin));
  plan->slot_interval_s.push_back(interval_s);
  plan->slot_begin.push_back(plan->row_order.size());
}

void count_scan(const RowIndex& index, std::int64_t row, std::vector<ScanRows>* scans) {
  const auto at = static_cast<std::size_t>(row);
  const int observation = index.observation.empty() ? 0 : index.observation[at];
  const int scan = index.scan.empty() ? 0 : index.scan[at];
  auto found = std::find_if(scans->begin(), scans->end(),
                            [&](const ScanRows& one) { return one.observation == observation && one.scan == scan; });
  if (found == scans->end()) found = scans->insert(found, {observation, scan, 0});
  ++found->n_row;
}

/// Sets window_s of tiles [first, end), which are those of one window.
void set_window(std::size_t first, std::vector<TileKey>* tiles) {
  double begin_s = std::numeric_limits<double>::infinity();
  for (std::size_t i = first; i < tiles->size(); ++i) begin_s = std::min(begin_s, (*tiles)[i].first_time_s);
  for (std::size_t i = first; i < tiles->size(); ++i) (*tiles)[i].window_s = begin_s;
}

void order_tiles(std::vector<TileKey>* tiles) {
  std::stable_sort(tiles->begin(), tiles->end(), [](const TileKey& a, const TileKey& b) {
    return std::make_tuple(a.window_s, a.data_desc_id, a.field_id, -a.layer, a.averaged) <
           std::make_tuple(b.window_s, b.data_desc_id, b.field_id, -b.layer, b.averaged);
  });
}

}  // namespace

Averaging RowSelection::averaging_of(int which) const {
  Averaging found = averaging;
  if (which == 0) return found;
  const AveragedBaselines& own = averaged.at(static_cast<std::size_t>(which) - 1);
  found.slots = own.slots;
  found.channels = own.channels;
  found.width_hz = 0;
  found.off_centre = own.off_centre;
  return found;
}

std::size_t RowSelection::slot_unit() const {
  constexpr std::size_t kMost = 64;
  std::size_t most = std::max<std::size_t>(1, averaging.slots), unit = most;
  for (const AveragedBaselines& own : averaged) {
    most = std::max(most, own.slots);
    unit = std::lcm(unit, std::max<std::size_t>(1, own.slots));
    if (unit > kMost) unit = most;  // cells are cut at the ends of tiles then
  }
  return unit;
}

double slot_tolerance_s(const RowIndex& index, const std::vector<std::int64_t>& rows) {
  double shortest_s = 0;
  for (const std::int64_t row : rows) {
    const double exposure_s = index.exposure_s[row];
    if (exposure_s > 0 && (shortest_s == 0 || exposure_s < shortest_s)) shortest_s = exposure_s;
  }
  return slot_tolerance_s(shortest_s);
}

double slot_tolerance_s(double exposure_s) { return exposure_s > 0 ? std::min(0.1, 0.25 * exposure_s) : 1e-3; }

TilePlan plan_tiles(const RowIndex& index, const RowSelection& selection) {
  const std::vector<Placed> placed = place(index, selection);
  TilePlan plan;
  plan.slot_begin.push_back(0);
  plan.row_order.reserve(placed.size());
  const auto tile_of = [&index](const Placed& row) {
    return std::make_tuple(group_of(index, row.row), row.window, row.layer, row.averaged);
  };
  const auto window_of = [&index](const Placed& row) { return std::make_tuple(group_of(index, row.row), row.window); };
  std::set<std::pair<int, int>> baselines;
  std::size_t first_of_window = 0;
  for (std::size_t begin = 0, end; begin < placed.size(); begin = end) {
    const Placed& first = placed[begin];
    end = begin + 1;
    while (end < placed.size() && placed[end].slot == first.slot && tile_of(placed[end]) == tile_of(first)) ++end;
    const auto [data_desc_id, field_id] = group_of(index, first.row);
    append_slot(index, placed, begin, end, &plan);
    if (begin == 0 || tile_of(first) != tile_of(placed[begin - 1])) {
      baselines.clear();
      if (begin > 0 && window_of(first) != window_of(placed[begin - 1])) {
        set_window(first_of_window, &plan.tiles);
        first_of_window = plan.tiles.size();
      }
      TileKey key;
      key.data_desc_id = data_desc_id;
      key.field_id = field_id;
      key.layer = first.layer;
      key.averaged = first.averaged;
      key.first_slot = plan.slot_time_s.size() - 1;
      key.first_time_s = plan.slot_time_s.back();
      plan.tiles.push_back(key);
    }
    TileKey& tile = plan.tiles.back();
    ++tile.n_slot;
    tile.last_time_s = plan.slot_time_s.back();
    tile.n_row += end - begin;
    auto next = baselines.begin();  // they ascend
    for (std::size_t i = begin; i < end; ++i) {
      next = std::next(baselines.insert(next, baseline_of(index, placed[i].row)));
      count_scan(index, placed[i].row, &tile.scans);
    }
    tile.n_baseline = baselines.size();
  }
  set_window(first_of_window, &plan.tiles);
  order_tiles(&plan.tiles);
  return plan;
}

}  // namespace rimetree::ms
