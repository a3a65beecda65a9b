// Pow against hand numbers.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TEST(PowNode, OfNumbers) {
  const auto x = evaluate_class("Pow", {array({2}, {2.0, 4.0}), array({2}, {10.0, -0.5})});
  ASSERT_EQ(x.size(), 2u);
  expect_near(x[0], 1024.0, kFewRoundings);
  expect_near(x[1], 0.5, kFewRoundings);
}

TEST(PowNode, OfComplexBases) {
  const auto x = evaluate_class("Pow", {complex_array({}, {{0.0, 1.0}}), 2.0});
  ASSERT_EQ(x.size(), 1u);
  expect_near(x[0], Complex<double>(-1.0, 0.0), kFewRoundings);
}

TEST(PowNode, OfComplexExponents) {
  const auto x = evaluate_class("Pow", {2.718281828459045, complex_array({}, {{0.0, 1.0}})});
  ASSERT_EQ(x.size(), 1u);
  expect_near(x[0], Complex<double>(0.5403023058681398, 0.8414709848078965), kFewRoundings);
}

TEST(PowNode, RefusesTensorsOfDifferentDimensions) {
  TestForest forest;
  forest.constant("a", array({2}, {1, 2})).constant("b", array({3}, {1, 2, 3})).node("x", "Pow", {"a", "b"});
  EXPECT_THROW(forest.evaluate("x"), ForestError);
}

}  // namespace
}  // namespace rimetree::test
