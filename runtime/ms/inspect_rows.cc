#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "runtime/ms/inspect_parts.h"

namespace rimetree::ms {
namespace {

using Pair = std::pair<int, int>;

std::vector<double> distinct(std::vector<double> values) {
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
    if (p != q) baselines.insert({p, q});
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

/// `plan` has one slot per tile, so that a tile of layer 0 is a time of its group.
std::vector<GroupSummary> summarise_groups(const RowIndex& index, const TilePlan& plan) {
  std::map<Pair, GroupSummary> groups;
  std::map<Pair, std::set<Pair>> baselines;
  for (const TileKey& tile : plan.tiles) {
    GroupSummary& group = groups[{tile.data_desc_id, tile.field_id}];
    group.data_desc_id = tile.data_desc_id;
    group.field_id = tile.field_id;
    std::int64_t cross = 0;
    for (std::size_t i = plan.slot_begin[tile.first_slot]; i < plan.slot_begin[tile.first_slot + 1]; ++i) {
      const std::int64_t row = plan.row_order[i];
      const Pair baseline{index.antenna1[row], index.antenna2[row]};
      ++group.n_row;
      group.n_autocorrelation += baseline.first == baseline.second;
      if (baseline.first == baseline.second) continue;
      ++cross;
      baselines[{tile.data_desc_id, tile.field_id}].insert(baseline);
    }
    if (tile.layer > 0) {
      group.n_duplicate += static_cast<std::int64_t>(tile.n_row);
      continue;
    }
    group.min_rows_per_time = group.n_time == 0 ? cross : std::min(group.min_rows_per_time, cross);
    group.max_rows_per_time = std::max(group.max_rows_per_time, cross);
    group.n_missing -= cross;
    ++group.n_time;
  }
  std::vector<GroupSummary> list;
  for (auto& [ids, group] : groups) {
    group.n_baseline = static_cast<std::int64_t>(baselines[ids].size());
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
  summary->first_time_s = *first;
  summary->last_time_s = *last;
  summary->unsorted = !std::is_sorted(index.time_s.begin(), index.time_s.end());
  summary->exposures_s = distinct(index.exposure_s);
  if (ms.has_column("INTERVAL")) {
    summary->intervals_s = distinct(ms.table().doubles("INTERVAL", 0, ms.n_row()));
  }
  count_times(index, plan, summary);
  summary->groups = summarise_groups(index, plan);
}

}  // namespace rimetree::ms
