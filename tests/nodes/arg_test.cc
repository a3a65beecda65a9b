// Arg in all quadrants.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TEST(ArgNode, InAllQuadrants) {
  const auto x = evaluate_class("Arg", {complex_array({4}, {{1.0, 1.0}, {-1.0, 1.0}, {-1.0, -1.0}, {1.0, -1.0}})});
  ASSERT_EQ(x.size(), 4u);
  expect_near(x[0], 0.7853981633974483, kFewRoundings);
  expect_near(x[1], 2.356194490192345, kFewRoundings);
  expect_near(x[2], -2.356194490192345, kFewRoundings);
  expect_near(x[3], -0.7853981633974483, kFewRoundings);
}

TEST(ArgNode, OfRealNumbers) {
  const auto x = evaluate_class("Arg", {array({2}, {2.0, -2.0})});
  ASSERT_EQ(x.size(), 2u);
  expect_near(x[0], 0.0, kFewRoundings);
  expect_near(x[1], 3.141592653589793, kFewRoundings);
}

TEST(ArgNode, IsRealWhateverTheChild) {
  TestForest forest;
  forest.constant("z", complex_array({}, {{1, 1}})).node("x", "Arg", {"z"});
  EXPECT_FALSE(forest.evaluate("x")->value.is_complex());
}

}  // namespace
}  // namespace rimetree::test
