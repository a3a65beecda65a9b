// MergeFlags: which flags come together, and that the values stay.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TEST(MergeFlagsNode, AddsFlagsElementByElement) {
  TestForest forest;
  forest.constant("a", array({2}, {1, 2})).constant("b", array({2}, {3, 4}));
  forest.flagged("fa", "a", array({2, 1, 1}, {1, 0})).flagged("fb", "b", array({2, 1, 3}, {0, 0, 0, 0, 6, 0}));
  forest.node("x", "MergeFlags", {"fa", "fb"})
      .node("masked", "MergeFlags", {"fa", "fb"}, {{"flag_mask", std::int64_t{2}}});
  const ResultPtr x = forest.evaluate("x"), masked = forest.evaluate("masked");
  for (int f = 0; f < 3; ++f) {
    EXPECT_EQ(flag_at(x->flags, 0, 0, f), 1);
    EXPECT_EQ(flag_at(x->flags, 1, 0, f), f == 1 ? 6 : 0);
    EXPECT_EQ(flag_at(masked->flags, 0, 0, f), 1);  // the mask is for the other children
    EXPECT_EQ(flag_at(masked->flags, 1, 0, f), f == 1 ? 2 : 0);
  }
  EXPECT_EQ(value_at(x->value, 1).re, 2);
}

TEST(MergeFlagsNode, TakesAllFlagsOfOtherDimensions) {
  TestForest forest;
  forest.constant("a", array({2}, {1, 2})).constant("b", array({3}, {1, 2, 3}));
  forest.flagged("fb", "b", array({3, 1, 1}, {1, 2, 4})).node("x", "MergeFlags", {"a", "fb"});
  const ResultPtr x = forest.evaluate("x");
  EXPECT_EQ(flag_at(x->flags, 0), 7);
  EXPECT_EQ(flag_at(x->flags, 1), 7);
}

TEST(MergeFlagsNode, LeavesOutMissingFlagsButNotMissingValues) {
  TestForest forest;
  forest.constant("a", 1.0).node("none", "TestMissing", {}, {{"dims", array({0}, {})}});
  forest.node("x", "MergeFlags", {"a", "none"}).node("y", "MergeFlags", {"none", "a"});
  EXPECT_TRUE(forest.evaluate("x")->ok());
  EXPECT_EQ(forest.evaluate("y")->status, Result::Status::missing);
}

}  // namespace
}  // namespace rimetree::test
