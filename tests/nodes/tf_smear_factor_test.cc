// TFSmearFactor against fringes averaged numerically over the time and the frequency width of a cell.
#include "runtime/math/conventions.h"
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

constexpr double kTwoPi = 6.283185307179586;
constexpr double kL = 0.02, kM = -0.01, kU = 3000, kV = 1500, kW = 200, kDu = 0.2, kDv = -0.1, kDw = 0.05;
constexpr double kFrequency = 1.0e9, kTimeWidth = 30, kFrequencyWidth = 2e6;

/// |mean of exp(2 pi i nu/c path(t))| over the cell by the midpoint rule on many points (error ~ (phase/points)^2/24).
double averaged(bool in_time, bool in_frequency) {
  const double n_1 = std::sqrt(1 - kL * kL - kM * kM) - 1;
  const double path = kU * kL + kV * kM + kW * n_1, rate = kDu * kL + kDv * kM + kDw * n_1;
  constexpr int kPoints = 1000;
  double re = 0, im = 0;
  for (int i = 0; i < (in_time ? kPoints : 1); ++i)
    for (int j = 0; j < (in_frequency ? kPoints : 1); ++j) {
      const double t = in_time ? ((i + 0.5) / kPoints - 0.5) * kTimeWidth : 0;
      const double nu = kFrequency + (in_frequency ? ((j + 0.5) / kPoints - 0.5) * kFrequencyWidth : 0);
      re += std::cos(kTwoPi * nu / kSpeedOfLight_m_s * (path + rate * t));
      im += std::sin(kTwoPi * nu / kSpeedOfLight_m_s * (path + rate * t));
    }
  return std::hypot(re, im) / (in_time ? kPoints : 1) / (in_frequency ? kPoints : 1);
}

double factor(bool in_time, bool in_frequency, bool rates = true) {
  TestForest forest;
  forest.request.cells = cells({5e9}, {kFrequency}, kTimeWidth, kFrequencyWidth);
  forest.constant("lmn", array({1, 3}, {kL, kM, std::sqrt(1 - kL * kL - kM * kM)}));
  forest.constant("uvw", rates ? array({2, 3}, {kU, kV, kW, kDu, kDv, kDw}) : array({3}, {kU, kV, kW}));
  forest.node("x", "TFSmearFactor", {"lmn", "uvw"}, {{"smear_time", in_time}, {"smear_frequency", in_frequency}});
  const ResultPtr x = forest.evaluate("x");
  expect_ok(x);
  return value_at(x->value, 0).re;
}

TEST(TfSmearFactorNode, IsTheAverageOverTime) {
  EXPECT_NEAR(factor(true, false), averaged(true, false), 1e-6);
  EXPECT_LT(factor(true, false), 0.97);  // there is something to see
}

TEST(TfSmearFactorNode, IsTheAverageOverFrequency) {
  EXPECT_NEAR(factor(false, true), averaged(false, true), 1e-6);
  EXPECT_LT(factor(false, true), 0.9);
}

TEST(TfSmearFactorNode, IsTheAverageOverBoth) {
  // The product of two sincs leaves out that the rate grows across the channel: of order (1 - sinc) dnu/nu.
  EXPECT_NEAR(factor(true, true), averaged(true, true), 1e-3);
}

TEST(TfSmearFactorNode, LeavesOutWhatIsNotAskedForOrNotKnown) {
  EXPECT_EQ(factor(false, false), 1);
  EXPECT_EQ(factor(true, false, false), 1);
  EXPECT_EQ(factor(true, true, false), factor(false, true));
}

TEST(TfSmearFactorNode, IsOneAtThePhaseCentre) {
  expect_near(
      evaluate_class("TFSmearFactor", {array({3}, {0, 0, 1}), array({2, 3}, {1e6, 1e6, 1e6, 10, 10, 10})}).at(0), 1, 0);
}

}  // namespace
}  // namespace rimetree::test
