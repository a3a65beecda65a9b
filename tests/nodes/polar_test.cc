// Polar at phases where cosine and sine are known.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TEST(PolarNode, AtKnownPhases) {
  const auto x = evaluate_class("Polar", {2.0, array({3}, {0.0, 0.5235987755982989, 1.5707963267948966})});
  ASSERT_EQ(x.size(), 3u);
  expect_near(x[0], Complex<double>(2.0, 0.0), kFewRoundings);
  expect_near(x[1], Complex<double>(1.7320508075688772, 1.0), kFewRoundings);
  expect_near(x[2], Complex<double>(0.0, 2.0), kFewRoundings);
}

TEST(PolarNode, RefusesComplexChildren) {
  TestForest forest;
  forest.constant("z", complex_array({}, {{1, 1}})).node("x", "Polar", {"z", "z"});
  const ResultPtr result = forest.evaluate("x");
  ASSERT_EQ(result->status, Result::Status::failed);
  EXPECT_NE(result->failures[0].message.find("must be real"), std::string::npos);
}

TEST(PolarNode, RefusesTensorsOfDifferentDimensions) {
  TestForest forest;
  forest.constant("a", array({2}, {1, 2})).constant("b", array({3}, {1, 2, 3})).node("x", "Polar", {"a", "b"});
  EXPECT_THROW(forest.evaluate("x"), ForestError);
}

}  // namespace
}  // namespace rimetree::test
