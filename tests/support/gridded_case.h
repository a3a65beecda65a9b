// A case of the uv grid: its plan and what that gives.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "nodes/psv/uv_grid/uv_grid.h"
#include "tests/support/psv_case.h"

namespace rimetree::testing {

/// A case, its plan and what that gives.
struct Gridded {
  Gridded(const Case& scene, double tolerance) : c(scene) {
    sky = psv::pack_sky<double>(c.sky_input());
    channels = psv::analyse_channels(c.frequency.data(), c.width.data(), c.n_channel());
    rows = c.psv_rows();
    jones = {c.n_pair, c.jones_pairs.data(), c.options.jones == JonesKind::kVarying};
    plan = psv::uv_grid::plan_uv_grid({sky, channels, rows, jones}, tolerance, 1e9);
  }
  Gridded(const CaseOptions& options, double tolerance) : Gridded(Case(options), tolerance) {}
  Gridded(const Gridded&) = delete;

  /// [row][XX XY YX YY][channel]
  std::vector<Complex<double>> evaluate(int n_thread = 1, std::size_t grid_bytes = psv::uv_grid::kGridBytes) {
    std::vector<Complex<double>> out(c.n_row() * 4 * c.n_channel(), {-12345, -12345});
    std::vector<Complex<double>*> row;
    for (std::size_t r = 0; r < c.n_row(); ++r) row.push_back(out.data() + r * 4 * c.n_channel());
    ThreadPool threads(n_thread);
    Cancellation cancellation;
    psv::uv_grid::solve_by_uv_grid({sky, channels, rows, jones}, plan, {row.data(), std::ptrdiff_t(c.n_channel())},
                                   threads, cancellation, grid_bytes);
    return out;
  }

  Case c;
  psv::Sky<double> sky;
  psv::Channels channels;
  psv::Rows rows;
  psv::JonesTerms jones;
  psv::uv_grid::UvGridPlan plan;
};

/// Holds the uv grid to the extended-precision direct sum.
inline void check_on_grid(const Case& scene, double tolerance) {
  const CaseOptions& o = scene.options;
  SCOPED_TRACE(::testing::Message() << "tolerance " << tolerance << " sources " << o.n_source << " phase "
                                    << o.phase_rad << " grid " << int(o.grid) << " polarisation " << int(o.polarisation)
                                    << " smearing " << o.smearing << " spectra " << o.spectra);
  Gridded gridded(scene, tolerance);
  ASSERT_EQ(gridded.plan.obstacle, "");
  EXPECT_LE(gridded.plan.bound, tolerance);
  EXPECT_LE(largest_error(gridded.evaluate(), scene.expected(), scene.total_flux()), tolerance);
}

/// Half a radian wide, with baselines of any direction: that is as wide as it gets.
inline CaseOptions wide_field(double phase_rad = 100) {
  CaseOptions o;
  o.phase_rad = phase_rad;
  return o;
}

}  // namespace rimetree::testing
