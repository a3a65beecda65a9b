// Abs against hand numbers (3-4-5 triangle); its derivative at 0.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TEST(AbsNode, GivesModuli) {
  const auto x = evaluate_class("Abs", {complex_array({2}, {{3.0, 4.0}, {-2.0, 0.0}})});
  ASSERT_EQ(x.size(), 2u);
  expect_near(x[0], 5.0, kFewRoundings);
  expect_near(x[1], 2.0, kFewRoundings);
}

TEST(AbsNode, GivesAbsoluteValues) {
  const auto x = evaluate_class("Abs", {array({2}, {-1.5, 1.5})});
  ASSERT_EQ(x.size(), 2u);
  expect_near(x[0], 1.5, kFewRoundings);
  expect_near(x[1], 1.5, kFewRoundings);
}

TEST(AbsNode, IsRealWhateverTheChild) {
  TestForest forest;
  forest.constant("z", complex_array({}, {{1, 1}})).node("x", "Abs", {"z"});
  EXPECT_FALSE(forest.evaluate("x")->value.is_complex());
}

}  // namespace
}  // namespace rimetree::test
