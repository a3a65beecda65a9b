// Parm: polynomials with hand numbers, derivatives by coefficient, and what a change of value recomputes.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

const double kStart_s = 5e9;

TestForest::Fields polynomial(StateArray value, bool solvable = false) {
  return {{"value", std::move(value)}, {"time_0_s", kStart_s}, {"time_scale_s", 10.0},
          {"freq_0_hz", 1e9},          {"freq_scale_hz", 1e8}, {"solvable", solvable}};
}

TEST(ParmNode, IsANumber) {
  TestForest forest;
  const ResultPtr x = forest.node("x", "Parm", {}, {{"value", 2.5}}).evaluate("x");
  EXPECT_EQ(value_at(x->value, 0).re, 2.5);
  EXPECT_EQ(x->value.cells_per_element(), 1u);
  EXPECT_TRUE(x->derivatives.empty());
  EXPECT_EQ(forest.built->dependencies(0), kParameter);
}

TEST(ParmNode, IsAPolynomialInTimeAndFrequency) {
  TestForest forest;  // x = 0, 1 in time, y = 0, 1, 2 in frequency: 1 + 2y + 3y^2 + x (10 + 20y + 30y^2)
  const ResultPtr x = forest.node("x", "Parm", {}, polynomial(array({2, 3}, {1, 2, 3, 10, 20, 30}))).evaluate("x");
  const double expected[2][3] = {{1, 6, 17}, {11, 66, 187}};
  for (int t = 0; t < 2; ++t)
    for (int f = 0; f < 3; ++f) EXPECT_DOUBLE_EQ(value_at(x->value, 0, t, f).re, expected[t][f]);
  EXPECT_EQ(forest.built->dependencies(0), kParameter | kDomain);
}

TEST(ParmNode, OfOneRowIsAPolynomialInFrequencyOnly) {
  TestForest forest;
  const ResultPtr x = forest.node("x", "Parm", {}, polynomial(array({1, 2}, {1, 2}))).evaluate("x");
  EXPECT_EQ(x->value.cells()[Axis::time], 1);
  EXPECT_DOUBLE_EQ(value_at(x->value, 0, 0, 2).re, 5);
}

TEST(ParmNode, OfAVectorIsAPolynomialInTime) {
  TestForest forest;
  const ResultPtr x = forest.node("x", "Parm", {}, polynomial(array({2}, {1, 2}))).evaluate("x");
  EXPECT_EQ(x->value.cells()[Axis::frequency], 1);
  EXPECT_DOUBLE_EQ(value_at(x->value, 0, 1, 0).re, 3);
}

TEST(ParmNode, HasADerivativeForEachCoefficient) {
  TestForest forest;
  forest.request.derivatives = true;
  const ResultPtr x = forest.node("x", "Parm", {}, polynomial(array({2, 2}, {1, 2, 3, 4}), true)).evaluate("x");
  ASSERT_EQ(x->derivatives.size(), 4u);
  const double expected[4][2][3] = {// 1, y, x, xy
                                    {{1, 1, 1}, {1, 1, 1}},
                                    {{0, 1, 2}, {0, 1, 2}},
                                    {{0, 0, 0}, {1, 1, 1}},
                                    {{0, 0, 0}, {0, 1, 2}}};
  for (int k = 0; k < 4; ++k) {
    const Vells* derivative = x->derivative({0, k});
    ASSERT_NE(derivative, nullptr);
    for (int t = 0; t < 2; ++t)
      for (int f = 0; f < 3; ++f) EXPECT_DOUBLE_EQ(value_at(*derivative, 0, t, f).re, expected[k][t][f]);
  }
}

TEST(ParmNode, HasNoDerivativesUnlessAskedFor) {
  TestForest forest;
  EXPECT_TRUE(forest.parm("x", 1).evaluate("x")->derivatives.empty());
}

TEST(ParmNode, RefusesComplexValuesAndCubes) {
  EXPECT_THROW(TestForest().node("x", "Parm", {}, {{"value", complex_array({}, {{1, 1}})}}).evaluate("x"), ForestError);
  EXPECT_THROW(TestForest().node("x", "Parm", {}, {{"value", array({1, 1, 1}, {1})}}).evaluate("x"), ForestError);
}

TestForest::Fields tiled(StateArray value) {
  return {{"value", std::move(value)},
          {"time_edges_s", array({3}, {kStart_s - 5, kStart_s + 5, kStart_s + 15})},
          {"freq_edges_hz", array({4}, {0.9e9, 1.05e9, 1.15e9, 1.3e9})},
          {"solvable", true}};
}

