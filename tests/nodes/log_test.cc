// Log against published digits of ln 2 and ln 10.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TEST(LogNode, OfNumbers) {
  const auto x = evaluate_class("Log", {array({3}, {2.0, 10.0, 1.0})});
  ASSERT_EQ(x.size(), 3u);
  expect_near(x[0], 0.6931471805599453, kFewRoundings);
  expect_near(x[1], 2.302585092994046, kFewRoundings);
  expect_near(x[2], 0.0, kFewRoundings);
}

TEST(LogNode, OfComplexNumbers) {
  const auto x = evaluate_class("Log", {complex_array({}, {{-1.0, 0.0}})});
  ASSERT_EQ(x.size(), 1u);
  expect_near(x[0], Complex<double>(0.0, 3.141592653589793), kFewRoundings);
}

}  // namespace
}  // namespace rimetree::test
