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

}  // namespace
}  // namespace rimetree::test
