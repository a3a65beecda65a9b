// Pow against hand numbers.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

// A few roundings of numbers of order 1.
constexpr double kTolerance = 8e-16;

TEST(PowNode, OfNumbers) {
  const auto x = evaluate_class("Pow", {array({2}, {2.0, 4.0}), array({2}, {10.0, -0.5})});
  ASSERT_EQ(x.size(), 2u);
  expect_near(x[0], 1024.0, kTolerance);
  expect_near(x[1], 0.5, kTolerance);
}

TEST(PowNode, OfComplexBases) {
  const auto x = evaluate_class("Pow", {complex_array({}, {{0.0, 1.0}}), 2.0});
  ASSERT_EQ(x.size(), 1u);
  expect_near(x[0], Complex<double>(-1.0, 0.0), kTolerance);
}

TEST(PowNode, OfComplexExponents) {
  const auto x = evaluate_class("Pow", {2.718281828459045, complex_array({}, {{0.0, 1.0}})});
  ASSERT_EQ(x.size(), 1u);
  expect_near(x[0], Complex<double>(0.5403023058681398, 0.8414709848078965), kTolerance);
}

TEST(PowNode, RefusesTensorsOfDifferentDimensions) {
  TestForest forest;
  forest.constant("a", array({2}, {1, 2})).constant("b", array({3}, {1, 2, 3})).node("x", "Pow", {"a", "b"});
  EXPECT_THROW(forest.evaluate("x"), ForestError);
}

}  // namespace
}  // namespace rimetree::test
