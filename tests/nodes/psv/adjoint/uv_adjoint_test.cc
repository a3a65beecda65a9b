// The uv grid in reverse against the adjoint kernels, which go row by row.
#include "nodes/psv/adjoint/uv_adjoint.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/psv_adjoint_check.h"

namespace rimetree::testing {
namespace {
using psv::adjoint::SourceAdjoints;

constexpr psv::adjoint::SourceWish kWeights{.weights = true};

/// A case with adjoints, and its plan.
struct ReversedGrid {
  explicit ReversedGrid(const CaseOptions& options, double tolerance = 1e-11) : c(options), problem(c) {
    if (options.spectra) problem.sky.tangent_weights.assign(problem.sky.weights.begin(), problem.sky.weights.end());
    problem.sky.tangent_weights.resize(
        options.spectra ? problem.sky.n_source * problem.sky.n_weight_channel * problem.sky.planes.size() : 0);
    plan = psv::uv_grid::plan_uv_grid_reverse(of(), tolerance, 1e9);
  }
  psv::Summed of() const { return {problem.sky, problem.channels, problem.ordered.rows, problem.jones}; }

  SourceAdjoints by_grid(int n_thread = 1, const psv::uv_grid::ReverseMemory& memory = {}) {
    ThreadPool threads(n_thread);
    Cancellation cancellation;
    return psv::adjoint::pull_back_by_uv_grid(of(), plan, problem.given(), threads, cancellation, memory);
  }
  /// What each plane of each source gains along the direction in which weights move, where they vary along channels.
  std::vector<double> along_moves(const SourceAdjoints& found) const {
    const psv::Sky<double>& sky = problem.sky;
    if (sky.n_weight_channel == 1) return found.weights;
    const std::size_t n_plane = sky.planes.size();
    std::vector<double> sums(sky.n_source * n_plane);
    for (std::size_t i = 0; i < found.weights.size(); ++i)
      sums[i / (sky.n_weight_channel * n_plane) * n_plane + i % n_plane] += sky.tangent_weights[i] * found.weights[i];
    return sums;
  }
  /// What a weight would gain at most: errors are fractions of it.
  double all_in_phase() const {
    double sum = 0;
    for (const Complex<double>& adjoint : problem.adjoint) sum += abs(adjoint);
    return sum;
  }

