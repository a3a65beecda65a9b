// Sin at angles where it is known, and of i (sinh 1 = 1.1752...).
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TEST(SinNode, AtKnownAngles) {
  const auto x = evaluate_class("Sin", {array({3}, {0.0, 0.5235987755982989, 1.5707963267948966})});
  ASSERT_EQ(x.size(), 3u);
  expect_near(x[0], 0.0, kFewRoundings);
  expect_near(x[1], 0.5, kFewRoundings);
  expect_near(x[2], 1.0, kFewRoundings);
}

TEST(SinNode, OfI) {
  const auto x = evaluate_class("Sin", {complex_array({}, {{0.0, 1.0}})});
  ASSERT_EQ(x.size(), 1u);
  expect_near(x[0], Complex<double>(0.0, 1.1752011936438014), kFewRoundings);
}

}  // namespace
}  // namespace rimetree::test
