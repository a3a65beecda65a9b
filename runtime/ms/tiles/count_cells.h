// What the data of a tile are like before they are solved: how many are good, and how large they are.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rimetree::ms {

/// Visibilities as a tile has them: [baseline, time, channel, correlation].
struct DataCells {
  std::size_t n_baseline = 0, n_time = 0, n_channel = 0, n_correlation = 0;
  std::span<const std::complex<float>> value;
  std::span<const float> weight;
  std::span<const std::uint8_t> flag;
  std::span<const std::int64_t> row;   ///< [baseline, time]; negative: there is none
  std::span<const std::uint8_t> hand;  ///< [correlation]: whether its magnitudes count
  /// [baseline, time, channel]: whether baselines are as long as those that are solved for; empty: all are.
  std::span<const std::uint8_t> within;
};

struct CellCounts {
  /// [baseline]: good data (of a row, not flagged, of positive weight, finite) of all hands, and of those of which
  /// magnitudes count; the sum of the latter's magnitudes.
  std::vector<double> good, measured, magnitude;
  std::vector<std::uint8_t> linked;  ///< [baseline, time, channel]: 1 where any good data are within, else 0
  double power = 0;                  ///< sum of weight |V|^2 of good data within
};

/// Without `magnitudes` none are summed. Throws MsError where sizes do not fit.
CellCounts count_cells(const DataCells& cells, bool magnitudes);

}  // namespace rimetree::ms
