// Gradients of trees with unknown Jones terms inside PSV, on the devices that RIMETREE_DEVICE names or on a simulated
// one: held to the same trees on the host. What a fitting loop copies, what happens where memory is short, and what is
// left to the host.
#include "memory/simulated_device.h"
#include "nodes/psv/device/direct_job.h"
#include "tests/support/chosen_device.h"
#include "tests/support/psv_reverse_tree.h"

namespace rimetree::test {
namespace {

/// A tree with an evaluator that stays.
struct Fit {
  Fit(const ReverseOptions& options, const std::string& device, std::int64_t budget_bytes = 0)
      : tree(options, device, budget_bytes), built(Forest::build(tree.tree.specs(), registry())) {
    evaluator = std::make_unique<Evaluator>(built, EvaluatorOptions{.threads = 1, .placement = PlacementRule{}});
  }
  ValueAndGradient evaluate() { return evaluator->value_and_gradient(tree.tree.request, built->find("chi2")); }
  double value(const std::string& parm) const { return evaluator->evaluate(tree.tree.request, parm)->value.real()[0]; }
  memory::SimulatedDevice& device() {
    return dynamic_cast<memory::SimulatedDevice&>(evaluator->devices().front()->device());
  }
  bool notes(const std::string& text) const { return has(evaluator->notes().list(), text); }
  bool warns(const std::string& text) const { return has(evaluator->warnings().list(), text); }
  static bool has(const std::vector<std::string>& list, const std::string& text) {
    return std::any_of(list.begin(), list.end(), [&](const auto& one) { return one.find(text) != std::string::npos; });
  }

