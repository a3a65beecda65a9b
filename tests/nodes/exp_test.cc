// Exp against published digits of e and Euler's identity.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TEST(ExpNode, OfNumbers) {
  const auto x = evaluate_class("Exp", {array({2}, {0.0, 1.0})});
  ASSERT_EQ(x.size(), 2u);
  expect_near(x[0], 1.0, kFewRoundings);
  expect_near(x[1], 2.718281828459045, kFewRoundings);
}

TEST(ExpNode, OfImaginaryNumbers) {
  const auto x = evaluate_class("Exp", {complex_array({}, {{0, 3.141592653589793}})});
  ASSERT_EQ(x.size(), 1u);
  expect_near(x[0], Complex<double>(-1.0, 0.0), kFewRoundings);
}

}  // namespace
}  // namespace rimetree::test
