#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "runtime/ms/inspect_parts.h"

namespace rimetree::ms {
namespace {

using Pair = std::pair<int, int>;

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
  std::set<Pair> baselines;
  for (std::int64_t row = 0; row < index.n_row(); ++row) {
    const int p = index.antenna1[row], q = index.antenna2[row];
    ++summary->rows_of_antenna[p];
    if (p != q) ++summary->rows_of_antenna[q];
    if (p != q) baselines.insert(std::minmax(p, q));
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
  std::map<Pair, std::map<Pair, std::array<std::int64_t, 2>>> orders;  // of each pair, rows in either order
  std::set<Pair> in_slot;
  std::int64_t pairs = 0;
  for (const TileKey& tile : plan.tiles) {
    const Pair ids{tile.data_desc_id, tile.field_id};
    GroupSummary& group = groups[ids];
    group.data_desc_id = tile.data_desc_id;
    group.field_id = tile.field_id;
    for (std::size_t i = plan.slot_begin[tile.first_slot]; i < plan.slot_begin[tile.first_slot + 1]; ++i) {
      const int p = index.antenna1[plan.row_order[i]], q = index.antenna2[plan.row_order[i]];
      const bool first = in_slot.insert(std::minmax(p, q)).second;
      ++group.n_row;
      group.n_duplicate += !first;
      group.n_autocorrelation += p == q;
      if (p == q) continue;
      ++orders[ids][std::minmax(p, q)][p < q ? 0 : 1];
      pairs += first;
    }
    if (tile.layer > 0) continue;
    group.min_rows_per_time = group.n_time == 0 ? pairs : std::min(group.min_rows_per_time, pairs);
    group.max_rows_per_time = std::max(group.max_rows_per_time, pairs);
    group.n_missing -= pairs;
    ++group.n_time;
    in_slot.clear();
    pairs = 0;
  }
  std::vector<GroupSummary> list;
  for (auto& [ids, group] : groups) {
    group.n_baseline = static_cast<std::int64_t>(orders[ids].size());
    group.n_missing += group.n_baseline * group.n_time;
    for (const auto& [pair, counts] : orders[ids]) group.n_swapped += std::min(counts[0], counts[1]);
    list.push_back(group);
  }
  return list;
}

}  // namespace

void summarise_rows(const MeasurementSet& ms, const RowIndex& index, const TilePlan& plan, MsSummary* summary) {
  count_ids(ms, index, summary);
  if (index.n_row() == 0) return;
  const auto [first, last] = std::minmax_element(index.time_s.begin(), index.time_s.end());
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
