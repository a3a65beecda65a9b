// The reverse pass over forests: waves, sharing, flags, missing data, and what it refuses.
#include <gtest/gtest.h>

#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

/// Residuals r_i = d_i - g_i g_{i+1} x with gains shared by neighbours, x shared by all.
TestForest chain(int n) {
  TestForest tree;
  tree.parm("x", 1.2);
  for (int i = 0; i <= n; ++i) tree.parm("g" + std::to_string(i), 1 + 0.1 * i);
  std::vector<std::string> residuals;
  for (int i = 0; i < n; ++i) {
    const std::string k = std::to_string(i);
    tree.constant("d" + k, array({2, 3}, {1, 2, 3, 4, 5.0 + i, 6}), 2);
    tree.node("m" + k, "Multiply", {"g" + k, "g" + std::to_string(i + 1), "x"});
    tree.node("r" + k, "Subtract", {"d" + k, "m" + k});
    residuals.push_back("r" + k);
  }
  tree.node("chi2", "ChiSquare", residuals);
  return tree;
}

ValueAndGradient reverse(TestForest& tree, const std::string& root, EvaluatorOptions options) {
  tree.built = Forest::build(tree.specs(), registry());
  tree.evaluator = std::make_shared<Evaluator>(tree.built, options);
  return tree.evaluator->value_and_gradient(tree.request, tree.built->find(root));
}

TEST(Reverse, GradientOfAChain) {
  TestForest tree = chain(7);
  ValueAndGradient found = reverse(tree, "chi2", {.threads = 2});
  expect_ok(found.value);
  // d/dx sum (d - m)^2 = -2 sum (d - m) m/x, by hand.
  double value = 0, slope = 0;
  for (int i = 0; i < 7; ++i) {
    const double m = (1 + 0.1 * i) * (1 + 0.1 * (i + 1)) * 1.2;
    for (const double d : {1.0, 2.0, 3.0, 4.0, 5.0 + i, 6.0}) {
      value += (d - m) * (d - m);
      slope += -2 * (d - m) * m / 1.2;
    }
  }
  EXPECT_NEAR(found.value->value.real()[0], value, 1e-12 * value);
  EXPECT_NEAR(found.gradient.of(tree.built->find("x"))[0], slope, 1e-12 * std::abs(slope));
  EXPECT_EQ(found.gradient.by_node().size(), 9u);
}

TEST(Reverse, SameBitsInManyWavesAndFromManyThreads) {
  TestForest tree = chain(9);
  const ValueAndGradient whole = reverse(tree, "chi2", {.threads = 1, .memory_budget = 1u << 30});
  const std::uint64_t peak = tree.evaluator->timing().peak_result_bytes;
  const ValueAndGradient waves = reverse(tree, "chi2", {.threads = 3, .memory_budget = 1});
  EXPECT_LT(tree.evaluator->timing().peak_result_bytes, peak);
  EXPECT_EQ(whole.value->value.real()[0], waves.value->value.real()[0]);
  EXPECT_EQ(whole.gradient.by_node(), waves.gradient.by_node());
  // What waves share, here x and the gains between them, is evaluated once.
  EXPECT_EQ(tree.evaluator->timing().classes.at("Parm").evaluations, 11u);
}

TEST(Reverse, TwiceGivesTheSameAndNewValuesGiveNew) {
  TestForest tree = chain(3);
  const ValueAndGradient first = reverse(tree, "chi2", {.threads = 1});
  const ValueAndGradient again = tree.evaluator->value_and_gradient(tree.request, tree.built->find("chi2"));
  EXPECT_EQ(first.gradient.by_node(), again.gradient.by_node());
  tree.built->set_state(tree.built->find("x"), {{"value", 1.3}});
  const ValueAndGradient moved = tree.evaluator->value_and_gradient(tree.request, tree.built->find("chi2"));
  EXPECT_NE(first.value->value.real()[0], moved.value->value.real()[0]);
  // Data depend on no unknown: they are kept.
  EXPECT_EQ(tree.evaluator->timing().classes.at("Constant").evaluations, 3u);
}

TEST(Reverse, AnyRealNumberHasAGradient) {
  TestForest tree;
  tree.parm("p", 0.5).parm("q", 2.0).parm("unused", 1.0);
  tree.node("sum", "Sum", {"p"}).node("y", "Multiply", {"sum", "q", "q"});
  ValueAndGradient found = reverse(tree, "y", {.threads = 1});
  EXPECT_NEAR(found.value->value.real()[0], 6 * 0.5 * 4, 1e-14);  // six cells
  EXPECT_NEAR(found.gradient.of(tree.built->find("p"))[0], 6 * 4, 1e-13);
  EXPECT_NEAR(found.gradient.of(tree.built->find("q"))[0], 6 * 0.5 * 2 * 2, 1e-13);
  EXPECT_TRUE(found.gradient.of(tree.built->find("unused")).empty());
}

TEST(Reverse, ObjectivesMayBePartsOfOthers) {
  TestForest tree = chain(2);
  tree.constant("half", -0.5).node("scaled", "Multiply", {"chi2", "half"});
  ValueAndGradient scaled = reverse(tree, "scaled", {.threads = 1});
  ValueAndGradient plain = tree.evaluator->value_and_gradient(tree.request, tree.built->find("chi2"));
  for (const auto& [node, gradient] : plain.gradient.by_node())
    EXPECT_NEAR(scaled.gradient.of(node)[0], -0.5 * gradient[0], 1e-13 * (1 + std::abs(gradient[0])));
}

