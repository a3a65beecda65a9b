// The conventions against independent derivations: rotation of the Earth, numerical averages and Fourier integrals.
#include "runtime/math/conventions.h"

#include <gtest/gtest.h>

#include <complex>
#include <functional>
#include <limits>

namespace rimetree {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr long double kTau = 6.28318530717958647692528676655900577L;

TEST(Conventions, Constants) {
  EXPECT_EQ(kSpeedOfLight_m_s, 299792458.0);
  EXPECT_EQ(kPi, static_cast<double>(kTau / 2));
  // One turn in a stellar day of 86164.0989 s; the constant has seven digits.
  EXPECT_NEAR(static_cast<double>(kTau) / kEarthRotation_rad_s, 86164.0989, 0.006);
}

TEST(Conventions, NOffsetDoesNotCancel) {
  for (const double l : {0.0, 1e-12, 1e-6, 1e-3, 0.1, -0.6})
    for (const double m : {0.0, 3e-9, -0.01, 0.7}) {
      const long double square = static_cast<long double>(l) * l + static_cast<long double>(m) * m;
      const long double n = std::sqrt(1 - square);
      const double expected = static_cast<double>(-square / (1 + n));
      EXPECT_NEAR(n_offset(l, m, static_cast<double>(n), 1), expected, 4 * kEpsilon * std::abs(expected));
      EXPECT_EQ(n_offset(l, m, static_cast<double>(n), 0), static_cast<double>(n));
    }
  EXPECT_DOUBLE_EQ(n_offset(0.6, 0.0, -0.8, 1), -1.8) << "behind the sky plane";
  EXPECT_EQ(n_offset(0.0, 0.0, 1.0, 1), 0.0) << "no phase at the phase centre";
}

TEST(Conventions, PathIsTheScalarProduct) {
  EXPECT_DOUBLE_EQ(path_difference_m(100.0, 200.0, -50.0, 0.01, -0.02, -0.00025), 1.0 - 4.0 + 0.0125);
}

TEST(Conventions, SincAndItsDerivative) {
  EXPECT_EQ(sinc(0.0), 1.0);
  EXPECT_NEAR(sinc(kPi), 0, kEpsilon);
  for (const double x : {1e-9, 0.99e-4, 1e-4, 1.01e-4, 0.5, 3.0, 100.0}) {
    const long double wide = x, value = std::sin(wide) / wide;
    EXPECT_NEAR(sinc(x), static_cast<double>(value), 2 * kEpsilon) << x;
    EXPECT_EQ(sinc(-x), sinc(x));
    // (cos x - sinc x)/x loses epsilon/x.
    const double slope =
        static_cast<double>(x < 0.01 ? -wide / 3 + wide * wide * wide / 30 : (std::cos(wide) - value) / wide);
    EXPECT_NEAR(sinc(Dual<double>(x, 1)).d, slope, 4 * kEpsilon / std::min(1.0, std::max(x, 1e-4))) << x;
  }
  EXPECT_EQ(sinc(Dual<double>(0, 1)).d, 0) << "finite at 0";
}

TEST(Conventions, SmearingIsTheAverageOfAFringeOverACell) {
  for (const double change : {0.0, 0.01, 0.5, 2.0, 7.0}) {
    // Midpoint rule on 20000 intervals: error change^2/(24 n^2) ~ 1e-8 * 0.5.
    long double average = 0;
    constexpr int kSteps = 20000;
    for (int i = 0; i < kSteps; ++i) average += std::cos(change * ((i + 0.5L) / kSteps - 0.5L));
    average /= kSteps;
    EXPECT_NEAR(smearing(change), static_cast<double>(average), 1e-8) << change;
  }
}

TEST(Conventions, UvwRateIsTheRotationOfTheBaseline) {
  // A baseline fixed to the Earth, X towards the meridian on the equator, Y east, Z the pole, seen from hour angle H
  // and declination d: the textbook matrix, differentiated numerically.
  const long double x = 1234.5L, y = -4321, z = 987.25L;
  for (const double declination : {-0.7, 0.0, 0.3, 1.5})
    for (const double hour : {-2.0, 0.1, 1.0}) {
      const auto uvw = [&](long double h, int axis) {
        const long double s = std::sin(static_cast<long double>(declination)),
                          c = std::cos(static_cast<long double>(declination));
        if (axis == 0) return std::sin(h) * x + std::cos(h) * y;
        if (axis == 1) return -s * std::cos(h) * x + s * std::sin(h) * y + c * z;
        return c * std::cos(h) * x - c * std::sin(h) * y + s * z;
      };
      double now[3], rate[3], minus[3], rate_of_minus[3];
      for (int axis = 0; axis < 3; ++axis) now[axis] = static_cast<double>(uvw(hour, axis)), minus[axis] = -now[axis];
      uvw_rate(now, declination, rate);
      uvw_rate(minus, declination, rate_of_minus);
      for (int axis = 0; axis < 3; ++axis) {
        const long double step = 1e-4L;
        const long double slope = (uvw(hour + step, axis) - uvw(hour - step, axis)) / (2 * step);
        // The central difference is off by step^2/6 of the length.
        EXPECT_NEAR(rate[axis], static_cast<double>(slope * kEarthRotation_rad_s), 5000 * 1e-8 * 7.3e-5);
        EXPECT_EQ(rate_of_minus[axis], -rate[axis]) << "baselines of the other family";
      }
    }
}

}  // namespace
}  // namespace rimetree
