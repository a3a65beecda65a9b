// ChiSquare: weighted sums by hand, flags, weights and bad data.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

double value(TestForest& tree, const std::string& name = "x") {
  const ResultPtr result = tree.evaluate(name, 2);
  expect_ok(result);
  EXPECT_EQ(result->value.size(), 1u);
  EXPECT_TRUE(result->flags.empty());
  return result->value.real()[0];
}

TEST(ChiSquareNode, SumsOverChildrenElementsAndCells) {
  TestForest tree;
  tree.constant("a", array({2, 3}, {1, 2, 3, 4, 5, 6}), 2);   // 91
  tree.constant("b", complex_array({2}, {{1, 2}, {0, -3}}));  // 14, once, as it varies along no axis
  EXPECT_EQ(value(tree.node("x", "ChiSquare", {"a", "b"})), 91 + 14);
}

TEST(ChiSquareNode, CountsAResidualOnTheCellsOnWhichItsWeightOrFlagsVary) {
  TestForest tree;
  tree.constant("data", 3.0).constant("model", 1.0).constant("weight", array({1, 3}, {1, 2, 4}), 2);
  tree.node("weighted", "Condeq", {"data", "model", "weight"}).node("x", "ChiSquare", {"weighted"});
  EXPECT_EQ(value(tree, "x"), 7 * 4);
  tree.flagged("flagged", "data", array({1, 2, 1}, {0, 1}));
  tree.node("r", "Condeq", {"flagged", "model"}).node("y", "ChiSquare", {"r"});
  EXPECT_EQ(value(tree, "y"), 4);
}

TEST(ChiSquareNode, TakesTheWeightsOfCondeqs) {
  TestForest tree;
  tree.constant("data", complex_array({2}, {{3, 1}, {0, 2}})).constant("model", complex_array({2}, {{1, 0}, {0, 0}}));
  tree.constant("weight", array({2, 2, 3}, {1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0.5}), 2);
  tree.node("plain", "Condeq", {"data", "model"}).node("five", "Condeq", {"data", "model"}, {{"weight_factor", 5.0}});
  tree.node("both", "Condeq", {"data", "model", "weight"}, {{"weight_factor", 10.0}});
  tree.node("x", "ChiSquare", {"plain"}).node("y", "ChiSquare", {"five"}).node("z", "ChiSquare", {"both"});
  EXPECT_EQ(value(tree, "x"), 5 + 4);
  EXPECT_EQ(value(tree, "y"), 5 * (5 + 4));
  EXPECT_EQ(value(tree, "z"), 10 * (21 * 5 + 0.5 * 4));
}

TEST(ChiSquareNode, LeavesOutFlaggedAndBadData) {
  TestForest tree;
  const double nan = std::nan("");
  tree.constant("data", array({2, 3}, {1, 2, nan, 4, 5, 6}), 2).constant("zero", 0.0);
  tree.constant("weight", array({2, 3}, {1, -1, 1, nan, 0, 1}), 2);
  tree.flagged("flagged", "data", array({1, 2, 3}, {8, 0, 0, 0, 0, 0}));
  tree.node("r", "Condeq", {"flagged", "zero"}).node("x", "ChiSquare", {"r"});
  tree.node("w", "Condeq", {"data", "zero", "weight"}).node("y", "ChiSquare", {"w"});
  EXPECT_EQ(value(tree, "x"), 4 + 16 + 25 + 36);  // without the first and the one that is no number
  EXPECT_TRUE(tree.evaluator->warnings().list().empty());
  EXPECT_EQ(value(tree, "y"), 1 + 36);
  ASSERT_EQ(tree.evaluator->warnings().list().size(), 1u);
  EXPECT_NE(tree.evaluator->warnings().list()[0].find("negative or not a number"), std::string::npos);
}

TEST(ChiSquareNode, AModelThatIsNoNumberIsNoGoodFit) {
  TestForest tree;
  tree.constant("data", 1.0).constant("negative", -1.0).node("model", "Sqrt", {"negative"});
  tree.node("r", "Condeq", {"data", "model"}).node("x", "ChiSquare", {"r"});
  EXPECT_TRUE(std::isnan(value(tree)));
}

TEST(ChiSquareNode, SumsOfManyNumbersAreNotRoundedAway) {
  TestForest tree;
  tree.constant("large", 1e8).constant("small", 1.0);
  // 6e16 leaves no room for the ones next to it, unless what is lost is carried along.
  std::vector<std::string> residuals(6, "large");
  residuals.insert(residuals.end(), 12, "small");
  EXPECT_EQ(value(tree.node("x", "ChiSquare", residuals)), 6e16 + 12);
}

}  // namespace
}  // namespace rimetree::test
