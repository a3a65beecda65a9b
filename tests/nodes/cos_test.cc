// Cos at angles where it is known, and of i (cosh 1 = 1.5430...).
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TEST(CosNode, AtKnownAngles) {
  const auto x = evaluate_class("Cos", {array({3}, {0.0, 1.0471975511965979, 3.141592653589793})});
  ASSERT_EQ(x.size(), 3u);
  expect_near(x[0], 1.0, kFewRoundings);
  expect_near(x[1], 0.5, kFewRoundings);
  expect_near(x[2], -1.0, kFewRoundings);
}

TEST(CosNode, OfI) {
  const auto x = evaluate_class("Cos", {complex_array({}, {{0.0, 1.0}})});
  ASSERT_EQ(x.size(), 1u);
  expect_near(x[0], Complex<double>(1.5430806348152437, 0.0), kFewRoundings);
}

}  // namespace
}  // namespace rimetree::test
