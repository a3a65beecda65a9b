// Norm: hand numbers (3-4-12-13), and its derivative where it is 0.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TEST(NormNode, IsTheRootOfTheSumOfSquares) {
  const auto x = evaluate_class("Norm", {complex_array({2}, {{3, 4}, {0, 12}})});
  ASSERT_EQ(x.size(), 1u);
  expect_near(x[0], 13, 4e-15);
  expect_near(evaluate_class("Norm", {array({2, 2}, {1, 1, -1, 1})}).at(0), 2, 1e-15);
}

TEST(NormNode, DoesNotOverflow) {
  EXPECT_DOUBLE_EQ(evaluate_class("Norm", {array({2}, {3e300, 4e300})}).at(0).re, 5e300);
}

TEST(NormNode, HasNoSlopeAtZero) {
  TestForest forest;
  forest.request.derivatives = true;
  const ResultPtr x = forest.parm("p", 0).node("x", "Norm", {"p"}).evaluate("x");
  EXPECT_EQ(value_at(*x->derivative({0, 0}), 0).re, 0);
}

}  // namespace
}  // namespace rimetree::test
