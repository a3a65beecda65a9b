// Subtract against hand numbers.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TEST(SubtractNode, SubtractsNumbers) {
  const auto x = evaluate_class("Subtract", {array({2}, {5.0, 2.0}), 3.0});
  ASSERT_EQ(x.size(), 2u);
  expect_near(x[0], 2.0, kFewRoundings);
  expect_near(x[1], -1.0, kFewRoundings);
}

TEST(SubtractNode, SubtractsComplexFromReal) {
  const auto x = evaluate_class("Subtract", {1.0, complex_array({}, {{0.0, 2.0}})});
  ASSERT_EQ(x.size(), 1u);
  expect_near(x[0], Complex<double>(1.0, -2.0), kFewRoundings);
}

TEST(SubtractNode, RefusesTensorsOfDifferentDimensions) {
  TestForest forest;
  forest.constant("a", array({2}, {1, 2})).constant("b", array({3}, {1, 2, 3})).node("x", "Subtract", {"a", "b"});
  EXPECT_THROW(forest.evaluate("x"), ForestError);
}

}  // namespace
}  // namespace rimetree::test