  Case c;
  AdjointProblem problem;
  psv::uv_grid::UvGridPlan plan;
};

void check_grid(const CaseOptions& o, double tolerance = 1e-11) {
  SCOPED_TRACE(::testing::Message() << "sources " << o.n_source << " grid " << int(o.grid) << " polarisation "
                                    << int(o.polarisation) << " smearing " << o.smearing << " spectra " << o.spectra);
  ReversedGrid reversed(o, tolerance);
  ASSERT_EQ(reversed.plan.obstacle, "");
  EXPECT_LE(reversed.plan.bound, tolerance);
  const std::vector<double> got = reversed.along_moves(reversed.by_grid()),
                            expected = reversed.along_moves(reversed.problem.on_host(kWeights));
  ASSERT_EQ(got.size(), expected.size());
  double largest = 0, error = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    keep_larger(error, std::abs(got[i] - expected[i]));
    largest = std::max(largest, std::abs(expected[i]));
  }
  EXPECT_GT(largest, 0.01 * std::sqrt(reversed.all_in_phase()));
  EXPECT_LE(error, tolerance * reversed.all_in_phase());
}

/// As wide as it gets, seen by baselines of any direction.
CaseOptions wide_field() {
  CaseOptions o;
  o.phase_rad = 100;
  return o;
}

TEST(UvAdjoint, GivesWhatGoingRowByRowDoes) {
  for (const Polarisation polarisation : {Polarisation::kUnpolarised, Polarisation::kFull, Polarisation::kGeneral})
    for (const bool smearing : {false, true}) {
      CaseOptions o = wide_field();
      o.polarisation = polarisation;
      o.smearing = smearing;
      check_grid(o);
    }
}

TEST(UvAdjoint, MeetsEveryTolerance) {
  for (const double tolerance : {1e-3, 1e-6, 1e-9, 2e-12}) {
    CaseOptions o = wide_field();
    o.smearing = true;
    check_grid(o, tolerance);
  }
}

TEST(UvAdjoint, TakesChannelsInAnyOrder) {
  for (const Grid grid : {Grid::kDescending, Grid::kGapped, Grid::kIrregular})
    for (const std::size_t n_channel : {std::size_t{1}, std::size_t{7}, std::size_t{200}}) {
      CaseOptions o = wide_field();
      o.grid = grid;
      o.n_channel = n_channel;
      o.smearing = true;
      check_grid(o);
    }
}

TEST(UvAdjoint, TakesSpectraThatMoveSmoothly) {
  for (const Polarisation polarisation : {Polarisation::kUnpolarised, Polarisation::kFull, Polarisation::kGeneral})
    for (const bool smearing : {false, true}) {
      CaseOptions o = wide_field();
      o.polarisation = polarisation;
      o.n_channel = 100;
      o.spectra = o.smooth = true;
      o.smearing = smearing;
      check_grid(o);
    }
}

TEST(UvAdjoint, TakesSpectraThatMoveAtRandomInPartsOfTheBand) {
  for (const std::size_t n_channel : {std::size_t{2}, std::size_t{20}}) {
    CaseOptions o = wide_field();
    o.polarisation = Polarisation::kFull;
    o.n_channel = n_channel;
    o.spectra = true;
    EXPECT_EQ(ReversedGrid(o).plan.parts.size() > 1, n_channel > 6);
    check_grid(o);
  }
}

TEST(UvAdjoint, LeavesOutWhatDoesNotMove) {
  CaseOptions o = wide_field();
  o.polarisation = Polarisation::kFull;
  ReversedGrid reversed(o);
  ASSERT_EQ(reversed.plan.series.size(), 4u);
  std::vector<double> moves(4 * o.n_source, 0.0);
  for (std::size_t s = 0; s < o.n_source; ++s) moves[4 * s + 1] = 0.3;  // Q
  reversed.problem.sky.tangent_weights = moves;
  reversed.plan = psv::uv_grid::plan_uv_grid_reverse(reversed.of(), 1e-11, 1e9);
  ASSERT_EQ(reversed.plan.series.size(), 1u);
  const std::vector<double> got = reversed.by_grid().weights, all = reversed.problem.on_host(kWeights).weights;
  for (std::size_t s = 0; s < o.n_source; ++s) {
    EXPECT_NEAR(got[4 * s + 1], all[4 * s + 1], 1e-11 * reversed.all_in_phase());
    EXPECT_EQ(got[4 * s], 0);
  }
}

TEST(UvAdjoint, TakesSourcesWithAShapeRowByRow) {
  for (const bool spectra : {false, true}) {
    CaseOptions o = wide_field();
    o.n_channel = 100;
    o.gaussians = true;
    o.spectra = o.smooth = spectra;
    check_grid(o);
  }
}

TEST(UvAdjoint, BitsDoNotDependOnTheNumberOfThreads) {
  CaseOptions o = wide_field();
  o.n_source = 300;
  o.polarisation = Polarisation::kFull;
  o.smearing = true;
  ReversedGrid reversed(o, 1e-8);
  const SourceAdjoints one = reversed.by_grid(1);
  for (const int n_thread : {2, 3, 5}) expect_same_bits(one, reversed.by_grid(n_thread));
}

TEST(UvAdjoint, TakesAsManyGridsAndSamplesAsFitIntoMemory) {
  for (const Polarisation polarisation : {Polarisation::kFull, Polarisation::kGeneral}) {
    CaseOptions o = wide_field();
    o.polarisation = polarisation;
    ReversedGrid reversed(o, 1e-8);
    ASSERT_GT(reversed.plan.grids.size(), 20u);
    const std::vector<double> whole = reversed.by_grid().weights;
    const std::size_t bytes = sizeof(Complex<double>) * reversed.plan.grid_size();
    for (const std::size_t grids : {std::size_t{1}, 7 * bytes})
      for (const std::size_t samples : {std::size_t{1}, std::size_t{20000}})
        EXPECT_LE(relative_error(reversed.by_grid(2, {grids, samples}).weights, whole), 1e-12);
  }
}

TEST(UvAdjoint, SaysWhatStandsInItsWay) {
  const auto expect = [](const CaseOptions& o, const char* text, double tolerance = 1e-6) {
    const std::string obstacle = ReversedGrid(o, tolerance).plan.obstacle;
    EXPECT_NE(obstacle.find(text), std::string::npos) << text << ": " << obstacle;
  };
  expect(wide_field(), "tolerance", 1e-14);
  CaseOptions o = wide_field();
  o.jones = JonesKind::kMatrix;
  expect(o, "Jones");
  o = wide_field();
  o.spectra = o.smooth = true;
  o.n_channel = 100;
  ReversedGrid unknown(o);
  unknown.problem.sky.tangent_weights.clear();
  EXPECT_NE(psv::uv_grid::plan_uv_grid_reverse(unknown.of(), 1e-6, 1e9).obstacle.find("nobody knows"),
            std::string::npos);
}

}  // namespace
}  // namespace rimetree::testing
