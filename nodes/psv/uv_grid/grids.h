// From sources to grids of visibilities.
#pragma once

#include <cstdint>
#include <vector>

#include "nodes/psv/uv_grid/uv_grid.h"

namespace rimetree::psv::uv_grid {

inline constexpr std::size_t kStripRows = 32;  ///< of cells, to which sources are added together

/// Where sources are on the grid of cells, in the order of their rows there (y).
struct PlacedSources {
  std::vector<std::uint32_t> order;        ///< [source]: its number in the sky
  std::vector<std::int32_t> cell[2];       ///< [source]: the first cell that the kernel covers, from `first_cell`
  std::vector<double> place[2];            ///< [source]: the place in that cell, see GriddingKernel
  std::vector<Complex<double>> amplitude;  ///< [source]: the phase for the middle of the samples, with corrections
  std::vector<double> z;                   ///< [source]: from the middle
  /// Of a strip of rows: those in [begin[strip], end[strip]) reach it.
  std::vector<std::size_t> begin, end;
};
PlacedSources place_sources(const UvGridPlan& plan, ThreadPool& threads);

/// Which plane, term of the spectra and value of W a grid is of.
struct GridNumber {
  std::size_t plane = 0, term = 0;
  int w = 0;
};
inline GridNumber grid_number(const UvGridPlan& plan, std::size_t g) {
  const std::size_t n_term = plan.sky.n_term, n_plane = plan.sky.planes.size();
  return {g / n_term % n_plane, g % n_term, static_cast<int>(g / (n_term * n_plane))};
}
/// W of a grid, from the middle of the samples.
inline double w_of(const UvGridPlan& plan, int w) { return plan.samples.half(2) * chebyshev_point(w, plan.n_w); }

/// One strip of cells, as sources are added to it.
struct Strip {
  const UvGridPlan& plan;
  const PlacedSources& sources;
  GridNumber grid;
  std::size_t number = 0;            ///< rows [number * kStripRows, ...)
  std::size_t stride = 0;            ///< of a row in `cells`
  Complex<double>* cells = nullptr;  ///< [row of the strip][stride]; cleared first
};
/// Per instruction set.
void spread_strip(const Strip& strip);

/// Makes one grid, [mode of U][mode of V].
class GridMaker {
 public:
  GridMaker(const UvGridPlan& plan, const PlacedSources& sources, ThreadPool& threads, Cancellation& cancellation);
  void make(std::size_t g, Complex<double>* grid);

 private:
  struct Lines;  // scratch of a thread
  void transform_rows(std::size_t strip, GridNumber number, Lines& lines);
  void transform_columns(std::size_t first, Lines& lines, Complex<double>* grid) const;

  const UvGridPlan& plan_;
  const PlacedSources& sources_;
  ThreadPool& threads_;
  Cancellation& cancellation_;
  std::size_t stride_;                 // of a strip's rows, cells
  std::vector<Complex<double>> rows_;  // [row of cells][mode of U]
  std::vector<Lines> lines_;           // [thread]
};

}  // namespace rimetree::psv::uv_grid
