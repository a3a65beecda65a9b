// Divide against hand numbers.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TEST(DivideNode, DividesNumbers) {
  const auto x = evaluate_class("Divide", {array({2}, {6.0, 1.0}), 4.0});
  ASSERT_EQ(x.size(), 2u);
  expect_near(x[0], 1.5, kFewRoundings);
  expect_near(x[1], 0.25, kFewRoundings);
}

TEST(DivideNode, DividesComplex) {
  const auto x = evaluate_class("Divide", {complex_array({}, {{5.0, 5.0}}), complex_array({}, {{3.0, -1.0}})});
  ASSERT_EQ(x.size(), 1u);
  expect_near(x[0], Complex<double>(1.0, 2.0), kFewRoundings);
}

TEST(DivideNode, RefusesTensorsOfDifferentDimensions) {
  TestForest forest;
  forest.constant("a", array({2}, {1, 2})).constant("b", array({3}, {1, 2, 3})).node("x", "Divide", {"a", "b"});
  EXPECT_THROW(forest.evaluate("x"), ForestError);
}

TEST(DivideNode, GivesInfinityForDivisionByZero) {
  EXPECT_TRUE(std::isinf(evaluate_class("Divide", {1.0, 0.0}).at(0).re));
}

}  // namespace
}  // namespace rimetree::test
