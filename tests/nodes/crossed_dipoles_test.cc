// CrossedDipoles against the zenith, the fields of single dipoles, and the parallactic angle.
#include <cmath>

#include "runtime/math/conventions.h"
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

constexpr double kHz = 1.5e8;

/// [2,2] towards (l, m, n) from a phase centre at the zenith, of this declination.
std::array<double, 4> jones(double l, double m, double dec_rad, const TestForest::Fields& state = {}) {
  TestForest forest;
  forest.request.cells = cells({5e9}, {kHz});
  forest.constant("lmn", array({3}, {l, m, std::sqrt(1 - l * l - m * m)}));
  forest.constant("radec_0", array({2}, {0.7, dec_rad}));
  forest.constant("horizon", array({3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1}));
  const ResultPtr x = forest.node("x", "CrossedDipoles", {"lmn", "radec_0", "horizon"}, state).evaluate("x");
  expect_ok(x);
  std::array<double, 4> found{};
  for (std::size_t i = 0; i < 4; ++i) found[i] = value_at(x->value, i).re;
  return found;
}

TEST(CrossedDipolesNode, AtTheZenithXIsEastAndYIsNorth) {
  const std::array<double, 4> found = jones(0, 0, -0.5, {{"height_m", 0.4}, {"length", std::string("half-wave")}}),
                              expected{0, 1, 1, 0};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(found[i], expected[i], 1e-15) << i;
  const std::array<double, 4> turned =
                                  jones(0, 0, -0.5, {{"x_azimuth_rad", 0.25 * kPi}, {"y_azimuth_rad", 0.75 * kPi}}),
                              expected_turned{1, 1, -1, 1};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(turned[i], expected_turned[i] * std::sqrt(0.5), 1e-15) << i;
}

/// On the meridian, at the equator: a source 60 degrees from the zenith to the north sees the Y dipole at half its
/// length, and one to the west the X dipole. North on the sky of the latter is still that of the ground.
TEST(CrossedDipolesNode, AreForeshortened) {
  const double sine = std::sqrt(0.75);
  const std::array<double, 4> north = jones(0, sine, 0), expected_north{0, 1, 0.5, 0};
  const std::array<double, 4> west = jones(-sine, 0, 0), expected_west{0, 0.5, 1, 0};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(north[i], expected_north[i], 1e-15) << i;
    EXPECT_NEAR(west[i], expected_west[i], 1e-15) << i;
  }
}

/// The power of a dipole goes as the square of the sine of the angle to it, of half a wave as (cos(pi/2 c) / sin)^2:
/// whatever north on the sky is. Both dipoles are at a right angle to the direction, so that X and Y have the scalar
/// product -(x.s)(y.s).
TEST(CrossedDipolesNode, HaveThePowerOfDipoles) {
  for (const auto& [l, m] : {std::pair(0.3, -0.4), std::pair(-0.9, 0.1), std::pair(0.01, 0.7), std::pair(0.0, 0.0)})
    for (const double dec : {-1.3, 0.2}) {
      const std::array<double, 4> e = jones(l, m, dec), half = jones(l, m, dec, {{"length", std::string("half-wave")}});
      EXPECT_NEAR(e[0] * e[0] + e[1] * e[1], 1 - l * l, 1e-14);
      EXPECT_NEAR(e[2] * e[2] + e[3] * e[3], 1 - m * m, 1e-14);
      EXPECT_NEAR(e[0] * e[2] + e[1] * e[3], -l * m, 1e-14);
      EXPECT_NEAR(half[0] * half[0] + half[1] * half[1], std::pow(std::cos(kPi / 2 * l), 2) / (1 - l * l), 1e-14);
      EXPECT_NEAR(half[2] * half[2] + half[3] * half[3], std::pow(std::cos(kPi / 2 * m), 2) / (1 - m * m), 1e-14);
    }
}

