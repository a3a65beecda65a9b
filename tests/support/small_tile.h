// A small time-slot group of data in which every number tells where it comes from.
#pragma once

#include "runtime/core/cells/cells.h"
#include "runtime/core/cells/tile.h"

namespace rimetree::test {

/// Baselines 0-1 and 0-3 on the given cells; the row of 0-3 at the first time is absent. DATA holds
/// 1000 baseline + 100 time + 10 channel + correlation, with the negative of it as imaginary part; UVW 10 row + axis,
/// rates a hundredth of that; EXPOSURE is half of the cell's width; weights are DATA's real part plus 1.
inline Tile small_tile(const Cells& cells, std::vector<int> correlation_type) {
  Tile tile;
  tile.baselines = {{0, 1}, {0, 3}};
  tile.time_s = cells.axis(Axis::time).centre;
  tile.interval_s = cells.axis(Axis::time).width;
  tile.frequency_hz = cells.axis(Axis::frequency).centre;
  tile.channel_width_hz = cells.axis(Axis::frequency).width;
  tile.correlation_type = std::move(correlation_type);
  for (std::size_t row = 0; row < tile.n_row(); ++row) {
    tile.row.push_back(static_cast<std::int64_t>(row));
    tile.exposure_s.push_back(tile.interval_s[row % tile.n_time()] / 2);
    for (int axis = 0; axis < 3; ++axis) {
      tile.uvw_m.push_back(10.0 * static_cast<double>(row) + axis);
      tile.uvw_rate_m_s.push_back(tile.uvw_m.back() / 100);
    }
  }
  tile.row[tile.n_time()] = -1;
  std::vector<std::complex<float>>& data = tile.columns["DATA"];
  for (std::size_t b = 0; b < 2; ++b)
    for (std::size_t t = 0; t < tile.n_time(); ++t)
      for (std::size_t f = 0; f < tile.n_channel(); ++f)
        for (std::size_t c = 0; c < tile.n_correlation(); ++c) {
          const auto x = static_cast<float>(1000 * b + 100 * t + 10 * f + c);
          data.push_back({x, -x});
          tile.weight.push_back(x + 1);
        }
  tile.columns["MODEL_DATA"].assign(tile.n_visibility(), {-1, -1});
  tile.flag.assign(tile.n_visibility(), 0);
  return tile;
}

}  // namespace rimetree::test