  ReverseTree tree;
  std::shared_ptr<Forest> built;
  std::unique_ptr<Evaluator> evaluator;
};

constexpr const char *kOnHost = "computed on the host", *kCompared = "chi-square and its derivatives",
                     *kPulled = "derivatives of 5 sources from";

void expect_equal(ValueAndGradient got, ValueAndGradient expected, const Forest& forest) {
  expect_ok(expected.value);
  expect_ok(got.value);
  const double value = expected.value->value.real()[0];
  EXPECT_NEAR(got.value->value.real()[0], value, 1e-11 * value);
  ASSERT_EQ(got.gradient.by_node().size(), expected.gradient.by_node().size());
  // As the host's is held to forward mode (reverse_test.cc).
  for (const auto& [node, gradient] : expected.gradient.by_node())
    EXPECT_NEAR(got.gradient.of(node)[0], gradient[0], 1e-10 * std::abs(gradient[0])) << forest.node(node).name();
}

/// By comparison with data on the device, and where something is between models and data.
void check(ReverseOptions options) {
  for (const bool between : {false, true}) {
    options.between = between;
    Fit host(options, "none"), device(options, chosen_device());
    const ValueAndGradient expected = host.evaluate();
    expect_equal(device.evaluate(), expected, *host.built);
    expect_equal(device.evaluate(), expected, *host.built);  // from what stayed
    const bool compared = !between && !options.flags;        // flags are another node between
    EXPECT_EQ(device.notes(kCompared), compared);
    EXPECT_EQ(device.notes(kPulled), !compared);
    EXPECT_FALSE(device.notes(kOnHost));
    EXPECT_TRUE(device.evaluator->warnings().list().empty());
  }
}

TEST(PsvReverseDevice, AgreesWithTheHostWithTermsOfAntennas) {
  for (const ReverseOptions& options : terms_of_antennas()) {
    SCOPED_TRACE(::testing::Message() << options.in_time << options.in_frequency << options.scalars << options.flags);
    check(options);
  }
}

TEST(PsvReverseDevice, AgreesWithTheHostWithJonesTerms) {
  for (const std::string jones : {"none", "fixed", "solvable"}) {
    check({.jones = jones});
    check({.spectra = true, .shapes = true, .smearing = true, .jones = jones});
    for (const bool spectra : {false, true}) check({.spectra = spectra, .jones = jones, .pairs = 3});
  }
}

TEST(PsvReverseDevice, TermsGoUpAndWhatTheyGainComesDownInAFittingLoop) {
  for (const bool in_time : {false, true})
    for (const bool in_frequency : {false, true}) {
      const ReverseOptions options{.jones = "antennas", .in_time = in_time, .in_frequency = in_frequency};
      Fit fit(options, "simulated"), host(options, "none");
      ValueAndGradient at = fit.evaluate();
      const double chi_square = at.value->value.real()[0];
      const auto first = fit.device().statistics();
      constexpr int kIterations = 50;
      for (int i = 0; i < kIterations; ++i) {
        for (const char* part : {"re", "im"})
          for (int p = 0; p < 3; ++p) {
            const std::string name = part + std::to_string(p);
            const int node = fit.built->find(name);
            const double value = fit.value(name) - 1e-5 * at.gradient.of(node)[0];
            for (Fit* one : {&fit, &host}) one->built->set_state(node, {{"value", value}});
          }
        at = fit.evaluate();
      }
      const auto last = fit.device().statistics();
      // Three antennas are on the left of a baseline, two on the right.
      const std::uint64_t sides = 5 * (in_time ? 3 : 1) * (in_frequency ? 5 : 1);
      const std::uint64_t terms = sides * kReverseSources * 4 * sizeof(Complex<double>);
      EXPECT_EQ(last.bytes_to_device - first.bytes_to_device, kIterations * terms);
      EXPECT_EQ(last.bytes_to_host - first.bytes_to_host,
                kIterations * (terms + 2 * sizeof(double) + kReverseSources * 3 * sizeof(double)));
      EXPECT_EQ(last.bytes_in_use, first.bytes_in_use) << "nothing is left behind";
      EXPECT_LT(at.value->value.real()[0], chi_square);
      expect_equal(at, host.evaluate(), *host.built);
    }
}

TEST(PsvReverseDevice, EveryAllocationMayFail) {
  for (const bool between : {false, true}) {
    const ReverseOptions options{.shapes = true, .jones = "antennas", .in_frequency = true, .between = between};
    Fit host(options, "none"), undisturbed(options, "simulated");
    const ValueAndGradient expected = host.evaluate();
    undisturbed.evaluate();
    const std::size_t n_allocation = undisturbed.device().allocations_tried();
    ASSERT_GT(n_allocation, 20u);
    int n_warned = 0;
    for (std::size_t n = 1; n <= n_allocation; ++n)
      for (const std::size_t count : {1, 5, 1000000}) {
        Fit device(options, "simulated");
        device.device().fail_allocations(n, count);
        expect_equal(device.evaluate(), expected, *host.built);
        n_warned += device.warns(between ? "is differentiated on the host" : "is compared with data on the host");
        EXPECT_TRUE(count > 5 || device.evaluator->warnings().list().empty()) << "it is tried again in smaller chunks";
        device.device().fail_allocations(0, 0);
        expect_equal(device.evaluate(), expected, *host.built);
      }
    EXPECT_GT(n_warned, 5);
  }
}

TEST(PsvReverseDevice, RunsWithinAnyBudget) {
  for (const bool between : {false, true}) {
    const ReverseOptions options{.jones = "antennas", .in_time = true, .in_frequency = true, .between = between};
    Fit host(options, "none");
    const ValueAndGradient expected = host.evaluate();
    int on_device = 0, on_host = 0;
    for (std::int64_t budget = 1 << 18; budget >= 1000; budget /= 2) {
      Fit device(options, "simulated", budget);
      expect_equal(device.evaluate(), expected, *host.built);
      EXPECT_LE(device.evaluator->devices().front()->arrays().statistics().peak_bytes, std::uint64_t(budget));
      const bool warned = !device.evaluator->warnings().list().empty();
      EXPECT_NE(device.notes(between ? kPulled : kCompared), warned);
      ++(warned ? on_host : on_device);
    }
    EXPECT_GE(on_device, 2);
    EXPECT_GE(on_host, 1);
  }
}

/// Baselines that depend on unknowns: by the scalar body on a tape.
TEST(PsvReverseDevice, WhatNoKernelTakesIsDoneOnTheHostAndSaidSo) {
  for (const std::string jones : {"none", "antennas"}) {
    const ReverseOptions options{.jones = jones, .baselines = true};
    Fit host(options, "none"), device(options, chosen_device());
    expect_equal(device.evaluate(), host.evaluate(), *host.built);
    EXPECT_TRUE(device.notes(kOnHost));
    EXPECT_FALSE(device.notes(kPulled) || device.notes(kCompared));
    EXPECT_FALSE(host.notes(kOnHost));
  }
}

}  // namespace
}  // namespace rimetree::test
