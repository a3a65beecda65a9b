// Solution tiles of a Parm: which cell is in which, and where unknowns are.
#include "runtime/core/node/solution_tiles.h"

#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

SolutionTiles tiles(const TestForest::Fields& fields) {
  TestForest forest;
  forest.node("x", "Parm", {}, fields).evaluate("x");
  return SolutionTiles::of(forest.built->node(0));
}

TEST(SolutionTiles, OneByDefault) {
  const SolutionTiles one = tiles({{"value", array({2, 3}, {1, 2, 3, 4, 5, 6})}});
  EXPECT_EQ(one.n_tile(), 1u);
  EXPECT_EQ(one.n_coefficient(), 6u);
  EXPECT_EQ(one.value_shape(), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(one.of_cells(*cells({1, 2, 3}, {1e9}), Axis::time), std::vector<std::int32_t>{0});
}

TEST(SolutionTiles, TakeCellsByTheirCentres) {
  const SolutionTiles t = tiles({{"value", 1.0}, {"freq_edges_hz", array({3}, {10, 20, 30})}});
  EXPECT_EQ(t.of_cells(*cells({0}, {25, 19.999, 20, 5, 99}), Axis::frequency),
            (std::vector<std::int32_t>{1, 0, 1, 0, 1}));
  EXPECT_EQ(t.of_cells(*cells({0}, {25}), Axis::time), std::vector<std::int32_t>{0});
}

TEST(SolutionTiles, NumberUnknownsByTimeFrequencyAndCoefficient) {
  const SolutionTiles t = tiles({{"value", array({2, 2, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8})},
                                 {"time_edges_s", array({3}, {0, 1, 2})},
                                 {"freq_edges_hz", array({3}, {0, 1, 2})}});
  EXPECT_EQ(t.n_unknown(), 8u);
  EXPECT_EQ(t.values()[t.at(1, 0, 1)], 6);
  EXPECT_EQ(t.value_shape(), (std::vector<std::int64_t>{2, 2, 1, 2}));
}

TEST(SolutionTiles, ValuesThatCouldBeCoefficientsAreRefused) {
  const StateArray edges = array({3}, {0, 1, 2});
  for (const StateArray& value : {array({2}, {1, 2}), array({2, 1}, {1, 2})})
    EXPECT_THROW(tiles({{"value", value}, {"time_edges_s", edges}}), ForestError);
  EXPECT_THROW(tiles({{"value", array({2}, {1, 2})}, {"freq_edges_hz", edges}}), ForestError);
  EXPECT_EQ(tiles({{"value", array({1, 2}, {1, 2})}, {"time_edges_s", edges}}).n_unknown(), 4u);
  EXPECT_EQ(tiles({{"value", array({3}, {1, 2, 3})}, {"time_edges_s", edges}}).n_unknown(), 6u);
  EXPECT_EQ(tiles({{"value", array({2, 1, 1, 1}, {1, 2})}, {"time_edges_s", edges}}).n_unknown(), 2u);
}

TEST(SolutionTiles, OfAnotherNodeAreAnError) {
  TestForest forest;
  forest.constant("c", 1.0).evaluate("c");
  EXPECT_THROW(SolutionTiles::of(forest.built->node(0)), Error);
}

TEST(ParmLimits, OneNumberIsForTheConstantTerm) {
  TestForest forest;
  forest.node(
      "x", "Parm", {},
      {{"value", array({2}, {1, 2})}, {"minimum", 0.5}, {"prior_mean", array({2}, {3, 4})}, {"prior_sigma", 2.0}});
  forest.evaluate("x");
  const State& state = forest.built->node(0).state();
  const ParmLimits limits(state, SolutionTiles(state));
  EXPECT_EQ(limits.minimum, (std::vector<double>{0.5, -HUGE_VAL}));
  EXPECT_EQ(limits.maximum, (std::vector<double>{HUGE_VAL, HUGE_VAL}));
  EXPECT_EQ(limits.prior_mean, (std::vector<double>{3, 4}));
  EXPECT_EQ(limits.prior_sigma, (std::vector<double>{2, 0}));
}

}  // namespace
}  // namespace rimetree::test
