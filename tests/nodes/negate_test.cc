// Negate against hand numbers.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TEST(NegateNode, ChangesSigns) {
  const auto x = evaluate_class("Negate", {complex_array({2}, {{1.5, 0.0}, {-2.0, 1.0}})});
  ASSERT_EQ(x.size(), 2u);
  expect_near(x[0], Complex<double>(-1.5, 0.0), kFewRoundings);
  expect_near(x[1], Complex<double>(2.0, -1.0), kFewRoundings);
}

}  // namespace
}  // namespace rimetree::test
