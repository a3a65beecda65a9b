// Negate against hand numbers.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

// A few roundings of numbers of order 1.
constexpr double kTolerance = 8e-16;

TEST(NegateNode, ChangesSigns) {
  const auto x = evaluate_class("Negate", {complex_array({2}, {{1.5, 0.0}, {-2.0, 1.0}})});
  ASSERT_EQ(x.size(), 2u);
  expect_near(x[0], Complex<double>(-1.5, 0.0), kTolerance);
  expect_near(x[1], Complex<double>(2.0, -1.0), kTolerance);
}

}  // namespace
}  // namespace rimetree::test
