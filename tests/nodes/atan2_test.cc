// Atan2 in all quadrants.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TEST(Atan2Node, InAllQuadrants) {
  const auto x = evaluate_class("Atan2", {array({4}, {1.0, 1.0, -1.0, -1.0}), array({4}, {1.0, -1.0, -1.0, 1.0})});
  ASSERT_EQ(x.size(), 4u);
  expect_near(x[0], 0.7853981633974483, kFewRoundings);
  expect_near(x[1], 2.356194490192345, kFewRoundings);
  expect_near(x[2], -2.356194490192345, kFewRoundings);
  expect_near(x[3], -0.7853981633974483, kFewRoundings);
}

TEST(Atan2Node, RefusesComplexChildren) {
  TestForest forest;
  forest.constant("z", complex_array({}, {{1, 1}})).node("x", "Atan2", {"z", "z"});
  const ResultPtr result = forest.evaluate("x");
  ASSERT_EQ(result->status, Result::Status::failed);
  EXPECT_NE(result->failures[0].message.find("must be real"), std::string::npos);
}

TEST(Atan2Node, RefusesTensorsOfDifferentDimensions) {
  TestForest forest;
  forest.constant("a", array({2}, {1, 2})).constant("b", array({3}, {1, 2, 3})).node("x", "Atan2", {"a", "b"});
  EXPECT_THROW(forest.evaluate("x"), ForestError);
}

}  // namespace
}  // namespace rimetree::test
