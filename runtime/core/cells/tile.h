// A time-slot group (MeqTrees: tile) as dense arrays: what Spigot reads, what Sink fills, and what a Measurement Set
// reader and writer exchange with the evaluator. Knows nothing of how it is stored.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rimetree {

/// ANTENNA1 and ANTENNA2 of a baseline, as ids of the ANTENNA table.
struct Baseline {
  int antenna1 = 0;
  int antenna2 = 0;
  friend bool operator==(const Baseline&, const Baseline&) = default;
  friend auto operator<=>(const Baseline&, const Baseline&) = default;
};

/// Consecutive time slots of one data description and one field. Arrays are dense over [baseline, time]; rows that the
/// Measurement Set does not have are marked absent, their values are zero and they are neither used nor written.
struct Tile {
  int data_desc_id = -1;          ///< DATA_DESC_ID of all rows; -1 if the tile is from no Measurement Set
  int field_id = -1;              ///< FIELD_ID of all rows
  int layer = 0;                  ///< k: holds the (k+1)-th rows of baselines that have several in a time slot
  std::size_t first_channel = 0;  ///< channel 0 of the arrays is this channel of the spectral window

  std::vector<Baseline> baselines;       ///< sorted, unique
  std::vector<double> time_s;            ///< [time] centres, MJD in seconds (UTC), ascending
  std::vector<double> interval_s;        ///< [time] width of the cell: the largest finite EXPOSURE of its rows
  std::vector<double> frequency_hz;      ///< [channel] in the order of the Measurement Set
  std::vector<double> channel_width_hz;  ///< [channel] always positive
  std::vector<int> correlation_type;     ///< [correlation] casacore Stokes numbers (5-8 RR..LL, 9-12 XX..YY, 1-4 IQUV)

  std::vector<std::int64_t> row;     ///< [baseline, time] row number in the Measurement Set, -1 where absent
  std::vector<double> uvw_m;         ///< [baseline, time, 3] as stored
  std::vector<double> uvw_rate_m_s;  ///< [baseline, time, 3] d(uvw)/dt in metres per second (sidereal rotation)
  std::vector<double> exposure_s;    ///< [baseline, time] EXPOSURE of the row

  /// [baseline, time, channel, correlation] by column name (DATA, MODEL_DATA, ...): what was read, and what Sinks wrote
  std::map<std::string, std::vector<std::complex<float>>> columns;
  std::vector<std::uint8_t> flag;  ///< [baseline, time, channel, correlation] FLAG or FLAG_ROW; empty if not read
  std::vector<float> weight;  ///< [baseline, time, channel, correlation] WEIGHT_SPECTRUM or WEIGHT; empty if not read

  std::size_t n_baseline() const { return baselines.size(); }
  std::size_t n_time() const { return time_s.size(); }
  std::size_t n_channel() const { return frequency_hz.size(); }
  std::size_t n_correlation() const { return correlation_type.size(); }
  std::size_t n_row() const { return n_baseline() * n_time(); }
  std::size_t n_visibility() const { return n_row() * n_channel() * n_correlation(); }

  /// Index of a baseline in `baselines`, or -1 if the tile has no row of it.
  std::ptrdiff_t find(const Baseline& baseline) const;
};

}  // namespace rimetree