/// Near the zenith the dipoles are turned against the sky by how much meridians converge: dRA sin(dec), with
/// dRA = l / cos(dec).
TEST(CrossedDipolesNode, TurnWithTheParallacticAngle) {
  const double l = 1e-4, dec = 0.8;
  const std::array<double, 4> found = jones(l, 0, dec);
  const double turn = l * std::tan(dec);
  EXPECT_NEAR(found[2], 1, 1e-7);
  EXPECT_NEAR(found[0], -turn, 1e-9);  // east of the zenith, north on the sky leans to the west: to the pole
  EXPECT_NEAR(found[3], turn, 1e-9);
}

TEST(CrossedDipolesNode, AboveTheGroundAreThoseOfTwoWithOppositeCurrents) {
  const double height_m = 0.3, l = 0.6, wave = 2 * kPi * kHz / kSpeedOfLight_m_s;
  const std::array<double, 4> free = jones(l, 0, 0.1), above = jones(l, 0, 0.1, {{"height_m", height_m}});
  const double ratio = std::sin(wave * height_m * 0.8) / std::sin(wave * height_m);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(above[i], free[i] * ratio, 1e-14) << i;
}

TEST(CrossedDipolesNode, SeeNothingBelowTheHorizon) {
  TestForest forest;
  forest.request.cells = cells({5e9}, {kHz});
  forest.constant("lmn", array({2, 3}, {0.6, 0, -0.8, 0, 0, 1})).constant("radec_0", array({2}, {0, 0.3}));
  forest.constant("horizon", array({3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1}));
  const ResultPtr x = forest.node("x", "CrossedDipoles", {"lmn", "radec_0", "horizon"}).evaluate("x");
  expect_ok(x);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(value_at(x->value, i).re, 0);
  EXPECT_NEAR(value_at(x->value, 5).re, 1, 1e-15);
}

/// Where north is no direction the dipoles have their power all the same: at the pole of the sky, and as near to it as
/// rounding.
TEST(CrossedDipolesNode, SeeThePoleOfTheSky) {
  const double dec = 0.7;
  for (const double away : {0.0, 1e-16, 1e-12, 1e-7}) {
    const double m = std::cos(dec + away);
    const std::array<double, 4> e = jones(0, m, dec);
    EXPECT_NEAR(e[0] * e[0] + e[1] * e[1], 1, 1e-9) << away;
    EXPECT_NEAR(e[2] * e[2] + e[3] * e[3], 1 - m * m, 1e-9) << away;
    EXPECT_NEAR(e[0] * e[2] + e[1] * e[3], 0, 1e-9) << away;
  }
}

/// Half a wave above the ground both waves cancel at the zenith, where the response would be 1: a sine of about 0 would
/// be divided by.
TEST(CrossedDipolesNode, FailHalfAWaveAboveTheGround) {
  const double half_a_wave_m = 0.5 * kSpeedOfLight_m_s / kHz;
  for (const double height_m : {half_a_wave_m, 1.3 * half_a_wave_m, 2 * half_a_wave_m}) {
    TestForest forest;
    forest.request.cells = cells({5e9}, {0.1 * kHz, kHz});
    forest.constant("lmn", array({3}, {0, 0, 1})).constant("radec_0", array({2}, {0, 0.3}));
    forest.constant("horizon", array({3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1}));
    const TestForest::Fields state{{"height_m", height_m}};
    const ResultPtr x = forest.node("x", "CrossedDipoles", {"lmn", "radec_0", "horizon"}, state).evaluate("x");
    ASSERT_FALSE(x->ok());
    EXPECT_NE(x->failures[0].message.find("at 150 MHz, where the wavelength is 1.999 m"), std::string::npos)
        << x->failures[0].message;
  }
  EXPECT_NEAR(jones(0, 0, 0.3, {{"height_m", 0.99 * half_a_wave_m}})[1], 1, 1e-14);
}

TEST(CrossedDipolesNode, RefusesWhatIsNoDipole) {
  for (const TestForest::Fields& state : {TestForest::Fields{{"length", std::string("long")}}, {{"height_m", -1.0}}})
    EXPECT_THROW(jones(0, 0, 0.1, state), Error);
}

}  // namespace
}  // namespace rimetree::test
