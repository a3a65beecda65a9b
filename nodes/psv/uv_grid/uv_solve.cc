// All rows by the uv-grid method: as many grids as fit into memory are made, then every row takes what it needs of
// them.
#include <algorithm>
#include <cmath>

#include "nodes/psv/plane_shares.h"
#include "nodes/psv/uv_grid/grids.h"
#include "nodes/psv/uv_grid/samples.h"
#include "nodes/psv/uv_grid/uv_grid.h"
#include "runtime/math/conventions.h"

namespace rimetree::psv::uv_grid {
namespace {

/// Rows are shared out in ranges of so many visibilities, in whole vectors.
constexpr std::size_t kRangeSamples = 1024, kVectorRows = 8;

/// Adds planes [slot][channel] of a row to its correlations XX, XY, YX, YY.
void add_planes(const SeriesSky& sky, const std::vector<Complex<double>>& planes, std::size_t n_channel,
                Complex<double>* row, std::ptrdiff_t plane_stride) {
  for (std::size_t f = 0; f < n_channel; ++f, ++row) {
    Complex<double> e[4]{};
    for (int slot = 0; slot < 4; ++slot) {
      const Complex<double> plane = planes[static_cast<std::size_t>(slot) * n_channel + f];
      if (sky.stokes)
        add_plane(Plane(static_cast<int>(Plane::kI) + slot), plane, e);
      else
        e[slot] = plane;
    }
    for (int i = 0; i < 4; ++i) row[i * plane_stride] += e[i];
  }
}

/// What a thread needs.
struct RowScratch {
  std::vector<Complex<double>> values, planes;
};

/// Results of channels from one on.
class OutputOfBand {
 public:
  OutputOfBand(const Output& all, std::size_t n_row, std::size_t first_channel) : plane_stride_(all.plane_stride) {
    for (std::size_t row = 0; row < n_row; ++row) row_.push_back(all.row[row] + first_channel);
  }
  Output get() const { return {row_.data(), plane_stride_}; }

 private:
  std::vector<Complex<double>*> row_;
  std::ptrdiff_t plane_stride_;
};

class GridSolver {
 public:
  GridSolver(ThreadPool& threads, Cancellation& cancellation, std::size_t grid_bytes)
      : threads_(threads),
        cancellation_(cancellation),
        grid_bytes_(grid_bytes),
        scratch_(static_cast<std::size_t>(threads.size())) {}

  /// Results are what sources with a shape give, or zero.
  void begin(const Summed& of, const Sky<double>& others, const Output& out) {
    const JonesTerms none;
    std::vector<Workspace<double>> workspaces;
    for (int i = 0; i < threads_.size() && others.n_source > 0; ++i) workspaces.emplace_back(others, of.channels, none);
    for_rows(of, [&](std::size_t begin, std::size_t end, std::size_t worker) {
      if (others.n_source > 0)
        return evaluate_rows(others, of.channels, of.rows, none, begin, end, workspaces[worker], out);
      for (std::size_t row = begin; row < end; ++row)
        for (int i = 0; i < 4; ++i) std::fill_n(out.row[row] + i * out.plane_stride, of.n_channel(), Complex<double>());
    });
  }

  /// Adds points, by a plan without parts.
  void add(const Summed& of, UvGridPlan& plan, const Output& out) {
    finish_plan(plan, of.channels);
    const std::vector<Points> w_points = points_in_w(plan);
    const PlacedSources sources = place_sources(plan, threads_);
    GridMaker maker(plan, sources, threads_, cancellation_);
    const std::size_t n_grid = plan.grids.size(), size = plan.grid_size(), n_channel = of.n_channel();
    const std::size_t together = std::clamp<std::size_t>(grid_bytes_ / (sizeof(Complex<double>) * size), 1, n_grid);
    grids_.resize(std::max(grids_.size(), together * size));
    for (std::size_t first = 0; first < n_grid; first += together) {
      const GridSet set{first, std::min(together, n_grid - first), grids_.data()};
      for (std::size_t g = 0; g < set.count; ++g) maker.make(plan.grids[first + g], grids_.data() + g * size);
      for_rows(of, [&](std::size_t begin, std::size_t end, std::size_t worker) {
        auto& [values, planes] = scratch_[worker];
        for (std::size_t row = begin; row < end; ++row) {
          planes.assign(4 * n_channel, {});
          add_samples({plan, w_points, of, set, values, row, planes.data()});
          add_planes(plan.sky, planes, n_channel, out.row[row], out.plane_stride);
        }
      });
    }
  }

 private:
  /// Calls f(begin, end, thread).
  template <class F>
  void for_rows(const Summed& of, const F& f) {
    threads_.parallel_for(
        of.rows.n_row, kVectorRows * std::max<std::size_t>(1, kRangeSamples / of.n_channel() / kVectorRows),
        [&](std::size_t begin, std::size_t end, int worker) { f(begin, end, static_cast<std::size_t>(worker)); },
        &cancellation_);
  }

  ThreadPool& threads_;
  Cancellation& cancellation_;
  std::size_t grid_bytes_;
  std::vector<RowScratch> scratch_;
  std::vector<Complex<double>> grids_;
};

}  // namespace

void solve_by_uv_grid(const Summed& of, UvGridPlan& plan, const Output& out, ThreadPool& threads,
                      Cancellation& cancellation, std::size_t grid_bytes) {
  GridSolver solver(threads, cancellation, grid_bytes);
  solver.begin(of, plan.others, out);
  if (plan.parts.empty()) return solver.add(of, plan, out);
  for (PartOfBand& part : plan.parts)
    solver.add({of.sky, part.channels, of.rows, of.jones}, part.plan,
               OutputOfBand(out, of.rows.n_row, part.begin).get());
}

}  // namespace rimetree::psv::uv_grid