TEST(ParmNode, HasAValueForEachSolutionTile) {
  TestForest forest;
  forest.request.derivatives = true;
  const ResultPtr x = forest.node("x", "Parm", {}, tiled(array({2, 3, 1, 1}, {1, 2, 3, 10, 20, 30}))).evaluate("x");
  const double expected[2][3] = {{1, 2, 3}, {10, 20, 30}};
  for (int t = 0; t < 2; ++t)
    for (int f = 0; f < 3; ++f) EXPECT_EQ(value_at(x->value, 0, t, f).re, expected[t][f]);
  ASSERT_EQ(x->derivatives.size(), 1u);  // with respect to the coefficient of the tile that a cell is in
  EXPECT_EQ(value_at(x->derivatives[0].value, 0, 1, 2).re, 1);
  EXPECT_EQ(forest.built->dependencies(0), kParameter | kDomain | kSolvable);
}

TEST(ParmNode, HasAPolynomialForEachSolutionTile) {
  TestForest forest;  // x = 0, 1 in time; tiles in frequency have 1 + 2x, 3 + 4x, 5 + 6x at first, then 7 + 8x, ...
  TestForest::Fields fields = tiled(array({2, 3, 2, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  fields["time_0_s"] = kStart_s;
  fields["time_scale_s"] = 10.0;
  const ResultPtr x = forest.node("x", "Parm", {}, fields).evaluate("x");
  const double expected[2][3] = {{1, 3, 5}, {15, 19, 23}};
  for (int t = 0; t < 2; ++t)
    for (int f = 0; f < 3; ++f) EXPECT_DOUBLE_EQ(value_at(x->value, 0, t, f).re, expected[t][f]);
}

TEST(ParmNode, TakesOnePolynomialForAllTiles) {
  TestForest forest;
  const ResultPtr x = forest.node("x", "Parm", {}, tiled(array({}, {2.5}))).evaluate("x");
  for (int t = 0; t < 2; ++t)
    for (int f = 0; f < 3; ++f) EXPECT_EQ(value_at(x->value, 0, t, f).re, 2.5);
}

TEST(ParmNode, CellsOutsideAllTilesTakeTheNearest) {
  TestForest forest;
  TestForest::Fields fields{{"value", array({3, 1, 1, 1}, {1, 2, 3})}, {"time_edges_s", array({4}, {10, 20, 30, 40})}};
  forest.request.cells = cells({-100, 10, 19.9, 20, 35, 40, 1000}, {1e9});
  const ResultPtr x = forest.node("x", "Parm", {}, fields).evaluate("x");
  const double expected[7] = {1, 1, 1, 2, 3, 3, 3};
  for (int t = 0; t < 7; ++t) EXPECT_EQ(value_at(x->value, 0, t).re, expected[t]) << t;
}

TEST(ParmNode, RefusesWhatDoesNotFitItsTiles) {
  const auto refused = [](TestForest::Fields fields) {
    EXPECT_THROW(TestForest().node("x", "Parm", {}, std::move(fields)).evaluate("x"), ForestError);
  };
  refused(tiled(array({3, 2, 1, 1}, {1, 2, 3, 4, 5, 6})));
  refused({{"value", 1.0}, {"time_edges_s", array({3}, {1, 1, 2})}});
  refused({{"value", 1.0}, {"time_edges_s", array({1}, {1})}});
  refused({{"value", 1.0}, {"freq_edges_hz", array({2}, {1, std::nan("")})}});
  refused({{"value", 1.0}, {"minimum", 2.0}, {"maximum", 1.0}});
  refused({{"value", 1.0}, {"prior_sigma", -1.0}});
  refused({{"value", array({3}, {1, 2, 3})}, {"minimum", array({2}, {1, 2})}});
  refused({{"value", 1.0}, {"prior_mean", std::nan("")}});
}

TEST(ParmNode, OnlySolvableOnesMakeResultsDependOnDerivatives) {
  TestForest forest;  // what is below no solvable Parm is evaluated once, with derivatives or without
  forest.node("fixed", "Parm", {}, {{"value", 2.0}}).parm("free", 3);
  forest.node("f", "Sqr", {"fixed"}).node("x", "Multiply", {"f", "free"});
  expect_ok(forest.evaluate("x"));
  Request request = forest.request;
  request.derivatives = true;
  const ResultPtr x = forest.evaluator->evaluate(request, "x");
  ASSERT_EQ(x->derivatives.size(), 1u);
  EXPECT_EQ(value_at(x->derivatives[0].value, 0).re, 4);
  EXPECT_EQ(forest.evaluator->timing().classes.at("Sqr").evaluations, 1u);
  EXPECT_EQ(forest.evaluator->timing().classes.at("Multiply").evaluations, 2u);
}

}  // namespace
}  // namespace rimetree::test
