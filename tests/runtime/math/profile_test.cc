// Profiles of shapes against the Fourier transforms of their brightness, by quadrature, and what they say of
// themselves.
#include "runtime/math/profile.h"

#include <gtest/gtest.h>

#include <complex>
#include <vector>

#include "runtime/math/traced.h"

namespace rimetree {
namespace {

using Real = long double;
constexpr Real kTau = 6.28318530717958647692528676655900577L;

constexpr Profile kGaussian = 0, kDisk = 1, kUniform = 2;

/// Brightness at a distance in units of the axes, and beyond which distance there is none to 1e-20.
Real brightness(Profile profile, Real r) {
  return profile == kGaussian ? std::exp2(-4 * r * r) : profile == kDisk ? std::exp(-r) : Real(1);
}
Real reach(Profile profile) { return profile == kGaussian ? 4.2L : profile == kDisk ? 52 : 0.5L; }

/// Nodes and weights of Gauss-Legendre quadrature on [-1, 1].
void gauss_legendre(int n, std::vector<Real>& node, std::vector<Real>& weight) {
  for (int i = 0; i < n; ++i) {
    Real x = std::cos(kTau / 2 * (i + 0.75L) / (n + 0.5L)), slope = 0;
    for (int step = 0; step < 20; ++step) {
      Real p0 = 1, p1 = x;
      for (int k = 2; k <= n; ++k) {
        const Real p2 = ((2 * k - 1) * x * p1 - (k - 1) * p0) / k;
        p0 = p1, p1 = p2;
      }
      slope = n * (x * p1 - p0) / (x * x - 1);
      x -= p1 / slope;
    }
    node.push_back(x), weight.push_back(2 / ((1 - x * x) * slope * slope));
  }
}

/// The transform of a round source of unit flux at q in units of 1/axis: int b(r) J0(2 pi q r) r dr / int b(r) r dr, J0
/// as the mean of cos(2 pi q r cos t) over t, by a rule that converges faster than any power for periodic functions.
Real transform(Profile profile, Real q) {
  std::vector<Real> node, weight;
  gauss_legendre(30, node, weight);
  constexpr int kPanels = 40;
  Real sum = 0, flux = 0;
  for (int panel = 0; panel < kPanels; ++panel)
    for (std::size_t i = 0; i < node.size(); ++i) {
      const Real r = reach(profile) * (panel + 0.5L * (node[i] + 1)) / kPanels, z = kTau * q * r;
      const int n = 16 + static_cast<int>(z);
      Real mean = 0;
      for (int k = 0; k < n; ++k) mean += std::cos(z * std::cos(kTau / 4 * (k + 0.5L) / n)) / n;
      const Real b = weight[i] * brightness(profile, r) * r;
      sum += b * mean, flux += b;
    }
  return sum / flux;
}

/// G(z) of complex numbers, as far as the series of the uniform disk goes.
std::complex<double> complex_taper(Profile profile, std::complex<double> z) {
  if (profile == kGaussian) return profiles::Gaussian::taper(z);
  if (profile == kDisk) return profiles::ExponentialDisk::taper(z);
  std::complex<double> sum = 0, term = 1;
  for (int k = 1; k < 60; ++k) sum += term, term *= -z / (4.0 * k * (k + 1));
  return sum;
}

TEST(Profile, TapersAreTransformsOfTheBrightness) {
  const double major = 2e-3, minor = 0.7e-3, angle = 0.6;
  for (const Profile profile : {kGaussian, kDisk, kUniform})
    for (const Real q : {0.0L, 0.01L, 0.1L, 0.35L, 0.8L, 1.5L, 2.6L, 7.0L})
      for (const double direction : {0.0, 0.9, 2.5}) {
        // (u, v) of which the source sees q, at an angle of its own, in units of its axes.
        const Real along = q * std::cos(direction) / major, across = q * std::sin(direction) / minor;
        const auto u = static_cast<double>(along * std::sin(angle) + across * std::cos(angle));
        const auto v = static_cast<double>(along * std::cos(angle) - across * std::sin(angle));
        EXPECT_NEAR(taper_of(profile, u, v, 1.0, major, minor, angle), static_cast<double>(transform(profile, q)),
                    1e-13)
            << name_of(profile) << " q " << double(q) << " direction " << direction;
      }
}

TEST(Profile, SlopesAndBoundsAreThoseOfTheTaper) {
  for (int i = 0; i < Profiles::kCount; ++i) {
    const auto profile = static_cast<Profile>(i);
    SCOPED_TRACE(name_of(profile));
    EXPECT_EQ(taper_of(profile, 0.0), 1.0);
    EXPECT_EQ(taper_of(profile, 1e5, 1e5, 1.0, 0.0, 0.0, 1.0), 1.0) << "a point";
    for (const double x : {0.0, 1e-9, 0.3, 7.0, 300.0}) {
      const Dual<double> moved = taper_of(profile, Dual<double>{x, 1.0});
      EXPECT_NEAR(moved.v, taper_of(profile, x), 1e-15);
      EXPECT_NEAR(moved.d, -fall_of(profile, x) * moved.v, 1e-15);
    }
    // From where G is flat to many turns of a uniform disk.
    for (double x = 1e-3; x < 1e4; x *= 1.01) {
      EXPECT_LE(std::abs(x * fall_of(profile, x) * taper_of(profile, x)), kSteepestTaper) << x;
    }
    for (const double bound : {-0.9, -0.1, 0.0})
      for (const double more : {0.0, 0.2, 3.0, 10.5})
        for (const double im : {0.0, 0.1, -2.0, 30.0}) {
          const std::complex<double> z(bound + more, im);
          EXPECT_LE(std::log(std::abs(complex_taper(profile, z))),
                    log_bound(profile, bound, std::abs(std::sqrt(z).imag())) + 1e-13);
        }
  }
}

TEST(Profile, NumbersAreThoseOfProfiles) {
  EXPECT_EQ(name_of(profile_of(0.0)), "gaussian");
  EXPECT_EQ(name_of(profile_of(1.0)), "exponential_disk");
  for (const double number : {-1.0, 0.5, double(Profiles::kCount), std::nan("")}) {
    EXPECT_EQ(profile_of(number), kUnknown);
    EXPECT_TRUE(std::isnan(taper_of(profile_of(number), 0.1)));
  }
  EXPECT_EQ(taper_of(kPoint, 3.0), 1.0);
  EXPECT_EQ(name_of(kPoint), "point");
}

TEST(Profile, GaussiansAreOneHalfAtTheirHalfWidth) {
  // The transform of a Gaussian of width theta has width 4 ln 2 / (pi theta).
  const double theta = 1e-3, half = 2 * std::log(2.0) / (kPi * theta);
  EXPECT_NEAR(taper_of(kGaussian, 0.0, 2 * half, 0.5, theta, theta / 2, 0.0), 0.5, 1e-14) << "major axis to the north";
  EXPECT_NEAR(taper_of(kGaussian, half, 0.0, 1.0, theta, theta / 2, kPi / 2), 0.5, 1e-14) << "and to the east";
}

}  // namespace
}  // namespace rimetree
