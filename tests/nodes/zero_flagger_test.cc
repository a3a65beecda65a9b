// ZeroFlagger: which of -1, 0, 1 each comparison flags.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TEST(ZeroFlaggerNode, FlagsByEachComparison) {
  const std::map<std::string, std::vector<int>> expected{{"EQ", {0, 4, 0}}, {"NE", {4, 0, 4}}, {"GE", {0, 4, 4}},
                                                         {"LE", {4, 4, 0}}, {"GT", {0, 0, 4}}, {"LT", {4, 0, 0}}};
  for (const auto& [oper, bits] : expected) {
    TestForest forest;
    forest.constant("a", array({1, 3}, {-1, 0, 1}), 2);
    const ResultPtr x =
        forest.node("x", "ZeroFlagger", {"a"}, {{"oper", oper}, {"flag_bit", std::int64_t{4}}}).evaluate("x");
    for (int f = 0; f < 3; ++f) {
      EXPECT_EQ(flag_at(x->flags, 0, 1, f), bits[f]) << oper;
      EXPECT_EQ(value_at(x->value, 0, 1, f).re, f - 1);
    }
  }
}

TEST(ZeroFlaggerNode, KeepsFlagsAndFlagsElementsByThemselves) {
  TestForest forest;
  forest.constant("a", array({2}, {0, 5})).flagged("f", "a", array({1, 2, 1}, {2, 0}));
  const ResultPtr x = forest.node("x", "ZeroFlagger", {"f"}, {{"oper", std::string("EQ")}}).evaluate("x");
  EXPECT_EQ(flag_at(x->flags, 0, 0), 3);
  EXPECT_EQ(flag_at(x->flags, 0, 1), 1);
  EXPECT_EQ(flag_at(x->flags, 1, 0), 2);
  EXPECT_EQ(flag_at(x->flags, 1, 1), 0);
}

TEST(ZeroFlaggerNode, ComparesComplexNumbersForEqualityOnly) {
  TestForest forest;
  forest.constant("a", complex_array({2}, {{0, 1}, {0, 0}}));
  forest.node("eq", "ZeroFlagger", {"a"}, {{"oper", std::string("EQ")}});
  forest.node("gt", "ZeroFlagger", {"a"}, {{"oper", std::string("GT")}});
  const ResultPtr eq = forest.evaluate("eq");
  EXPECT_EQ(flag_at(eq->flags, 0), 0);
  EXPECT_EQ(flag_at(eq->flags, 1), 1);
  EXPECT_EQ(forest.evaluate("gt")->status, Result::Status::failed);
}

TEST(ZeroFlaggerNode, RefusesUnknownComparisons) {
  TestForest forest;
  forest.constant("a", 1.0).node("x", "ZeroFlagger", {"a"}, {{"oper", std::string("==")}});
  EXPECT_THROW(forest.evaluate("x"), ForestError);
}

}  // namespace
}  // namespace rimetree::test
