// Conj against hand numbers.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TEST(ConjNode, OfComplex) {
  const auto x = evaluate_class("Conj", {complex_array({2}, {{1.5, -2.0}, {0.0, 1.0}})});
  ASSERT_EQ(x.size(), 2u);
  expect_near(x[0], Complex<double>(1.5, 2.0), kFewRoundings);
  expect_near(x[1], Complex<double>(-0.0, -1.0), kFewRoundings);
}

TEST(ConjNode, OfReal) {
  const auto x = evaluate_class("Conj", {array({2}, {-3.0, 2.0})});
  ASSERT_EQ(x.size(), 2u);
  expect_near(x[0], -3.0, kFewRoundings);
  expect_near(x[1], 2.0, kFewRoundings);
}

}  // namespace
}  // namespace rimetree::test