TEST(Reverse, FlaggedNaNDoesNotSpoil) {
  TestForest tree;
  tree.parm("p", 2.0).constant("bad", array({2, 3}, {1, std::nan(""), 1, 1, 1, 1}), 2);
  tree.node("m", "Multiply", {"p", "bad"}).flagged("r", "m", array({1, 2, 3}, {0, 1, 0, 0, 0, 0}));
  tree.node("chi2", "ChiSquare", {"r"});
  ValueAndGradient found = reverse(tree, "chi2", {.threads = 1});
  EXPECT_EQ(found.value->value.real()[0], 5 * 4);
  EXPECT_EQ(found.gradient.of(tree.built->find("p"))[0], 5 * 2 * 2);
}

TEST(Reverse, MissingDataAreLeftOutAndFailuresReported) {
  TestForest tree;
  const StateArray scalar{{0}, NumberType::real, {}};
  tree.parm("p", 2.0).node("none", "TestMissing", {}, {{"dims", scalar}}).node("m", "Multiply", {"p", "none"});
  tree.node("failing", "TestFailing", {}, {{"dims", scalar}}).node("f", "Multiply", {"p", "failing"});
  tree.node("some", "ChiSquare", {"m", "p"}).node("nothing", "ChiSquare", {"m"}).node("bad", "ChiSquare", {"p", "f"});
  ValueAndGradient some = reverse(tree, "some", {.threads = 1});
  expect_ok(some.value);
  EXPECT_EQ(some.gradient.of(tree.built->find("p"))[0], 2 * 2);  // once, as it varies along no axis
  EXPECT_EQ(tree.evaluator->value_and_gradient(tree.request, tree.built->find("nothing")).value->status,
            Result::Status::missing);
  const ValueAndGradient bad = tree.evaluator->value_and_gradient(tree.request, tree.built->find("bad"));
  ASSERT_EQ(bad.value->status, Result::Status::failed);
  EXPECT_EQ(bad.value->failures.at(0).node, "failing");
}

TEST(Reverse, RefusesWhatHasNoGradient) {
  TestForest tree;
  tree.parm("p", 2.0).constant("z", complex_array({}, {{1, 2}})).node("complex", "Multiply", {"p", "z"});
  tree.constant("cells", array({2, 3}, {1, 2, 3, 4, 5, 6}), 2).node("varies", "Multiply", {"p", "cells"});
  for (const std::string root : {"complex", "varies"}) {
    try {
      reverse(tree, root, {.threads = 1});
      FAIL() << root;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("one real number"), std::string::npos) << error.what();
    }
  }
}

TEST(Reverse, EachSolutionTileHasItsOwnUnknowns) {
  TestForest tree;
  tree.node("p", "Parm", {},
            {{"value", array({2, 1, 1, 1}, {2, 3})},
             {"time_edges_s", array({3}, {5e9 - 5, 5e9 + 5, 5e9 + 15})},
             {"solvable", true}});
  tree.node("chi2", "ChiSquare", {"p"});
  ValueAndGradient found = reverse(tree, "chi2", {.threads = 1});
  const auto gradient = found.gradient.of(tree.built->find("p"));
  ASSERT_EQ(gradient.size(), 2u);
  EXPECT_EQ(gradient[0], 2 * 2);  // once for each time, as it does not vary along channels
  EXPECT_EQ(gradient[1], 2 * 3);
}

// Stacks of more entries than are written out one by one, with children that all entries share.
TEST(Reverse, LongStacksAreMappedOver) {
  for (const char* shared : {"", "per entry"}) {
    test::TestForest tree;
    std::vector<double> entries, lmn;
    for (int i = 0; i < 20; ++i) {
      entries.push_back(1 + 0.1 * i);
      lmn.insert(lmn.end(), {0.01 * i, 0.005 * i, 0.99});
    }
    tree.parm("p", 1.5).parm("q", 0.3);
    tree.constant("entries", test::array({20}, entries)).constant("lmn0", test::array({20, 3}, lmn));
    tree.constant("uvw0", test::array({3}, {30, -20, 10}));
    tree.node("uvw", "Multiply", {"uvw0", "q"});
    if (*shared != '\0')
      tree.node("lmn", "Multiply", {"lmn0", "p"});
    else
      tree.node("lmn", "Add", {"lmn0"});
    tree.node("phase", "VisPhaseShift", {"lmn", "uvw"}).node("flux", "Multiply", {"entries", "p"});
    tree.node("x", "Multiply", {"phase", "flux", "q"}).node("objective", "ChiSquare", {"x"});
    tree.request.derivatives = true;
    const ResultPtr forward = tree.evaluate("objective", 2);
    ASSERT_TRUE(forward->ok());
    ASSERT_EQ(forward->derivatives.size(), 2u);
    tree.request.derivatives = false;
    ValueAndGradient reverse = tree.evaluator->value_and_gradient(tree.request, tree.built->find("objective"));
    for (const Derivative& derivative : forward->derivatives) {
      const double wanted = derivative.value.real()[0];
      EXPECT_NEAR(reverse.gradient.of(derivative.parameter.parm)[0], wanted, 1e-12 * (1 + std::abs(wanted))) << shared;
    }
  }
}

}  // namespace
}  // namespace rimetree::test
