// Acos where it is known.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TEST(AcosNode, OfKnownCosines) {
  const auto x = evaluate_class("Acos", {array({4}, {1.0, 0.5, 0.0, -1.0})});
  ASSERT_EQ(x.size(), 4u);
  expect_near(x[0], 0.0, kFewRoundings);
  expect_near(x[1], 1.0471975511965979, kFewRoundings);
  expect_near(x[2], 1.5707963267948966, kFewRoundings);
  expect_near(x[3], 3.141592653589793, kFewRoundings);
}

TEST(AcosNode, RefusesComplexChildren) {
  TestForest forest;
  forest.constant("z", complex_array({}, {{1, 1}})).node("x", "Acos", {"z"});
  const ResultPtr result = forest.evaluate("x");
  ASSERT_EQ(result->status, Result::Status::failed);
  EXPECT_NE(result->failures[0].message.find("must be real"), std::string::npos);
}

}  // namespace
}  // namespace rimetree::test
