// The PSV node in reverse inside forests: the adjoint kernel and the general path against forward mode.
#include "runtime/evaluate/derivative_check.h"
#include "tests/support/psv_reverse_tree.h"

namespace rimetree::test {
namespace {

void check_reverse(const ReverseOptions& options) {
  ReverseTree sky(options);
  TestForest& tree = sky.tree;
  tree.request.derivatives = true;
  const ResultPtr forward = tree.evaluate("chi2", 2);
  expect_ok(forward);
  tree.request.derivatives = false;
  ValueAndGradient reverse = tree.evaluator->value_and_gradient(tree.request, tree.built->find("chi2"));
  expect_ok(reverse.value);
  EXPECT_NEAR(reverse.value->value.real()[0], forward->value.real()[0], 1e-11 * forward->value.real()[0]);
  EXPECT_EQ(reverse.gradient.by_node().size(), forward->derivatives.size());
  for (const Derivative& derivative : forward->derivatives) {
    const double expected = derivative.value.real()[0];
    const std::string& name = tree.built->node(derivative.parameter.parm).name();
    // What is asked for: 1e-10 of each derivative; they are sums of terms of random signs.
    EXPECT_NEAR(reverse.gradient.of(derivative.parameter.parm)[0], expected, 1e-10 * std::abs(expected)) << name;
  }
}

TEST(PsvReverse, AgreesWithForwardMode) {
  check_reverse({});
  check_reverse({.stokes_q = false});
  check_reverse({.smearing = true});
  check_reverse({.spectra = true});
  check_reverse({.spectra = true, .shapes = true, .smearing = true});
  check_reverse({.shapes = true, .stokes_q = false, .flags = true});
}

TEST(PsvReverse, AgreesWithForwardModeWithTermsOfAntennas) {
  for (const ReverseOptions& options : terms_of_antennas()) {
    SCOPED_TRACE(::testing::Message() << options.in_time << options.in_frequency << options.scalars << options.flags);
    check_reverse(options);
  }
}

/// Each node's derivative against differences of its own function in extended precision, besides.
TEST(PsvReverse, AgreesWithDifferencesInExtendedPrecision) {
  for (const bool in_frequency : {false, true}) {
    ReverseTree sky({.smearing = true, .jones = "antennas", .in_frequency = in_frequency});
    sky.tree.evaluate("chi2", 2);
    const DerivativeCheck found =
        check_derivatives(*sky.tree.evaluator, sky.tree.request, sky.tree.built->find("chi2"));
    int n_psv = 0;
    for (const NodeCheck& node : found.nodes) {
      EXPECT_LT(node.difference, 1e-9) << node.node;
      if (node.node_class != "PSV") continue;
      ++n_psv;
      EXPECT_TRUE(node.extended);
    }
    EXPECT_EQ(n_psv, kReverseBaselines);
    EXPECT_FALSE(found.unknowns.empty());
    for (const UnknownCheck& unknown : found.unknowns)
      EXPECT_NEAR(unknown.reverse, unknown.forward, 1e-10 * std::abs(unknown.forward)) << unknown.parm;
  }
}

TEST(PsvReverse, AgreesWithForwardModeWithJonesTerms) {
  for (const std::string jones : {"fixed", "solvable"}) {
    check_reverse({.jones = jones});
    check_reverse({.spectra = true, .shapes = true, .smearing = true, .jones = jones});
    for (const bool spectra : {false, true}) check_reverse({.spectra = spectra, .jones = jones, .pairs = 3});
  }
}

}  // namespace
}  // namespace rimetree::test
