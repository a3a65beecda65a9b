// All rows by the uv-grid method: as many grids as fit into memory are made, then every row takes what it needs of
// them.
#include <algorithm>
#include <cmath>

#include "nodes/psv/uv_grid/grids.h"
#include "nodes/psv/uv_grid/samples.h"
#include "nodes/psv/uv_grid/uv_grid.h"
#include "runtime/math/conventions.h"

namespace rimetree::psv::uv_grid {
namespace {

/// Rows are shared out in ranges of so many visibilities.
constexpr std::size_t kRangeSamples = 1024;

void finish_axis(GridAxis& axis, const GriddingKernel& kernel) {
  axis.transform = FourierTransform::of_length(axis.n_cell);
  axis.correction.resize(axis.n_mode);
  for (std::size_t k = 0; k < axis.n_mode; ++k) {
    const double kappa = double(axis.first_mode + static_cast<std::ptrdiff_t>(k)) / double(axis.n_cell);
    axis.correction[k] = kernel.inverse_transform(kappa);
  }
}

void clear(const Output& out, std::size_t row, std::size_t n_channel) {
  for (int i = 0; i < 4; ++i) std::fill_n(out.row[row] + i * out.plane_stride, n_channel, Complex<double>());
}

/// I, Q, U, V in their places become XX, XY, YX, YY.
void to_correlations(Complex<double>* row, std::ptrdiff_t plane_stride, std::size_t n_channel) {
  for (std::size_t f = 0; f < n_channel; ++f, ++row) {
    Complex<double>&i = row[0], &q = row[plane_stride], &u = row[2 * plane_stride], &v = row[3 * plane_stride];
    const Complex<double> turned{-v.im, v.re}, cross = u;
    const Complex<double> xx = i + q, yy = i - q;
    i = xx, q = cross + turned, u = cross - turned, v = yy;
  }
}

}  // namespace

void solve_by_uv_grid(const Summed& of, UvGridPlan& plan, const Output& out, ThreadPool& threads,
                      Cancellation& cancellation, std::size_t grid_bytes) {
  for (GridAxis& axis : plan.axis) finish_axis(axis, *plan.kernel);
  finish_means(plan.means, of.channels);
  const Points w_points(plan.n_w);
  const PlacedSources sources = place_sources(plan, threads);
  GridMaker maker(plan, sources, threads, cancellation);
  const std::size_t n_grid = plan.n_grid(), size = plan.grid_size();
  const std::size_t together = std::clamp<std::size_t>(grid_bytes / (sizeof(Complex<double>) * size), 1, n_grid);
  std::vector<Complex<double>> grids(together * size);
  std::vector<std::vector<Complex<double>>> values(static_cast<std::size_t>(threads.size()));
  const std::size_t range = std::max<std::size_t>(1, kRangeSamples / of.n_channel());
  for (std::size_t first = 0; first < n_grid; first += together) {
    const GridSet set{first, std::min(together, n_grid - first), grids.data()};
    for (std::size_t g = 0; g < set.count; ++g) maker.make(first + g, grids.data() + g * size);
    threads.parallel_for(
        of.rows.n_row, range,
        [&](std::size_t begin, std::size_t end, int worker) {
          for (std::size_t row = begin; row < end; ++row) {
            if (first == 0) clear(out, row, of.n_channel());
            add_samples({plan, w_points, of, set, values[static_cast<std::size_t>(worker)], row, out.row[row],
                         out.plane_stride});
            if (first + set.count == n_grid && plan.sky.stokes)
              to_correlations(out.row[row], out.plane_stride, of.n_channel());
          }
        },
        &cancellation);
  }
}

}  // namespace rimetree::psv::uv_grid
