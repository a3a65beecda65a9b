// ArrayFactor against the closed form of a row of elements, against the phases of VisPhaseShift, and below the horizon.
#include <cmath>

#include "runtime/math/conventions.h"
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

constexpr double kHz = 1.5e8;

/// Of a beam that points to the zenith.
TestForest at_zenith(const std::vector<double>& lmn, const std::vector<double>& elements_m,
                     const std::vector<double>& weights = {}) {
  TestForest forest;
  forest.request.cells = cells({5e9}, {kHz});
  const auto count = [](const std::vector<double>& vectors) { return static_cast<std::int64_t>(vectors.size() / 3); };
  forest.constant("lmn", array({count(lmn), 3}, lmn));
  forest.constant("horizon", array({3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1}));
  forest.constant("elements", array({count(elements_m), 3}, elements_m));
  std::vector<std::string> children{"lmn", "horizon", "elements"};
  if (!weights.empty()) {
    forest.constant("weights", array({static_cast<std::int64_t>(weights.size())}, weights));
    children.emplace_back("weights");
  }
  forest.node("x", "ArrayFactor", children);
  return forest;
}

std::vector<double> direction(double l, double m) { return {l, m, std::sqrt(1 - l * l - m * m)}; }

TEST(ArrayFactorNode, OfARowIsARatioOfSines) {
  std::vector<double> elements_m;
  for (int e = 0; e < 8; ++e) elements_m.insert(elements_m.end(), {1.1 * (e - 3.5), 0, 0});
  for (double l = 0.03; l < 0.9; l += 0.07) {
    const ResultPtr x = at_zenith(direction(l, 0.2), elements_m).evaluate("x");
    expect_ok(x);
    const double half = kPi * kHz / kSpeedOfLight_m_s * 1.1 * l;
    EXPECT_NEAR(value_at(x->value, 0).re, std::sin(8 * half) / (8 * std::sin(half)), 1e-13) << l;
    EXPECT_NEAR(value_at(x->value, 0).im, 0, 1e-13) << l;
  }
}

TEST(ArrayFactorNode, AddsWhatVisPhaseShiftGivesOfItsElements) {
  const std::vector<double> elements_m{3, -7, 0.5, 11, 2, -0.3, -40, 25, 0}, weights{0.5, 0.25, -1};
  const std::vector<double> lmn = direction(0.3, -0.45);
  TestForest forest = at_zenith(lmn, elements_m, weights);
  forest.constant("one", array({3}, lmn));
  Complex<double> expected{0, 0};
  for (std::size_t e = 0; e < 3; ++e) {
    const std::string name = std::to_string(e);
    forest.constant("uvw" + name, array({3}, {elements_m[3 * e], elements_m[3 * e + 1], elements_m[3 * e + 2]}));
    forest.node("K" + name, "VisPhaseShift", {"one", "uvw" + name});
  }
  for (std::size_t e = 0; e < 3; ++e)
    expected += weights[e] * value_at(forest.evaluate("K" + std::to_string(e))->value, 0);
  const ResultPtr x = forest.evaluate("x");
  expect_ok(x);
  EXPECT_NEAR(value_at(x->value, 0).re, expected.re, 1e-12);
  EXPECT_NEAR(value_at(x->value, 0).im, expected.im, 1e-12);
}

TEST(ArrayFactorNode, IsOneWhereItPointsAndNothingBelowTheHorizon) {
  const ResultPtr x = at_zenith({0, 0, 1, 0.6, 0, -0.8, 0, 0, -1}, {1, 2, 3, -4, 5, -6}).evaluate("x");
  expect_ok(x);
  const double expected[] = {1, 0, 0};
  for (std::size_t s = 0; s < 3; ++s) {
    EXPECT_EQ(value_at(x->value, s).re, expected[s]);
    EXPECT_EQ(value_at(x->value, s).im, 0);
  }
}

TEST(ArrayFactorNode, RefusesOtherShapes) {
  EXPECT_THROW(at_zenith({0, 0, 1}, {}).evaluate("x"), ForestError);
  EXPECT_THROW(at_zenith({0, 0, 1}, {1, 2, 3}, {1, 1}).evaluate("x"), ForestError);
}

}  // namespace
}  // namespace rimetree::test
