// Add against hand numbers; which flags and missing terms it keeps.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TEST(AddNode, AddsNumbersTensorsAndComplex) {
  const auto x = evaluate_class("Add", {array({2}, {1.0, 2.0}), 10.0, complex_array({2}, {{0.0, 1.0}, {0.5, 0.0}})});
  ASSERT_EQ(x.size(), 2u);
  expect_near(x[0], Complex<double>(11.0, 1.0), kFewRoundings);
  expect_near(x[1], Complex<double>(12.5, 0.0), kFewRoundings);
}

TEST(AddNode, RefusesTensorsOfDifferentDimensions) {
  TestForest forest;
  forest.constant("a", array({2}, {1, 2})).constant("b", array({3}, {1, 2, 3})).node("x", "Add", {"a", "b"});
  EXPECT_THROW(forest.evaluate("x"), ForestError);
}

TEST(AddNode, LeavesOutMissingTerms) {
  TestForest forest;
  forest.constant("a", 2.0).constant("b", 3.0).node("none", "TestMissing", {}, {{"dims", array({0}, {})}});
  forest.node("x", "Add", {"a", "none", "b"}).node("nothing", "Add", {"none"});
  EXPECT_EQ(value_at(forest.evaluate("x")->value, 0).re, 5);
  EXPECT_EQ(forest.evaluate("nothing")->status, Result::Status::missing);
}

TEST(AddNode, KeepsFlagsWithTheirElement) {
  TestForest forest;
  forest.constant("a", array({2}, {1, 2})).constant("b", 3.0);
  forest.flagged("fa", "a", array({2, 1, 3}, {0, 1, 0, 0, 0, 2})).flagged("fb", "b", array({1, 2, 1}, {0, 4}));
  const ResultPtr x = forest.node("x", "Add", {"fa", "fb"}).evaluate("x");
  ASSERT_EQ(x->flags.planes(), 2u);
  const std::int32_t expected[2][2][3] = {{{0, 1, 0}, {4, 5, 4}}, {{0, 0, 2}, {4, 4, 6}}};
  for (int e = 0; e < 2; ++e)
    for (int t = 0; t < 2; ++t)
      for (int f = 0; f < 3; ++f) EXPECT_EQ(flag_at(x->flags, e, t, f), expected[e][t][f]);
}

}  // namespace
// Else a Solver would take all solution tiles of a Parm below a sum for connected.
TEST(AddNode, LooksAtNoOtherCells) {
  TestForest forest;
  forest.constant("a", 1.0).constant("b", 2.0).node("x", "Add", {"a", "b"}).evaluate("x");
  const NodeTraits& traits = forest.built->node(forest.built->find("x")).traits();
  EXPECT_EQ(traits.mixed_axes, kNoAxes);
  EXPECT_TRUE(traits.skips_missing);
}

}  // namespace rimetree::test
