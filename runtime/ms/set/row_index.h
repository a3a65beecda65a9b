// The columns that say what each row of a Measurement Set is, read once.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace rimetree::ms {

class MeasurementSet;

/// [row] each; 40 bytes per row.
struct RowIndex {
  std::vector<double> time_s;      ///< TIME, MJD in seconds
  std::vector<double> exposure_s;  ///< EXPOSURE
  std::vector<int> antenna1;
  std::vector<int> antenna2;
  std::vector<int> data_desc_id;
  std::vector<int> field_id;
  std::vector<int> scan;             ///< SCAN_NUMBER; empty: nobody knows
  std::vector<int> observation;      ///< OBSERVATION_ID, within which scans are numbered; empty: nobody knows
  std::vector<std::uint8_t> turned;  ///< whether ANTENNA1 and ANTENNA2 are exchanged (one_order.h); empty: nowhere
  bool times_ascend = false;  ///< time_s does, as in most sets: what is in a range of times is then quick to find
  std::int64_t n_row() const { return static_cast<std::int64_t>(time_s.size()); }
  /// [first, last) rows outside which no TIME is in [first_time_s, last_time_s].
  std::pair<std::int64_t, std::int64_t> rows_within(double first_time_s, double last_time_s) const;
};

/// Reads and checks them. Throws MsError naming the row if an id is outside its table or a time is not finite.
RowIndex read_row_index(const MeasurementSet& ms);

}  // namespace rimetree::ms
