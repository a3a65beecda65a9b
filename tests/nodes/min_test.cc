// Min: hand numbers over every choice of axes, with flags, constants, tensors and several children.
#include "tests/support/reductions.h"

namespace rimetree::test {
namespace {

TEST(MinNode, ReducesAllAxesByDefault) {
  TestForest forest;
  const ResultPtr x = forest.constant("a", kTable, 2).node("x", "Min", {"a"}).evaluate("x");
  EXPECT_EQ(x->value.cells_per_element(), 1u);
  EXPECT_DOUBLE_EQ(value_at(x->value, 0).re, 1);
}

TEST(MinNode, ReducesTheAxesAskedFor) {
  TestForest forest;
  forest.constant("a", kTable, 2);
  forest.node("time", "Min", {"a"}, {{"reduction_axes", Axes{"time"}}});
  forest.node("freq", "Min", {"a"}, {{"reduction_axes", Axes{"freq"}}});
  forest.node("none", "Min", {"a"}, {{"reduction_axes", Axes{}}});
  const ResultPtr over_time = forest.evaluate("time"), over_freq = forest.evaluate("freq");
  const double time[] = {1, 2, 3}, freq[] = {1, 4};
  for (int f = 0; f < 3; ++f) EXPECT_DOUBLE_EQ(value_at(over_time->value, 0, 0, f).re, time[f]);
  for (int t = 0; t < 2; ++t) EXPECT_DOUBLE_EQ(value_at(over_freq->value, 0, t, 0).re, freq[t]);
  EXPECT_EQ(over_time->value.cells()[Axis::time], 1);
  EXPECT_EQ(over_freq->value.cells()[Axis::frequency], 1);
  EXPECT_DOUBLE_EQ(value_at(forest.evaluate("none")->value, 0, 1, 1).re, 5);
}

TEST(MinNode, LeavesOutFlaggedCells) {
  TestForest forest;
  forest.constant("a", kTable, 2).flagged("f", "a", array({1, 2, 3}, {1, 0, 0, 0, 0, 0})).node("x", "Min", {"f"});
  const ResultPtr x = forest.evaluate("x");
  EXPECT_DOUBLE_EQ(value_at(x->value, 0).re, 2);
  EXPECT_EQ(flag_at(x->flags, 0), 0);
}

TEST(MinNode, IsFlaggedWhereNothingIsLeft) {
  TestForest forest;
  forest.constant("a", kTable, 2).flagged("f", "a", array({1, 2, 3}, {1, 2, 4, 0, 0, 1}));
  const ResultPtr x = forest.node("x", "Min", {"f"}, {{"reduction_axes", Axes{"freq"}}}).evaluate("x");
  EXPECT_EQ(flag_at(x->flags, 0, 0), 7);
  EXPECT_EQ(flag_at(x->flags, 0, 1), 0);
  EXPECT_EQ(value_at(x->value, 0, 0).re, 0);
}

TEST(MinNode, ReducesADimensionOfTheTensor) {
  TestForest forest;
  forest.constant("a", array({2, 2}, {2, 7, 3, 5}))
      .node("x", "Min", {"a"}, {{"reduction_axes", Axes{}}, {"tensor_axis", std::int64_t{0}}});
  const ResultPtr x = forest.evaluate("x");
  ASSERT_TRUE((x->value.dims() == TensorShape{2}));
  EXPECT_DOUBLE_EQ(value_at(x->value, 0).re, 2);
  EXPECT_DOUBLE_EQ(value_at(x->value, 1).re, 5);
}

TEST(MinNode, OfSeveralChildrenIsTakenCellByCell) {
  TestForest forest;
  forest.constant("a", kTable, 2).constant("b", 3.5).node("x", "Min", {"a", "b"});
  const ResultPtr x = forest.evaluate("x");
  const double expected[] = {1, 2, 3, 3.5, 3.5, 3.5};
  for (int i = 0; i < 6; ++i) EXPECT_DOUBLE_EQ(value_at(x->value, 0, i / 3, i % 3).re, expected[i]);
}

TEST(MinNode, RefusesComplexChildren) {
  TestForest forest;
  forest.constant("z", complex_array({}, {{1, 1}})).node("x", "Min", {"z"});
  EXPECT_EQ(forest.evaluate("x")->status, Result::Status::failed);
}

}  // namespace
}  // namespace rimetree::test
