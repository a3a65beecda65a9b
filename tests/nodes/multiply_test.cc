// Multiply against hand numbers; a missing factor makes the product missing.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TEST(MultiplyNode, MultipliesAll) {
  const auto x = evaluate_class("Multiply", {array({2}, {2.0, 3.0}), 4.0, array({2}, {0.5, -1.0})});
  ASSERT_EQ(x.size(), 2u);
  expect_near(x[0], 4.0, kFewRoundings);
  expect_near(x[1], -12.0, kFewRoundings);
}

TEST(MultiplyNode, MultipliesComplex) {
  const auto x = evaluate_class("Multiply", {complex_array({}, {{1.0, 2.0}}), complex_array({}, {{3.0, -1.0}})});
  ASSERT_EQ(x.size(), 1u);
  expect_near(x[0], Complex<double>(5.0, 5.0), kFewRoundings);
}

TEST(MultiplyNode, RefusesTensorsOfDifferentDimensions) {
  TestForest forest;
  forest.constant("a", array({2}, {1, 2})).constant("b", array({3}, {1, 2, 3})).node("x", "Multiply", {"a", "b"});
  EXPECT_THROW(forest.evaluate("x"), ForestError);
}

TEST(MultiplyNode, IsMissingWithoutAFactor) {
  TestForest forest;
  forest.constant("a", 2.0)
      .node("none", "TestMissing", {}, {{"dims", array({0}, {})}})
      .node("x", "Multiply", {"a", "none"});
  EXPECT_EQ(forest.evaluate("x")->status, Result::Status::missing);
}

}  // namespace
}  // namespace rimetree::test
