// Exp against published digits of e and Euler's identity.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

// A few roundings of numbers of order 1.
constexpr double kTolerance = 8e-16;

TEST(ExpNode, OfNumbers) {
  const auto x = evaluate_class("Exp", {array({2}, {0.0, 1.0})});
  ASSERT_EQ(x.size(), 2u);
  expect_near(x[0], 1.0, kTolerance);
  expect_near(x[1], 2.718281828459045, kTolerance);
}

TEST(ExpNode, OfImaginaryNumbers) {
  const auto x = evaluate_class("Exp", {complex_array({}, {{0, 3.141592653589793}})});
  ASSERT_EQ(x.size(), 1u);
  expect_near(x[0], Complex<double>(-1.0, 0.0), kTolerance);
}

}  // namespace
}  // namespace rimetree::test
