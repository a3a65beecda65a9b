// Imag against hand numbers.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TEST(ImagNode, OfComplex) {
  const auto x = evaluate_class("Imag", {complex_array({1}, {{1.5, -2.0}})});
  ASSERT_EQ(x.size(), 1u);
  expect_near(x[0], -2.0, kFewRoundings);
}

TEST(ImagNode, OfReal) {
  const auto x = evaluate_class("Imag", {array({2}, {-3.0, 2.0})});
  ASSERT_EQ(x.size(), 2u);
  expect_near(x[0], 0.0, kFewRoundings);
  expect_near(x[1], 0.0, kFewRoundings);
}

TEST(ImagNode, IsRealWhateverTheChild) {
  TestForest forest;
  forest.constant("z", complex_array({}, {{1, 1}})).node("x", "Imag", {"z"});
  EXPECT_FALSE(forest.evaluate("x")->value.is_complex());
}

}  // namespace
}  // namespace rimetree::test
