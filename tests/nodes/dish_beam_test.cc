// DishBeam against the standard library's Bessel function and closed forms, at half its width, far out, and where it
// points; and its derivative there.
#include <cmath>

#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

constexpr double kWidth = 0.02, kRefHz = 1.4e9;

/// At a distance in widths from where the dish points, of a frequency in units of the reference.
double voltage(const std::string& profile, double distance, double frequency = 1, double blockage = 0) {
  const double l = 0.6 * kWidth * distance, m = -0.8 * kWidth * distance;
  TestForest forest;
  forest.request.cells = cells({5e9}, {frequency * kRefHz});
  forest.constant("lmn", array({3}, {l, m, std::sqrt(1 - l * l - m * m)})).constant("width", kWidth);
  const ResultPtr x = forest
                          .node("x", "DishBeam", {"lmn", "width"},
                                {{"profile", profile}, {"ref_freq_hz", kRefHz}, {"blockage", blockage}})
                          .evaluate("x");
  expect_ok(x);
  return value_at(x->value, 0).re;
}

double airy(double x) { return 2 * std::cyl_bessel_j(1, x) / x; }

TEST(DishBeamNode, IsHalfThePowerAtHalfItsWidth) {
  for (const char* profile : {"gaussian", "cosine", "airy"}) {
    EXPECT_EQ(voltage(profile, 0), 1) << profile;
    EXPECT_NEAR(std::pow(voltage(profile, 0.5), 2), 0.5, 1e-14) << profile;
    EXPECT_NEAR(std::pow(voltage(profile, 0.2, 2.5), 2), 0.5, 1e-14) << profile;  // narrower at higher frequencies
  }
}

TEST(DishBeamNode, IsTheTransformOfTheField) {
  for (double y = 0.01; y < 40; y *= 1.07) {
    const double x = 2 * 1.6163399483107031782 * y, k = 1.1889647809329456076 * y, b = 0.3;
    EXPECT_NEAR(voltage("gaussian", y), std::exp2(-2 * y * y), 1e-14) << y;
    EXPECT_NEAR(voltage("cosine", y), std::cos(3.141592653589793 * k) / (1 - 4 * k * k), 1e-13) << y;
    EXPECT_NEAR(voltage("airy", y), airy(x), 1e-13) << y;
    EXPECT_NEAR(voltage("airy", y, 1, b), (airy(x) - b * b * airy(b * x)) / (1 - b * b), 1e-13) << y;
  }
  EXPECT_NEAR(voltage("cosine", 0.5 / 1.1889647809329456076), 0.7853981633974483, 1e-14);  // 0/0 in the closed form
}

TEST(DishBeamNode, SeesNothingBehindIt) {
  TestForest forest;
  forest.constant("lmn", array({2, 3}, {0, 0, -1, 0, 0, 1})).constant("width", kWidth);
  const ResultPtr x = forest.node("x", "DishBeam", {"lmn", "width"}, {{"ref_freq_hz", kRefHz}}).evaluate("x");
  expect_ok(x);
  EXPECT_EQ(value_at(x->value, 0).re, 0);
  EXPECT_EQ(value_at(x->value, 1).re, 1);
}

TEST(DishBeamNode, RefusesWhatIsNoBeam) {
  for (const TestForest::Fields& state :
       {TestForest::Fields{{"ref_freq_hz", 0.0}},
        {{"ref_freq_hz", kRefHz}, {"profile", std::string("top hat")}},
        {{"ref_freq_hz", kRefHz}, {"blockage", 0.1}},
        {{"ref_freq_hz", kRefHz}, {"profile", std::string("airy")}, {"blockage", 1.0}}}) {
    TestForest forest;
    forest.constant("lmn", array({3}, {0, 0, 1})).constant("width", kWidth);
    EXPECT_THROW(forest.node("x", "DishBeam", {"lmn", "width"}, state).evaluate("x"), Error);
  }
}

}  // namespace
}  // namespace rimetree::test
