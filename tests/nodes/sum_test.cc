// Sum: hand numbers over every choice of axes, with flags, constants, tensors and several children.
#include "tests/support/reductions.h"

namespace rimetree::test {
namespace {

TEST(SumNode, ReducesAllAxesByDefault) {
  TestForest forest;
  const ResultPtr x = forest.constant("a", kTable, 2).node("x", "Sum", {"a"}).evaluate("x");
  EXPECT_EQ(x->value.cells_per_element(), 1u);
  EXPECT_DOUBLE_EQ(value_at(x->value, 0).re, 21);
}

TEST(SumNode, ReducesTheAxesAskedFor) {
  TestForest forest;
  forest.constant("a", kTable, 2);
  forest.node("time", "Sum", {"a"}, {{"reduction_axes", Axes{"time"}}});
  forest.node("freq", "Sum", {"a"}, {{"reduction_axes", Axes{"freq"}}});
  forest.node("none", "Sum", {"a"}, {{"reduction_axes", Axes{}}});
  const ResultPtr over_time = forest.evaluate("time"), over_freq = forest.evaluate("freq");
  const double time[] = {5, 7, 9}, freq[] = {6, 15};
  for (int f = 0; f < 3; ++f) EXPECT_DOUBLE_EQ(value_at(over_time->value, 0, 0, f).re, time[f]);
  for (int t = 0; t < 2; ++t) EXPECT_DOUBLE_EQ(value_at(over_freq->value, 0, t, 0).re, freq[t]);
  EXPECT_EQ(over_time->value.cells()[Axis::time], 1);
  EXPECT_EQ(over_freq->value.cells()[Axis::frequency], 1);
  EXPECT_DOUBLE_EQ(value_at(forest.evaluate("none")->value, 0, 1, 1).re, 5);
}

TEST(SumNode, LeavesOutFlaggedCells) {
  TestForest forest;
  forest.constant("a", kTable, 2).flagged("f", "a", array({1, 2, 3}, {0, 1, 0, 2, 0, 0})).node("x", "Sum", {"f"});
  const ResultPtr x = forest.evaluate("x");
  EXPECT_DOUBLE_EQ(value_at(x->value, 0).re, 15);
  EXPECT_EQ(flag_at(x->flags, 0), 0);
}

TEST(SumNode, IsFlaggedWhereNothingIsLeft) {
  TestForest forest;
  forest.constant("a", kTable, 2).flagged("f", "a", array({1, 2, 3}, {1, 2, 4, 0, 0, 1}));
  const ResultPtr x = forest.node("x", "Sum", {"f"}, {{"reduction_axes", Axes{"freq"}}}).evaluate("x");
  EXPECT_EQ(flag_at(x->flags, 0, 0), 7);
  EXPECT_EQ(flag_at(x->flags, 0, 1), 0);
  EXPECT_EQ(value_at(x->value, 0, 0).re, 0);
}

TEST(SumNode, ReducesADimensionOfTheTensor) {
  TestForest forest;
  forest.constant("a", array({2, 2}, {2, 7, 3, 5}))
      .node("x", "Sum", {"a"}, {{"reduction_axes", Axes{}}, {"tensor_axis", std::int64_t{0}}});
  const ResultPtr x = forest.evaluate("x");
  ASSERT_TRUE((x->value.dims() == TensorShape{2}));
  EXPECT_DOUBLE_EQ(value_at(x->value, 0).re, 5);
  EXPECT_DOUBLE_EQ(value_at(x->value, 1).re, 12);
}

TEST(SumNode, TakesSeveralChildrenTogether) {
  TestForest forest;
  forest.constant("a", kTable, 2).constant("b", complex_array({}, {{0, 1}})).node("x", "Sum", {"a", "b"});
  // The constant b counts once for each of the six cells.
  expect_near(value_at(forest.evaluate("x")->value, 0), {21, 6}, 1e-15);
}

}  // namespace
}  // namespace rimetree::test
