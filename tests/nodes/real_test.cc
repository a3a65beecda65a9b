// Real against hand numbers.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TEST(RealNode, OfComplex) {
  const auto x = evaluate_class("Real", {complex_array({1}, {{1.5, -2.0}})});
  ASSERT_EQ(x.size(), 1u);
  expect_near(x[0], 1.5, kFewRoundings);
}

TEST(RealNode, OfReal) {
  const auto x = evaluate_class("Real", {array({2}, {-3.0, 2.0})});
  ASSERT_EQ(x.size(), 2u);
  expect_near(x[0], -3.0, kFewRoundings);
  expect_near(x[1], 2.0, kFewRoundings);
}

TEST(RealNode, IsRealWhateverTheChild) {
  TestForest forest;
  forest.constant("z", complex_array({}, {{1, 1}})).node("x", "Real", {"z"});
  EXPECT_FALSE(forest.evaluate("x")->value.is_complex());
}

}  // namespace
}  // namespace rimetree::test
