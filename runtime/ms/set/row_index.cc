#include "runtime/ms/set/row_index.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "runtime/ms/set/measurement_set.h"

namespace rimetree::ms {
namespace {

void check_ids(const MeasurementSet& ms, const char* column, const std::vector<int>& ids, std::size_t n,
               const char* table) {
  for (std::size_t row = 0; row < ids.size(); ++row) {
    if (ids[row] >= 0 && static_cast<std::size_t>(ids[row]) < n) continue;
    throw MsError("column " + std::string(column) + " of " + ms.path() + ", row " + std::to_string(row) +
                  ": expected a row of table " + table + ", which " + rows_text(n) + ", got " +
                  std::to_string(ids[row]));
  }
}

}  // namespace

RowIndex read_row_index(const MeasurementSet& ms) {
  const CasacoreTable& table = ms.table();
  const std::int64_t n = table.n_row();
  RowIndex index;
  index.time_s = table.doubles("TIME", 0, n);
  index.exposure_s = table.doubles("EXPOSURE", 0, n);
  index.antenna1 = table.ints("ANTENNA1", 0, n);
  index.antenna2 = table.ints("ANTENNA2", 0, n);
  index.data_desc_id = table.ints("DATA_DESC_ID", 0, n);
  index.field_id = table.ints("FIELD_ID", 0, n);
  index.scan = table.ints("SCAN_NUMBER", 0, n);
  if (table.has_column("OBSERVATION_ID")) index.observation = table.ints("OBSERVATION_ID", 0, n);

  const Metadata& metadata = ms.metadata();
  check_ids(ms, "ANTENNA1", index.antenna1, metadata.antennas.size(), "ANTENNA");
  check_ids(ms, "ANTENNA2", index.antenna2, metadata.antennas.size(), "ANTENNA");
  check_ids(ms, "DATA_DESC_ID", index.data_desc_id, metadata.data_descriptions.size(), "DATA_DESCRIPTION");
  check_ids(ms, "FIELD_ID", index.field_id, metadata.fields.size(), "FIELD");
  for (const int id : index.data_desc_id)
    if (const std::string& problem = metadata.data_descriptions[id].problem; !problem.empty()) throw MsError(problem);
  for (std::int64_t row = 0; row < n; ++row) {
    if (std::isfinite(index.time_s[row])) continue;
    throw MsError("column TIME of " + ms.path() + ", row " + std::to_string(row) + " is not a finite number");
  }
  index.times_ascend = std::is_sorted(index.time_s.begin(), index.time_s.end());
  return index;
}

std::pair<std::int64_t, std::int64_t> RowIndex::rows_within(double first_time_s, double last_time_s) const {
  if (!times_ascend) return {0, n_row()};
  const auto first = std::lower_bound(time_s.begin(), time_s.end(), first_time_s);
  return {first - time_s.begin(), std::upper_bound(first, time_s.end(), last_time_s) - time_s.begin()};
}

}  // namespace rimetree::ms
