// From grids of modes to what sources gain: the transpose of GridMaker.
#pragma once

#include <vector>

#include "nodes/psv/uv_grid/grids.h"

namespace rimetree::psv::uv_grid {

/// Reads one grid, [mode of U][mode of V], after the other.
class GridReader {
 public:
  GridReader(const UvGridPlan& plan, const PlacedSources& sources, ThreadPool& threads, Cancellation& cancellation);
  ~GridReader();
  /// Adds to what sources gain, [source] in the order of the placed ones.
  void read(GridNumber number, const Complex<double>* grid, Complex<double>* gained);

 private:
  struct Lines;  // scratch of a thread
  void transform_columns(std::size_t block, const GridKernel& kernel, const Complex<double>* grid, Lines& lines);
  void transform_rows(std::size_t strip, const GridKernel& kernel, Lines& lines);

  const UvGridPlan& plan_;
  const PlacedSources& sources_;
  ThreadPool& threads_;
  Cancellation& cancellation_;
  std::size_t stride_, n_block_;            // of rows of cells; blocks of columns
  std::size_t series_;                      // of `amplitude_`
  std::vector<Complex<double>> amplitude_;  // [source]: with corrections
  std::vector<Complex<double>> columns_;    // [block of columns][row of cells][column: mode of U]
  std::vector<Complex<double>> cells_;      // [row of cells][stride]
  std::vector<Lines> lines_;                // [thread]
};

}  // namespace rimetree::psv::uv_grid
