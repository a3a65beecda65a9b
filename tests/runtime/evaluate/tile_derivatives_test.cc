// Derivatives with respect to the solution tiles of Parms, above nodes that mix cells and above those that do not.
#include "runtime/evaluate/tile_derivatives.h"

#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

/// Two times and three frequencies; b has tiles of one and two channels, both of one slot each.
TestForest tiled() {
  TestForest forest;
  forest.node("b", "Parm", {},
              {{"value", array({2, 2, 1, 1}, {1, 2, 3, 4})},
               {"solvable", true},
               {"time_edges_s", array({3}, {5e9 - 5, 5e9 + 5, 5e9 + 15})},
               {"freq_edges_hz", array({3}, {0.95e9, 1.05e9, 1.25e9})}});
  forest.request.derivatives = true;
  return forest;
}

std::vector<ParameterId> ids(const Result& result) {
  std::vector<ParameterId> found;
  for (const Derivative& derivative : result.derivatives) found.push_back(derivative.parameter);
  return found;
}

TEST(TileDerivatives, AreOneWhereCellsAreNotMixed) {
  TestForest forest = tiled();
  const ResultPtr result = forest.node("x", "Sqr", {"b"}).evaluate("x");
  expect_ok(result);
  EXPECT_EQ(ids(*result), (std::vector<ParameterId>{{0, 0}}));
}

TEST(TileDerivatives, AreOneForEachTileAboveAMean) {
  TestForest forest = tiled();
  const ResultPtr result = forest.node("x", "Mean", {"b"}).evaluate("x");
  expect_ok(result);
  EXPECT_EQ(ids(*result), (std::vector<ParameterId>{{0, 0, 0, 0}, {0, 0, 0, 1}, {0, 0, 1, 0}, {0, 0, 1, 1}}));
  const double expected[] = {1.0 / 6, 2.0 / 6, 1.0 / 6, 2.0 / 6};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(result->derivatives[i].value.real()[0], expected[i]) << i;
}

TEST(TileDerivatives, AreDividedAlongTheMixedAxisOnly) {
  TestForest forest = tiled();
  forest.node("x", "Sum", {"b"}, {{"reduction_axes", std::vector<std::string>{"freq"}}})
      .node("y", "Multiply", {"x", "b"});
  const ResultPtr result = forest.evaluate("y");
  expect_ok(result);
  // Of y = x b: on each cell x with respect to the cell's own tile, and b times the tile's channels below the sum.
  EXPECT_EQ(ids(*result), (std::vector<ParameterId>{{0, 0}, {0, 0, -1, 0}, {0, 0, -1, 1}}));
  const double b[2][3] = {{1, 2, 2}, {3, 4, 4}}, x[2] = {5, 11};
  for (std::size_t t = 0; t < 2; ++t)
    for (std::size_t f = 0; f < 3; ++f) {
      EXPECT_DOUBLE_EQ(value_at(result->derivatives[0].value, 0, t, f).re, x[t]);
      EXPECT_DOUBLE_EQ(value_at(result->derivatives[1].value, 0, t, f).re, b[t][f]);
      EXPECT_DOUBLE_EQ(value_at(result->derivatives[2].value, 0, t, f).re, 2 * b[t][f]);
    }
}

TEST(TileDerivatives, NameTheTileWhereAllCellsAreInOne) {
  TestForest forest = tiled();
  forest.request.cells = cells({5e9 + 10}, {1.1e9, 1.2e9});
  const ResultPtr result = forest.node("x", "Mean", {"b"}).evaluate("x");
  expect_ok(result);
  EXPECT_EQ(ids(*result), (std::vector<ParameterId>{{0, 0, 1, 1}}));
  EXPECT_DOUBLE_EQ(result->derivatives[0].value.real()[0], 1);
}

TEST(TileDerivatives, OfAParmWithOneTileAreNeverDivided) {
  TestForest forest = tiled();
  const ResultPtr result = forest.parm("p", 2).node("x", "Mean", {"p"}).evaluate("x");
  expect_ok(result);
  EXPECT_EQ(ids(*result), (std::vector<ParameterId>{{1, 0}}));
}

TEST(TileDerivatives, AlongADirectionAreOne) {
  TestForest forest = tiled();
  forest.request.along_direction = true;
  const ResultPtr result = forest.node("x", "Mean", {"b"}).evaluate("x");
  expect_ok(result);
  ASSERT_EQ(ids(*result), (std::vector<ParameterId>{kDirection}));
  double expected = 0;
  for (std::size_t u = 0; u < 4; ++u) expected += direction_component(0, u) * (u % 2 == 0 ? 1 : 2) / 6;
  EXPECT_NEAR(result->derivatives[0].value.real()[0], expected, 1e-15);
}

}  // namespace
}  // namespace rimetree::test
