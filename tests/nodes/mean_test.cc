// Mean: hand numbers over every choice of axes, with flags, constants, tensors and several children.
#include "tests/support/reductions.h"

namespace rimetree::test {
namespace {

TEST(MeanNode, ReducesAllAxesByDefault) {
  TestForest forest;
  const ResultPtr x = forest.constant("a", kTable, 2).node("x", "Mean", {"a"}).evaluate("x");
  EXPECT_EQ(x->value.cells_per_element(), 1u);
  EXPECT_DOUBLE_EQ(value_at(x->value, 0).re, 3.5);
}

TEST(MeanNode, ReducesTheAxesAskedFor) {
  TestForest forest;
  forest.constant("a", kTable, 2);
  forest.node("time", "Mean", {"a"}, {{"reduction_axes", Axes{"time"}}});
  forest.node("freq", "Mean", {"a"}, {{"reduction_axes", Axes{"freq"}}});
  forest.node("none", "Mean", {"a"}, {{"reduction_axes", Axes{}}});
  const ResultPtr over_time = forest.evaluate("time"), over_freq = forest.evaluate("freq");
  const double time[] = {2.5, 3.5, 4.5}, freq[] = {2, 5};
  for (int f = 0; f < 3; ++f) EXPECT_DOUBLE_EQ(value_at(over_time->value, 0, 0, f).re, time[f]);
  for (int t = 0; t < 2; ++t) EXPECT_DOUBLE_EQ(value_at(over_freq->value, 0, t, 0).re, freq[t]);
  EXPECT_EQ(over_time->value.cells()[Axis::time], 1);
  EXPECT_EQ(over_freq->value.cells()[Axis::frequency], 1);
  EXPECT_DOUBLE_EQ(value_at(forest.evaluate("none")->value, 0, 1, 1).re, 5);
}

TEST(MeanNode, LeavesOutFlaggedCells) {
  TestForest forest;
  forest.constant("a", kTable, 2).flagged("f", "a", array({1, 2, 3}, {0, 1, 0, 2, 0, 0})).node("x", "Mean", {"f"});
  const ResultPtr x = forest.evaluate("x");
  EXPECT_DOUBLE_EQ(value_at(x->value, 0).re, 3.75);
  EXPECT_EQ(flag_at(x->flags, 0), 0);
}

TEST(MeanNode, IsFlaggedWhereNothingIsLeft) {
  TestForest forest;
  forest.constant("a", kTable, 2).flagged("f", "a", array({1, 2, 3}, {1, 2, 4, 0, 0, 1}));
  const ResultPtr x = forest.node("x", "Mean", {"f"}, {{"reduction_axes", Axes{"freq"}}}).evaluate("x");
  EXPECT_EQ(flag_at(x->flags, 0, 0), 7);
  EXPECT_EQ(flag_at(x->flags, 0, 1), 0);
  EXPECT_EQ(value_at(x->value, 0, 0).re, 0);
}

TEST(MeanNode, ReducesADimensionOfTheTensor) {
  TestForest forest;
  forest.constant("a", array({2, 2}, {2, 7, 3, 5}))
      .node("x", "Mean", {"a"}, {{"reduction_axes", Axes{}}, {"tensor_axis", std::int64_t{0}}});
  const ResultPtr x = forest.evaluate("x");
  ASSERT_TRUE((x->value.dims() == TensorShape{2}));
  EXPECT_DOUBLE_EQ(value_at(x->value, 0).re, 2.5);
  EXPECT_DOUBLE_EQ(value_at(x->value, 1).re, 6);
}

TEST(MeanNode, TakesSeveralChildrenTogether) {
  TestForest forest;
  forest.constant("a", kTable, 2).constant("b", complex_array({}, {{0, 1}})).node("x", "Mean", {"a", "b"});
  // The constant b counts once for each of the six cells.
  expect_near(value_at(forest.evaluate("x")->value, 0), {1.75, 0.5}, 1e-15);
}

}  // namespace
}  // namespace rimetree::test
