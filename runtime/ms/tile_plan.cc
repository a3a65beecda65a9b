#include "runtime/ms/tile_plan.h"

#include <algorithm>
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
};

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

/// Splits the rows of one slot, sorted by baseline, into layers without duplicates.
void place_slot(const RowIndex& index, Rows rows, std::size_t slot, std::size_t window, std::vector<Placed>* placed) {
  std::sort(rows.begin(), rows.end(), [&index](std::int64_t a, std::int64_t b) {
    return std::make_pair(baseline_of(index, a), a) < std::make_pair(baseline_of(index, b), b);
  });
  int layer = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool again = i > 0 && baseline_of(index, rows[i]) == baseline_of(index, rows[i - 1]);
    layer = again ? layer + 1 : 0;
    placed->push_back({rows[i], slot, window, layer});
  }
}

/// Places the rows of one (data description, field), sorted by time.
void place_group(const RowIndex& index, const Rows& rows, std::size_t slots_per_window, std::size_t* slot,
                 std::vector<Placed>* placed) {
  const double tolerance_s = slot_tolerance_s(index, rows);
  const std::size_t first_slot = *slot;
  for (std::size_t begin = 0, end; begin < rows.size(); begin = end) {
    end = begin + 1;
    while (end < rows.size() && index.time_s[rows[end]] - index.time_s[rows[begin]] <= tolerance_s) ++end;
    const std::size_t window = (*slot - first_slot) / slots_per_window;
    place_slot(index, Rows(rows.begin() + begin, rows.begin() + end), (*slot)++, window, placed);
  }
}

/// All rows selected, sorted by data description, field, window, layer (the highest first), slot and baseline.
std::vector<Placed> place(const RowIndex& index, const RowSelection& selection) {
  Rows rows = select(index, selection);
  std::sort(rows.begin(), rows.end(), [&index](std::int64_t a, std::int64_t b) {
    return std::make_tuple(group_of(index, a), index.time_s[a], a) <
           std::make_tuple(group_of(index, b), index.time_s[b], b);
  });
  std::vector<Placed> placed;
  placed.reserve(rows.size());
  std::size_t slot = 0;
  for (std::size_t begin = 0, end; begin < rows.size(); begin = end) {
    end = begin + 1;
    while (end < rows.size() && group_of(index, rows[end]) == group_of(index, rows[begin])) ++end;
    place_group(index, Rows(rows.begin() + begin, rows.begin() + end), std::max<std::size_t>(1, selection.time_slots),
                &slot, &placed);
  }
  std::stable_sort(placed.begin(), placed.end(), [&index](const Placed& a, const Placed& b) {
    return std::make_tuple(group_of(index, a.row), a.window, -a.layer, a.slot) <
           std::make_tuple(group_of(index, b.row), b.window, -b.layer, b.slot);
  });
  return placed;
}

void append_slot(const RowIndex& index, const std::vector<Placed>& placed, std::size_t begin, std::size_t end,
                 TilePlan* plan) {
  const double first_s = index.time_s[placed[begin].row];
  double sum_s = 0, interval_s = 0;
  for (std::size_t i = begin; i < end; ++i) {
    sum_s += index.time_s[placed[i].row] - first_s;
    interval_s = std::max(interval_s, index.exposure_s[placed[i].row]);
    plan->row_order.push_back(placed[i].row);
  }
  plan->slot_time_s.push_back(first_s + sum_s / static_cast<double>(end - begin));
  plan->slot_interval_s.push_back(interval_s);
  plan->slot_begin.push_back(plan->row_order.size());
}

/// Sets window_s and sorts. On entry the tiles of one window are adjacent, layer 0 last; it has every slot of the
/// window.
void order_tiles(std::vector<TileKey>* tiles) {
  for (std::size_t i = tiles->size(); i-- > 0;) {
    TileKey& tile = (*tiles)[i];
    tile.window_s = tile.layer == 0 ? tile.first_time_s : (*tiles)[i + 1].window_s;
  }
  std::stable_sort(tiles->begin(), tiles->end(), [](const TileKey& a, const TileKey& b) {
    return std::make_tuple(a.window_s, a.data_desc_id, a.field_id, -a.layer) <
           std::make_tuple(b.window_s, b.data_desc_id, b.field_id, -b.layer);
  });
}

}  // namespace

double slot_tolerance_s(const RowIndex& index, const std::vector<std::int64_t>& rows) {
  double shortest_s = 0;
  for (const std::int64_t row : rows) {
    const double exposure_s = index.exposure_s[row];
    if (exposure_s > 0 && (shortest_s == 0 || exposure_s < shortest_s)) shortest_s = exposure_s;
  }
  return shortest_s > 0 ? std::min(0.1, 0.25 * shortest_s) : 1e-3;
}

TilePlan plan_tiles(const RowIndex& index, const RowSelection& selection) {
  const std::vector<Placed> placed = place(index, selection);
  TilePlan plan;
  plan.slot_begin.push_back(0);
  plan.row_order.reserve(placed.size());
  const auto tile_of = [&index](const Placed& row) {
    return std::make_tuple(group_of(index, row.row), row.window, row.layer);
  };
  std::set<std::pair<int, int>> baselines;
  for (std::size_t begin = 0, end; begin < placed.size(); begin = end) {
    const Placed& first = placed[begin];
    end = begin + 1;
    while (end < placed.size() && placed[end].slot == first.slot && placed[end].layer == first.layer) ++end;
    const auto [data_desc_id, field_id] = group_of(index, first.row);
    append_slot(index, placed, begin, end, &plan);
    if (begin == 0 || tile_of(first) != tile_of(placed[begin - 1])) {
      baselines.clear();
      TileKey key;
      key.data_desc_id = data_desc_id;
      key.field_id = field_id;
      key.layer = first.layer;
      key.first_slot = plan.slot_time_s.size() - 1;
      key.first_time_s = plan.slot_time_s.back();
      if (!index.scan.empty()) key.scan = index.scan[static_cast<std::size_t>(first.row)];
      plan.tiles.push_back(key);
    }
    TileKey& tile = plan.tiles.back();
    ++tile.n_slot;
    tile.last_time_s = plan.slot_time_s.back();
    tile.n_row += end - begin;
    for (std::size_t i = begin; i < end; ++i) baselines.insert(baseline_of(index, placed[i].row));
    tile.n_baseline = baselines.size();
  }
  order_tiles(&plan.tiles);
  return plan;
}

}  // namespace rimetree::ms
