// check_derivatives finds wrong derivatives where they are made, and passes right ones.
#include "runtime/evaluate/derivative_check.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

/// x^2, whose forward derivative is off by one part in 1e6, and whose reverse one by one in 1e3.
class TestWrongSquare final : public Node {
 public:
  using Node::Node;
  static NodeClass info() { return {.name = "TestWrongSquare", .children = {{.label = "x"}}}; }
  TensorShape result_dims(std::span<const TensorShape* const> children) const override { return *children[0]; }

 protected:
  void evaluate(Evaluation& evaluation) const override {
    const double x = evaluation.child(0).value.real()[0];
    const auto scalar = [&](double value) {
      Vells vells = evaluation.make(NumberType::real, CellShape{});
      vells.real()[0] = value;
      return vells;
    };
    evaluation.set(scalar(x * x));
    for (const Derivative& derivative : evaluation.child(0).derivatives)
      evaluation.add(derivative.parameter, scalar(2.000002 * x * derivative.value.real()[0]));
  }
  void pull_back(PullBack& pull) const override {
    pull.add(0, 0, 2.002 * pull.inputs.child(0).value.real()[0] * pull.adjoint.real()[0]);
  }
};

/// x twice; the derivative of the first is lost.
class TestLostSlope final : public Node {
 public:
  using Node::Node;
  static NodeClass info() { return {.name = "TestLostSlope", .children = {{.label = "x"}}}; }
  TensorShape result_dims(std::span<const TensorShape* const>) const override { return {2}; }

 protected:
  void evaluate(Evaluation& evaluation) const override {
    const auto both = [&](double first, double second) {
      Vells vells = evaluation.make(NumberType::real, CellShape{});
      vells.real()[0] = first, vells.real()[1] = second;
      return vells;
    };
    const double x = evaluation.child(0).value.real()[0];
    evaluation.set(both(x, x));
    for (const Derivative& derivative : evaluation.child(0).derivatives)
      evaluation.add(derivative.parameter, both(std::nan(""), derivative.value.real()[0]));
  }
  void pull_back(PullBack& pull) const override { pull.add(0, 0, pull.adjoint.real()[1]); }
};

DerivativeCheck check(TestForest& tree, const std::string& root) {
  tree.built = Forest::build(tree.specs(), registry());
  Evaluator evaluator(tree.built, {.threads = 2});
  return check_derivatives(evaluator, tree.request, tree.built->find(root));
}

const NodeCheck& of_node(const DerivativeCheck& check, const std::string& name) {
  return *std::find_if(check.nodes.begin(), check.nodes.end(), [&](const auto& node) { return node.node == name; });
}

TEST(DerivativeCheck, RightDerivativesPassToTheLastDigits) {
  TestForest tree;
  tree.parm("l", 0.02).parm("m", -0.03).parm("flux", 2.0).parm("spread", 1e-4);
  tree.constant("n", 0.9).constant("zero", 0.0).constant("angle", 0.3);
  tree.node("lmn", "Composer", {"l", "m", "n"}, {{"dims", array({2}, {1, 3})}});
  tree.node("fluxes", "Composer", {"flux"}).constant("uvw", array({3, 2, 1}, {900, -800, 700, 650, -20, 30}), 2);
  tree.node("shape", "Composer", {"spread", "spread", "angle"}, {{"dims", array({2}, {1, 3})}});
  tree.node("V", "PSV", {"lmn", "fluxes", "uvw", "shape"})
      .node("xx", "Selector", {"V"}, {{"index", array({2}, {0, 0})}});
  tree.node("phase", "Arg", {"xx"});
  tree.node("mean", "Mean", {"phase"}).node("chi2", "ChiSquare", {"V", "mean"});
  const DerivativeCheck found = check(tree, "chi2");
  EXPECT_EQ(found.nodes.size(), 8u);
  for (const NodeCheck& node : found.nodes) {
    // Phases of some 1e2 radians in double precision; chi-square itself is checked in double precision.
    EXPECT_LT(node.difference, node.extended ? 2e-13 : 1e-7 + 10 * node.noise) << node.node;
    EXPECT_EQ(node.extended, node.node != "chi2") << node.node;
  }
  ASSERT_EQ(found.unknowns.size(), 4u);
  for (const UnknownCheck& unknown : found.unknowns)
    EXPECT_NEAR(unknown.reverse, unknown.forward, 1e-12 * std::abs(unknown.forward)) << unknown.parm;
}

TEST(DerivativeCheck, FindsWhoIsWrong) {
  registry();
  static const bool added = [] {
    Registry::instance().add({with_factory<TestWrongSquare>(TestWrongSquare::info())}, "wrong");
    return true;
  }();
  EXPECT_TRUE(added);
  TestForest tree;
  tree.parm("p", 1.5).node("before", "Exp", {"p"}).node("wrong", "TestWrongSquare", {"before"});
  tree.node("after", "Sqrt", {"wrong"});
  const DerivativeCheck found = check(tree, "after");
  EXPECT_LT(of_node(found, "before").difference, 1e-15);
  EXPECT_NEAR(of_node(found, "wrong").difference, 1e-6, 1e-9);
  EXPECT_LT(of_node(found, "after").difference, 1e-12);  // what the differences themselves may be wrong by
  ASSERT_EQ(found.unknowns.size(), 1u);
  EXPECT_NEAR(found.unknowns[0].reverse / found.unknowns[0].forward, 1.001 / 1.000001, 1e-12);
}

TEST(DerivativeCheck, WhatIsNoNumberIsTheLargestDifference) {
  registry();
  static const bool added = [] {
    Registry::instance().add({with_factory<TestLostSlope>(TestLostSlope::info())}, "lost");
    return true;
  }();
  EXPECT_TRUE(added);
  TestForest tree;
  tree.parm("p", 1.5).node("lost", "TestLostSlope", {"p"});
  tree.node("second", "Selector", {"lost"}, {{"index", array({1}, {1})}});
  EXPECT_TRUE(std::isnan(of_node(check(tree, "second"), "lost").difference));
}

}  // namespace
}  // namespace rimetree::test
