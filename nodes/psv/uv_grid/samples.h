// From grids to the visibilities of a row.
#pragma once

#include "nodes/psv/uv_grid/uv_grid.h"

namespace rimetree::psv::uv_grid {

/// Grids that are there together: [first, first + count) of the plan's.
struct GridSet {
  std::size_t first = 0, count = 0;
  const Complex<double>* values = nullptr;  ///< [grid][mode of U][mode of V]
};

/// A row, to which some grids are added.
struct SampledRow {
  const UvGridPlan& plan;
  const std::vector<Points>& w_points;  ///< [number of points]
  const Summed& of;
  GridSet grids;
  std::vector<Complex<double>>& values;  ///< scratch of a thread
  std::size_t number = 0;
  Complex<double>* to = nullptr;  ///< [slot of a plane][channel]; see SeriesSky::slot_of
};
/// Per instruction set.
void add_samples(const SampledRow& row);

}  // namespace rimetree::psv::uv_grid
