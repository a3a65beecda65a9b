// Solver on devices: forests whose Jones matrices are solved for, on the devices that RIMETREE_DEVICE names, or on a
// simulated one, held to the same forests on the host; and what a fit copies, byte by byte.
#include "runtime/solve/sums/sums_job.h"
#include "tests/support/chosen_device.h"
#include "tests/support/gain_scene.h"

namespace rimetree::test {
namespace {

/// `error`: of values, and of chi-square as a fraction of it; 0: the same bits.
void expect_equal(const SolveReport& got, const SolveReport& expected, double error) {
  ASSERT_FALSE(expected.parms.empty());
  ASSERT_EQ(got.parms.size(), expected.parms.size());
  for (std::size_t p = 0; p < expected.parms.size(); ++p)
    for (std::size_t k = 0; k < expected.parms[p].value.size(); ++k) {
      EXPECT_LE(std::abs(got.parms[p].value[k] - expected.parms[p].value[k]), error) << expected.parms[p].parm;
      EXPECT_EQ(got.parms[p].flag[k], expected.parms[p].flag[k]) << expected.parms[p].parm;
    }
  ASSERT_EQ(got.groups.size(), expected.groups.size());
  for (std::size_t g = 0; g < expected.groups.size(); ++g) {
    const SolvedGroup &one = got.groups[g], &other = expected.groups[g];
    EXPECT_EQ(one.status, other.status);
    EXPECT_EQ(one.equations, other.equations);
    EXPECT_EQ(one.flagged, other.flagged);
    EXPECT_EQ(one.bad_weight, other.bad_weight);
    EXPECT_EQ(one.not_finite, other.not_finite);
    EXPECT_LE(std::abs(one.chi_square - other.chi_square), error * other.chi_square);
    EXPECT_LE(std::abs(one.chi_square_before - other.chi_square_before), error * other.chi_square_before);
  }
}

void check(const GainOptions& options, double error) {
  GainScene host(options, "none"), device(options, chosen_device());
  const SolveReport expected = host.solve();
  EXPECT_GT(expected.chi_square.size(), 3u) << "nothing to solve";
  expect_equal(device.solve(), expected, error);
  EXPECT_TRUE(device.was_summed_on_devices());
  EXPECT_FALSE(host.was_summed_on_devices());
  EXPECT_TRUE(device.evaluator->warnings().list().empty());
  // From what stayed on the device.
  device.restart();
  expect_equal(device.solve(), expected, error);
}

// Model visibilities agree to 1e-12 of the flux, and the fits are well conditioned.
constexpr double kError = 1e-9;

TEST(SolverDevice, AgreesWithTheHost) {
  check({}, kError);
  check({.full = true}, kError);
  check({.tiles = true}, kError);
  check({.weights = true, .flags = true}, kError);
  check({.full = true, .tiles = true, .weights = true, .flags = true}, kError);
}

TEST(SolverDevice, AgreesWithTheHostForSeveralDirections) {
  check({.fixed_term = true}, kError);
  check({.n_term = 2, .weights = true, .flags = true}, 1e-6);
  check({.full = true, .n_term = 2, .fixed_term = true, .iterations = 5}, 1e-6);
}

TEST(SolverDevice, AgreesWithTheHostForRobustErrors) {
  check({.robust_dof = 3}, kError);
  check({.full = true, .fixed_term = true, .tiles = true, .weights = true, .flags = true, .robust_dof = 3}, kError);
}

TEST(SolverDevice, HasTheHostsBitsFromTheSameModel) {
  for (const double robust_dof : {0.0, 3.0})
    for (const bool full : {false, true}) {
      const GainOptions options{.full = full,
                                .fixed_term = true,
                                .tiles = true,
                                .weights = true,
                                .flags = true,
                                .known_model = true,
                                .robust_dof = robust_dof};
      GainScene host(options, "none"), one(options, "simulated"), three(options, "simulated,simulated,simulated", 0, 3),
          chosen(options, chosen_device());
      const SolveReport expected = host.solve();
      expect_equal(chosen.solve(), expected, gives_the_hosts_bits(*chosen.evaluator) ? 0 : kError);
      EXPECT_TRUE(chosen.was_summed_on_devices());
      expect_equal(one.solve(), expected, 0);
      expect_equal(three.solve(), expected, 0);
      EXPECT_TRUE(one.was_summed_on_devices());
      for (std::size_t i = 0; i < 3; ++i) EXPECT_GT(three.device(i).statistics().bytes_to_device, 10000u);
    }
}

TEST(SolverDevice, GivesWhatTheHostGivesFromDerivatives) {
  check({.method = "generic"}, kError);
  check({.full = true, .weights = true, .flags = true, .method = "generic"}, kError);
  check({.n_term = 2, .fixed_term = true, .tiles = true, .weights = true, .flags = true, .method = "generic"}, 1e-6);
  check({.tiles = true, .weights = true, .flags = true, .robust_dof = 3, .method = "generic"}, kError);
}

constexpr std::size_t kCells = GainScene::kCells;

/// Small arrays go together, at multiples of this.
std::uint64_t aligned(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

struct Bytes {
  std::uint64_t up, down, in_use;
};
Bytes bytes_of(GainScene& scene) {
  const auto statistics = scene.device().statistics();
  return {statistics.bytes_to_device, statistics.bytes_to_host, statistics.bytes_in_use};
}

TEST(SolverDevice, DataWeightsFlagsAndModelGoUpOnceAndSumsComeDownOnce) {
  const GainOptions options{.weights = true, .flags = true};
  GainScene host(options, "none"), model(options, "simulated"), fit(options, "simulated");
  std::vector<int> predicted;
  for (int p = 0; p < options.n_antenna; ++p)
    for (int q = p + 1; q < options.n_antenna; ++q)
      predicted.push_back(model.built->find("M0:" + std::to_string(p) + ":" + std::to_string(q)));
  model.evaluator->evaluate(model.forest.request, predicted);
  const SolveReport report = fit.solve();
  EXPECT_GT(report.chi_square.size(), 4u) << "iterations";
  const Bytes total = bytes_of(fit);
  // One baseline has no data.
  const std::uint64_t n = static_cast<std::uint64_t>(fit.n_baseline()) - 1;
  const std::uint64_t arrays = n * (4 * kCells * (16 + 8) + aligned(4 * kCells)),
                      tables = n * (sizeof(solve::SumEquation) + sizeof(solve::SumVector)) + 6 * sizeof(std::int32_t);
  EXPECT_EQ(total.up - bytes_of(model).up, arrays + tables);
  EXPECT_EQ(total.down, n * 4 * 8 * (8 + 2 + 2)) << "eight scalars, w m* d and w |m|^2: no visibilities";

  // Another fit, of hundreds of iterations.
  for (int k = 0; k < 50; ++k) {
    fit.restart();
    expect_equal(fit.solve(), report, 0);
  }
  const Bytes later = bytes_of(fit);
  EXPECT_EQ(later.up, total.up) << "all of it has stayed";
  EXPECT_EQ(later.down, 51 * total.down);
  EXPECT_EQ(later.in_use, total.in_use) << "nothing is left behind";
}

TEST(SolverDevice, RobustIterationsSendCoefficientsAndBringSums) {
  const GainOptions options{.full = true, .n_term = 1, .weights = true, .flags = true, .robust_dof = 3};
  GainScene fit(options, "simulated");
  const auto n_evaluation = [&] { return fit.solve().chi_square.size(); };
  ASSERT_GT(n_evaluation(), 4u);
  const Bytes before = bytes_of(fit);
  fit.restart();
  const std::size_t n = n_evaluation();
  const Bytes after = bytes_of(fit);
  const std::uint64_t n_sum = (static_cast<std::uint64_t>(fit.n_baseline()) - 1) * 4;
  EXPECT_EQ(after.up - before.up, n * n_sum * 4 * 16) << "four coefficients of a visibility";
  EXPECT_EQ(after.down - before.down, n * n_sum * 8 * (8 + 2 * (4 + 10)));
  EXPECT_EQ(after.in_use, before.in_use);
}

TEST(SolverDevice, WithDerivativesParametersGoUpAndMatricesOfGroupsComeDown) {
  for (const bool tiles : {false, true}) {
    const GainOptions options{.tiles = tiles, .weights = true, .flags = true, .method = "generic", .iterations = 3};
    GainScene fit(options, "simulated");
    fit.solve();
    const Bytes before = bytes_of(fit);
    constexpr int kSolves = 60;
    std::uint64_t n_evaluation = 0, n_group = 0;
    for (int k = 0; k < kSolves; ++k) {
      fit.restart();
      const SolveReport report = fit.solve();
      n_evaluation += report.chi_square.size();
      n_group = report.groups.size();
    }
    const Bytes after = bytes_of(fit);
    ASSERT_EQ(n_evaluation, kSolves * 4u);
    ASSERT_EQ(n_group, tiles ? 3u : 1u);
    const std::uint64_t n = fit.unknowns.size();  // of each group
    EXPECT_EQ(after.down - before.down, n_evaluation * n_group * 8 * (8 + n + n * n));
    EXPECT_EQ(after.up - before.up, n_evaluation * n * aligned(8 * (tiles ? GainScene::kTimes : 1)))
        << "values of the Parms";
    EXPECT_EQ(after.in_use, before.in_use);
  }
}

TEST(SolverDevice, ChangedDataGoUpOnce) {
  const GainOptions options{.weights = true};
  GainScene host(options, "none"), device(options, "simulated");
  host.solve();
  device.solve();
  for (GainScene* scene : {&host, &device}) {
    std::vector<Complex<double>> data(4 * kCells, {20, 1});
    scene->built->set_state(scene->built->find("data0:1"),
                            {{"value", complex_array({2, 2, GainScene::kTimes, GainScene::kChannels}, data)}});
    scene->restart();
  }
  const Bytes before = bytes_of(device);
  expect_equal(device.solve(), host.solve(), kError);
  // Small arrays go together.
  EXPECT_EQ(bytes_of(device).up - before.up, static_cast<std::uint64_t>(device.n_baseline()) * 4 * kCells * (16 + 8));
}

TEST(SolverDevice, ChangedFlagsAreSeen) {
  // Of so many cells that they go up by themselves.
  constexpr int kManyChannels = 2800;
  for (const std::string method : {"auto", "generic"}) {
    const GainOptions options{.n_antenna = 2,
                              .n_channel = kManyChannels,
                              .flags = true,
                              .known_model = true,
                              .method = method,
                              .iterations = 3};
    GainScene host(options, "none"), device(options, "simulated");
    const SolveReport before = host.solve();
    expect_equal(device.solve(), before, kError);
    for (GainScene* scene : {&host, &device}) {
      std::vector<double> bits(4 * GainScene::kTimes * kManyChannels, 0);
      for (std::size_t i = 0; i < bits.size() / 4; ++i) bits[i] = 1;
      scene->built->set_state(scene->built->find("flagged0:1"),
                              {{"bits", array({4, GainScene::kTimes, kManyChannels}, bits)}});
      scene->restart();
    }
    const SolveReport after = host.solve();
    EXPECT_NE(after.groups[0].flagged, before.groups[0].flagged);
    expect_equal(device.solve(), after, kError);
  }
}

TEST(SolverDevice, RunsWithinAnyBudget) {
  const GainOptions options{.full = true, .tiles = true, .weights = true, .flags = true, .known_model = true};
  GainScene host(options, "none");
  const SolveReport expected = host.solve();
  int on_device = 0, all_there = 0;
  for (std::int64_t budget = 1 << 18; budget >= 1000; budget /= 2) {
    GainScene device(options, "simulated", budget);
    expect_equal(device.solve(), expected, 0);
    EXPECT_LE(device.evaluator->devices().front()->arrays().statistics().peak_bytes, std::uint64_t(budget));
    on_device += device.was_summed_on_devices();
    all_there += device.evaluator->warnings().list().empty();
  }
  EXPECT_GE(all_there, 3);
  EXPECT_LT(all_there, 8);
  EXPECT_GE(on_device, all_there);
}

TEST(SolverDevice, RunsWithinAnyBudgetWithDerivatives) {
  const GainOptions options{
      .full = true, .tiles = true, .weights = true, .flags = true, .method = "generic", .iterations = 4};
  GainScene host(options, "none");
  const SolveReport expected = host.solve();
  int on_device = 0;
  for (std::int64_t budget = 1 << 23; budget >= 2000; budget /= 4) {
    GainScene device(options, "simulated", budget);
    expect_equal(device.solve(), expected, kError);
    EXPECT_LE(device.evaluator->devices().front()->arrays().statistics().peak_bytes, std::uint64_t(budget));
    on_device += device.was_summed_on_devices();
  }
  EXPECT_GE(on_device, 2);
}

/// How many allocations an undisturbed solve tries.
std::size_t allocations_of(const GainOptions& options) {
  GainScene undisturbed(options, "simulated");
  undisturbed.solve();
  return undisturbed.device().allocations_tried();
}

/// Fits on a device of which some allocations fail, each of them in turn, end as on the host; and so does the next fit.
void expect_that_every_allocation_may_fail(const GainOptions& options, double error) {
  GainScene host(options, "none");
  const SolveReport expected = host.solve();
  const std::size_t n_allocation = allocations_of(options);
  ASSERT_GT(n_allocation, 3u);
  for (std::size_t n = 1; n <= n_allocation; ++n)
    for (const std::size_t count : {1, 3, 1000000}) {
      GainScene device(options, "simulated");
      device.device().fail_allocations(n, count);
      expect_equal(device.solve(), expected, error);
      device.device().fail_allocations(0, 0);
      device.restart();
      expect_equal(device.solve(), expected, error);
    }
}

TEST(SolverDevice, EveryAllocationMayFail) {
  for (const double robust_dof : {0.0, 3.0})
    expect_that_every_allocation_may_fail({.n_antenna = 4,
                                           .weights = true,
                                           .flags = true,
                                           .known_model = true,
                                           .robust_dof = robust_dof,
                                           .iterations = 4},
                                          0);
}

TEST(SolverDevice, EveryAllocationMayFailWhilePredicting) {
  for (const std::string method : {"auto", "generic"})
    expect_that_every_allocation_may_fail(
        {.n_antenna = 3, .fixed_term = true, .flags = true, .method = method, .iterations = 3}, kError);
}

}  // namespace
}  // namespace rimetree::test
