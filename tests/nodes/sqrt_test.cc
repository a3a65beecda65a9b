// Sqrt against hand numbers.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TEST(SqrtNode, TakesRoots) {
  const auto x = evaluate_class("Sqrt", {array({2}, {2.25, 0.0})});
  ASSERT_EQ(x.size(), 2u);
  expect_near(x[0], 1.5, kFewRoundings);
  expect_near(x[1], 0.0, kFewRoundings);
}

TEST(SqrtNode, TakesPrincipalRoots) {
  const auto x = evaluate_class("Sqrt", {complex_array({3}, {{-4.0, 0.0}, {-3.0, 4.0}, {-3.0, -4.0}})});
  ASSERT_EQ(x.size(), 3u);
  expect_near(x[0], Complex<double>(0.0, 2.0), kFewRoundings);
  expect_near(x[1], Complex<double>(1.0, 2.0), kFewRoundings);
  expect_near(x[2], Complex<double>(1.0, -2.0), kFewRoundings);
}

TEST(SqrtNode, OfNegativeNumbersIsNotANumber) { EXPECT_TRUE(std::isnan(evaluate_class("Sqrt", {-1.0}).at(0).re)); }

}  // namespace
}  // namespace rimetree::test
