// ToComplex against hand numbers.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TEST(ToComplexNode, PutsPartsTogether) {
  const auto x = evaluate_class("ToComplex", {array({2}, {1.0, 2.0}), -3.0});
  ASSERT_EQ(x.size(), 2u);
  expect_near(x[0], Complex<double>(1.0, -3.0), kFewRoundings);
  expect_near(x[1], Complex<double>(2.0, -3.0), kFewRoundings);
}

TEST(ToComplexNode, RefusesComplexChildren) {
  TestForest forest;
  forest.constant("z", complex_array({}, {{1, 1}})).node("x", "ToComplex", {"z", "z"});
  const ResultPtr result = forest.evaluate("x");
  ASSERT_EQ(result->status, Result::Status::failed);
  EXPECT_NE(result->failures[0].message.find("must be real"), std::string::npos);
}

TEST(ToComplexNode, RefusesTensorsOfDifferentDimensions) {
  TestForest forest;
  forest.constant("a", array({2}, {1, 2})).constant("b", array({3}, {1, 2, 3})).node("x", "ToComplex", {"a", "b"});
  EXPECT_THROW(forest.evaluate("x"), ForestError);
}

}  // namespace
}  // namespace rimetree::test
