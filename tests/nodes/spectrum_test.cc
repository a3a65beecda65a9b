// Spectrum: hand numbers at frequencies where powers, polynomials and rotations are round.
#include "runtime/math/conventions.h"
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

std::vector<double> stokes_at(double frequency_hz, const std::vector<StateValue>& children,
                              const TestForest::Fields& state = {}) {
  TestForest forest;
  forest.request.cells = cells({5e9}, {frequency_hz});
  const char* const labels[] = {"stokes", "coefficients", "ref_freq_hz", "rotation_measure"};
  TestForest::Children names;
  for (std::size_t i = 0; i < children.size(); ++i) {
    forest.constant(labels[i], children[i]);
    names.push_back(labels[i]);
  }
  const ResultPtr x = forest.node("x", "Spectrum", names, state).evaluate("x");
  expect_ok(x);
  std::vector<double> values;
  for (std::size_t e = 0; x->ok() && e < x->value.dims().size(); ++e) values.push_back(value_at(x->value, e).re);
  return values;
}
void expect_stokes(const std::vector<double>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 4e-15) << i;
}
const StateArray kStokes = array({4}, {2, 1, -0.5, 0.25});

TEST(SpectrumNode, LogarithmicPolynomials) {
  const double factor = 0.6155722066724582;  // 2^-0.7
  expect_stokes(stokes_at(2e9, {kStokes, array({1}, {-0.7}), 1e9}), {2 * factor, factor, -0.5 * factor, 0.25 * factor});
  // Natural logarithm: x^(c1 ln x) with c1 = 1/ln 2 doubles at x = 2; two octaves up the exponent is 2 x 2.
  const StateArray curved = array({2}, {0, 1.4426950408889634});
  EXPECT_NEAR(stokes_at(2e9, {kStokes, curved, 1e9})[0], 4, 4e-15);
  EXPECT_NEAR(stokes_at(4e9, {kStokes, curved, 1e9})[0], 32, 1e-13);
}

TEST(SpectrumNode, OrdinaryPolynomials) {
  const TestForest::Fields ordinary{{"logarithmic", std::int64_t{0}}};
  // x - 1 = 1: I = 2 + 1 + 0.5, so that Q, U, V grow by 1.75.
  expect_stokes(stokes_at(2e9, {kStokes, array({2}, {1, 0.5}), 1e9}, ordinary), {3.5, 1.75, -0.875, 0.4375});
  // x - 1 = -0.5: I = 2 - 0.5 + 0.125
  EXPECT_NEAR(stokes_at(0.5e9, {kStokes, array({2}, {1, 0.5}), 1e9}, ordinary)[0], 1.625, 1e-15);
}

TEST(SpectrumNode, LeavesPolarisationAlone) {
  expect_stokes(stokes_at(2e9, {kStokes, array({1}, {1}), 1e9}, {{"scale_polarisation", false}}), {4, 1, -0.5, 0.25});
}

TEST(SpectrumNode, RotatesThePlaneOfPolarisation) {
  // Wavelengths 1 m and 2 m at the reference: 2 RM (1 - 4) = -pi/2 for RM = pi/12; Q + iU = 1 turns to -i.
  expect_stokes(stokes_at(kSpeedOfLight_m_s,
                          {array({4}, {1, 1, 0, 0.5}), array({0}, {}), kSpeedOfLight_m_s / 2, 3.141592653589793 / 12}),
                {1, 0, -1, 0.5});
}

TEST(SpectrumNode, OfStacksHasAllSettingsPerSource) {
  const auto got = stokes_at(
      2e9, {array({3, 4}, {1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0}), array({3, 1}, {1, 1, 0}), array({3}, {1e9, 0.5e9, 0})},
      {{"logarithmic", array({3}, {1, 0, 1})}, {"scale_polarisation", array({3}, {1, 0, 1})}});
  // x = 2: doubled; x - 1 = 3: 1 + 3, Q constant; no spectrum and no reference frequency: constant.
  expect_stokes(got, {2, 2, 0, 0, 4, 1, 0, 0, 1, 1, 0, 0});
}

TEST(SpectrumNode, RefusesASpectrumWithoutReferenceFrequency) {
  TestForest forest;
  forest.constant("s", kStokes).constant("c", array({1}, {-0.7})).constant("nu", 0.0);
  const ResultPtr x = forest.node("x", "Spectrum", {"s", "c", "nu"}).evaluate("x");
  ASSERT_EQ(x->status, Result::Status::failed);
  EXPECT_NE(x->failures[0].message.find("source 0"), std::string::npos);
}

TEST(SpectrumNode, RefusesSettingsThatAreNeitherOnNorOff) {
  for (const char* field : {"logarithmic", "scale_polarisation"}) {
    TestForest forest;
    forest.constant("s", kStokes).constant("c", array({1}, {-0.7})).constant("nu", 1e9);
    forest.node("x", "Spectrum", {"s", "c", "nu"}, {{field, std::int64_t{2}}});
    EXPECT_THROW(forest.evaluate("x"), ForestError) << field;
  }
}

TEST(SpectrumNode, RefusesSettingsOfAnotherNumberOfSources) {
  TestForest forest;
  forest.constant("s", kStokes).constant("c", array({1}, {-0.7})).constant("nu", 1e9);
  forest.node("x", "Spectrum", {"s", "c", "nu"}, {{"logarithmic", array({2}, {1, 0})}});
  EXPECT_THROW(forest.evaluate("x"), ForestError);
}

}  // namespace
}  // namespace rimetree::test
