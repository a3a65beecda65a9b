// Cos at angles where it is known, and of i (cosh 1 = 1.5430...).
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

// A few roundings of numbers of order 1.
constexpr double kTolerance = 8e-16;

TEST(CosNode, AtKnownAngles) {
  const auto x = evaluate_class("Cos", {array({3}, {0.0, 1.0471975511965979, 3.141592653589793})});
  ASSERT_EQ(x.size(), 3u);
  expect_near(x[0], 1.0, kTolerance);
  expect_near(x[1], 0.5, kTolerance);
  expect_near(x[2], -1.0, kTolerance);
}

TEST(CosNode, OfI) {
  const auto x = evaluate_class("Cos", {complex_array({}, {{0.0, 1.0}})});
  ASSERT_EQ(x.size(), 1u);
  expect_near(x[0], Complex<double>(1.5430806348152437, 0.0), kTolerance);
}

}  // namespace
}  // namespace rimetree::test
