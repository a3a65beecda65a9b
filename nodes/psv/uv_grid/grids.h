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
  std::vector<std::int32_t> cell[2];       ///< [source]: the first that the widest kernel covers, from `first_cell`
  std::vector<double> place[2];            ///< [source]: the place in that cell, see GriddingKernel
  std::vector<Complex<double>> amplitude;  ///< [source]: the phase for the middle of the samples
  std::vector<double> z;                   ///< [source]: from the middle
  /// Of a strip of rows: those in [begin[strip], end[strip]) reach it.
  std::vector<std::size_t> begin, end;
};
PlacedSources place_sources(const UvGridPlan& plan, ThreadPool& threads);

/// Amplitudes of all placed sources for grids of this series: with the corrections of its kernel.
std::vector<Complex<double>> corrected_amplitudes(const UvGridPlan& plan, const PlacedSources& sources,
                                                  const GridSeries& series, ThreadPool& threads);
/// W of a grid, from the middle of the samples.
inline double w_of(const UvGridPlan& plan, GridNumber grid) {
  return plan.samples.half(2) * chebyshev_point(grid.w, plan.series[grid.series].n_w);
}

/// What is made once the method is chosen: transforms, corrections, shares of means.
void finish_plan(UvGridPlan& plan, const Channels& channels);
/// Points in W, by how many there are, as far as some grids need.
std::vector<Points> points_in_w(const UvGridPlan& plan);

inline constexpr std::size_t kColumns = 8;  ///< that are read and transformed together
/// Cell or mode i of n, as transforms store it.
inline std::size_t wrapped(std::ptrdiff_t i, std::size_t n) {
  return static_cast<std::size_t>(i < 0 ? i + static_cast<std::ptrdiff_t>(n) : i);
}

/// How many cells further on a kernel begins than the widest one. Their widths are even, so that a source or sample has
/// the same place in the first cell of each.
inline std::ptrdiff_t cells_skipped(const UvGridPlan& plan, const GriddingKernel& kernel) {
  return (plan.widest().width - kernel.width) / 2;
}

/// One strip of cells, as sources are added to it.
struct Strip {
  const GriddingKernel& kernel;
  std::ptrdiff_t skipped = 0;  ///< see cells_skipped()
  const PlacedSources& sources;
  const Complex<double>* weight = nullptr;  ///< [source], in the order of `sources`
  double w = 0;                             ///< of the grid, from the middle of the samples
  std::size_t number = 0;                   ///< rows [number * kStripRows, ...)
  std::size_t stride = 0;                   ///< of a row in `cells`
  Complex<double>* cells = nullptr;         ///< [row of the strip][stride]; cleared first
};
/// Per instruction set.
void spread_strip(const Strip& strip);

/// Makes one grid, [mode of U][mode of V], after the other.
class GridMaker {
 public:
  GridMaker(const UvGridPlan& plan, const PlacedSources& sources, ThreadPool& threads, Cancellation& cancellation);
  ~GridMaker();
  void make(GridNumber number, Complex<double>* grid);

 private:
  struct Lines;  // scratch of a thread
  void weigh(const GridSeries& series);
  void transform_rows(std::size_t strip, GridNumber number, Lines& lines);
  void transform_columns(std::size_t block, const GridKernel& kernel, Lines& lines, Complex<double>* grid) const;

  const UvGridPlan& plan_;
  const PlacedSources& sources_;
  ThreadPool& threads_;
  Cancellation& cancellation_;
  std::size_t stride_, n_block_;         // of a strip's rows, cells; blocks of columns
  std::size_t series_;                   // that sources were weighed for
  std::vector<Complex<double>> weight_;  // [source]: amplitude, with corrections
  std::vector<Complex<double>> rows_;    // [block of columns][row of cells][column: mode of U]
  std::vector<Lines> lines_;             // [thread]
};

}  // namespace rimetree::psv::uv_grid
