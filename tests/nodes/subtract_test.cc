// Subtract against hand numbers.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

// A few roundings of numbers of order 1.
constexpr double kTolerance = 8e-16;

TEST(SubtractNode, SubtractsNumbers) {
  const auto x = evaluate_class("Subtract", {array({2}, {5.0, 2.0}), 3.0});
  ASSERT_EQ(x.size(), 2u);
  expect_near(x[0], 2.0, kTolerance);
  expect_near(x[1], -1.0, kTolerance);
}

TEST(SubtractNode, SubtractsComplexFromReal) {
  const auto x = evaluate_class("Subtract", {1.0, complex_array({}, {{0.0, 2.0}})});
  ASSERT_EQ(x.size(), 1u);
  expect_near(x[0], Complex<double>(1.0, -2.0), kTolerance);
}

TEST(SubtractNode, RefusesTensorsOfDifferentDimensions) {
  TestForest forest;
  forest.constant("a", array({2}, {1, 2})).constant("b", array({3}, {1, 2, 3})).node("x", "Subtract", {"a", "b"});
  EXPECT_THROW(forest.evaluate("x"), ForestError);
}

}  // namespace
}  // namespace rimetree::test
