// Sqr against hand numbers.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TEST(SqrNode, SquaresNumbers) {
  const auto x = evaluate_class("Sqr", {array({2}, {-3.0, 0.5})});
  ASSERT_EQ(x.size(), 2u);
  expect_near(x[0], 9.0, kFewRoundings);
  expect_near(x[1], 0.25, kFewRoundings);
}

TEST(SqrNode, SquaresWithoutConjugating) {
  const auto x = evaluate_class("Sqr", {complex_array({}, {{1.0, 2.0}})});
  ASSERT_EQ(x.size(), 1u);
  expect_near(x[0], Complex<double>(-3.0, 4.0), kFewRoundings);
}

}  // namespace
}  // namespace rimetree::test
