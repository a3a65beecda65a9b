// Log against published digits of ln 2 and ln 10.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

// A few roundings of numbers of order 1.
constexpr double kTolerance = 8e-16;

TEST(LogNode, OfNumbers) {
  const auto x = evaluate_class("Log", {array({3}, {2.0, 10.0, 1.0})});
  ASSERT_EQ(x.size(), 3u);
  expect_near(x[0], 0.6931471805599453, kTolerance);
  expect_near(x[1], 2.302585092994046, kTolerance);
  expect_near(x[2], 0.0, kTolerance);
}

TEST(LogNode, OfComplexNumbers) {
  const auto x = evaluate_class("Log", {complex_array({}, {{-1.0, 0.0}})});
  ASSERT_EQ(x.size(), 1u);
  expect_near(x[0], Complex<double>(0.0, 3.141592653589793), kTolerance);
}

}  // namespace
}  // namespace rimetree::test
