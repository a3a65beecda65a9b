#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "runtime/ms/inspect/inspect_parts.h"

namespace rimetree::ms {
namespace {

using Pair = std::pair<int, int>;

/// Of two antennas in either order: one number, as there are millions of rows to look up.
std::uint64_t pair_key(int p, int q) {
  const auto [low, high] = std::minmax(p, q);
  return static_cast<std::uint64_t>(low) << 32 | static_cast<std::uint32_t>(high);
}

/// A baseline of a group: rows in either order, and the slot (counted from 1) in which the last one was.
struct BaselineRows {
  std::array<std::int64_t, 2> in_order{};
  std::int64_t last_slot = 0;
};

std::vector<double> distinct(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end(),
                           [](double a, double b) { return std::abs(a - b) <= 1e-6 * std::abs(a); }),
               values.end());
  if (values.size() > 16) values.resize(16);
  return values;
}

void count_ids(const MeasurementSet& ms, const RowIndex& index, MsSummary* summary) {
  summary->rows_of_antenna.assign(ms.metadata().antennas.size(), 0);
  summary->rows_of_field.assign(ms.metadata().fields.size(), 0);
  summary->rows_of_data_description.assign(ms.metadata().data_descriptions.size(), 0);
  std::unordered_set<std::uint64_t> baselines;
  for (std::int64_t row = 0; row < index.n_row(); ++row) {
    const int p = index.antenna1[row], q = index.antenna2[row];
    ++summary->rows_of_antenna[p];
    if (p != q) ++summary->rows_of_antenna[q];
    if (p != q) baselines.insert(pair_key(p, q));
    summary->n_autocorrelation += p == q;
    ++summary->rows_of_field[index.field_id[row]];
    ++summary->rows_of_data_description[index.data_desc_id[row]];
  }
  summary->n_baseline = static_cast<std::int64_t>(baselines.size());
}

/// Distinct time slots of all groups together, and the median distance of slots within a group.
void count_times(const RowIndex& index, const TilePlan& plan, MsSummary* summary) {
  std::vector<std::int64_t> rows(index.n_row());
  for (std::int64_t row = 0; row < index.n_row(); ++row) rows[row] = row;
  const double tolerance_s = slot_tolerance_s(index, rows);
  std::vector<double> times_s, spacings_s;
  std::map<Pair, double> last_s;
  for (const TileKey& tile : plan.tiles) {
    if (tile.layer > 0) continue;
    times_s.push_back(tile.first_time_s);
    const auto [at, first] = last_s.try_emplace({tile.data_desc_id, tile.field_id}, tile.first_time_s);
    if (!first) spacings_s.push_back(tile.first_time_s - at->second);
    at->second = tile.first_time_s;
  }
  std::sort(times_s.begin(), times_s.end());
  for (std::size_t i = 0; i < times_s.size(); ++i) {
    summary->n_time += i == 0 || times_s[i] - times_s[i - 1] > tolerance_s;
  }
  std::sort(spacings_s.begin(), spacings_s.end());
  if (!spacings_s.empty()) summary->spacing_s = spacings_s[spacings_s.size() / 2];
}

/// `plan` has one slot per tile, and the tiles of a slot, its layers, follow each other, layer 0 last.
std::vector<GroupSummary> summarise_groups(const RowIndex& index, const TilePlan& plan) {
  std::map<Pair, GroupSummary> groups;
  std::map<Pair, std::unordered_map<std::uint64_t, BaselineRows>> rows_of;
  std::int64_t pairs = 0, slot = 1;
  for (const TileKey& tile : plan.tiles) {
    const Pair ids{tile.data_desc_id, tile.field_id};
    GroupSummary& group = groups[ids];
    auto& baselines = rows_of[ids];
    group.data_desc_id = tile.data_desc_id;
    group.field_id = tile.field_id;
    for (std::size_t i = plan.slot_begin[tile.first_slot]; i < plan.slot_begin[tile.first_slot + 1]; ++i) {
      const int p = index.antenna1[plan.row_order[i]], q = index.antenna2[plan.row_order[i]];
      BaselineRows& baseline = baselines[pair_key(p, q)];
      const bool first = baseline.last_slot != slot;
      baseline.last_slot = slot;
      ++group.n_row;
      group.n_duplicate += !first;
      group.n_autocorrelation += p == q;
      if (p == q) continue;
      ++baseline.in_order[p < q ? 0 : 1];
      pairs += first;
    }
    if (tile.layer > 0) continue;
    group.min_rows_per_time = group.n_time == 0 ? pairs : std::min(group.min_rows_per_time, pairs);
    group.max_rows_per_time = std::max(group.max_rows_per_time, pairs);
    group.n_missing -= pairs;
    ++group.n_time;
    ++slot;
    pairs = 0;
  }
  std::vector<GroupSummary> list;
  for (auto& [ids, group] : groups) {
    for (const auto& [pair, baseline] : rows_of[ids]) {
      group.n_baseline += baseline.in_order[0] + baseline.in_order[1] > 0;
      group.n_swapped += std::min(baseline.in_order[0], baseline.in_order[1]);
    }
    group.n_missing += group.n_baseline * group.n_time;
    list.push_back(group);
  }
  return list;
}

}  // namespace

void summarise_rows(const MeasurementSet& ms, const RowIndex& index, const TilePlan& plan, MsSummary* summary) {
  count_ids(ms, index, summary);
  if (index.n_row() == 0) return;
  const auto [first, last] = std::minmax_element(index.time_s.begin(), index.time_s.end());
  summary->time_reference = ms.table().reference("TIME");
  summary->first_time_s = *first;
  summary->last_time_s = *last;
  summary->unsorted = !std::is_sorted(index.time_s.begin(), index.time_s.end());
  summary->exposures_s = distinct(index.exposure_s);
  summary->n_exposure_not_finite = std::count_if(index.exposure_s.begin(), index.exposure_s.end(),
                                                 [](double value) { return !std::isfinite(value); });
  if (ms.has_column("INTERVAL")) {
    summary->intervals_s = distinct(ms.table().doubles("INTERVAL", 0, ms.n_row()));
  }
  count_times(index, plan, summary);
  summary->groups = summarise_groups(index, plan);
}

}  // namespace rimetree::ms
