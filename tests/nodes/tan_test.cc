// Tan at angles where it is known, and of i (tanh 1 = 0.7615...).
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TEST(TanNode, AtKnownAngles) {
  const auto x = evaluate_class("Tan", {array({2}, {0.0, 0.7853981633974483})});
  ASSERT_EQ(x.size(), 2u);
  expect_near(x[0], 0.0, kFewRoundings);
  expect_near(x[1], 1.0, kFewRoundings);
}

TEST(TanNode, OfI) {
  const auto x = evaluate_class("Tan", {complex_array({}, {{0.0, 1.0}})});
  ASSERT_EQ(x.size(), 1u);
  expect_near(x[0], Complex<double>(0.0, 0.7615941559557649), kFewRoundings);
}

}  // namespace
}  // namespace rimetree::test
