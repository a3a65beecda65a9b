// The gridding kernel: the error bounds that it claims are found again from the kernel as it is evaluated.
#include "nodes/psv/fourier/gridding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "nodes/psv/delay/delay.h"
#include "nodes/psv/fourier/transform.h"

namespace rimetree::psv::delay {
namespace {

constexpr long double kTau = 6.283185307179586476925286766559005768L;
using Big = std::complex<long double>;

/// psi at the cells that it covers, by the polynomials.
long double evaluated(const GriddingKernel& kernel, int cell, long double place) {
  long double y = 0;
  for (int p = kernel.degree; p >= 0; --p) y = y * place + kernel.coefficient[p * kernel.stride + 2 * cell];
  return y;
}

TEST(Gridding, BoundsHoldForTheKernelAsEvaluated) {
  for (int width = 4; width <= kMaxKernelWidth; width += 2) {
    const GriddingKernel& kernel = gridding_kernel(width);
    double worst = 0;
    for (int a = 0; a <= 64; ++a)
      for (int b = 0; b <= 225; ++b) {
        const long double place = -1 + a / 32.0L, kappa = b / 1000.0L;
        Big sum = 0;
        for (int j = 0; j < width; ++j) {
          const long double x = j + (place + 1) / 2 - width / 2.0L;
          sum += evaluated(kernel, j, place) * std::polar(1.0L, kTau * kappa * x);
        }
        worst = std::max(worst, static_cast<double>(std::abs(sum / kernel.transform(kappa) - 1.0L)));
      }
    EXPECT_LT(worst, kernel.bound) << "width " << width;
    EXPECT_GT(worst, 0.3 * kernel.bound) << "width " << width << ": the bound is needlessly wide";
  }
}

TEST(Gridding, TransformIsThatOfTheKernel) {
  for (const int width : {4, 8, 16}) {
    const GriddingKernel& kernel = gridding_kernel(width);
    for (const long double kappa : {0.0L, 0.1L, 0.225L}) {
      // Gauss-Chebyshev quadrature would do; Simpson's rule with many points is plainer.
      constexpr int kPoints = 20000;
      long double sum = 0;
      for (int i = 0; i <= kPoints; ++i) {
        const long double x = width * (i / static_cast<long double>(kPoints) - 0.5L);
        sum += (i == 0 || i == kPoints ? 1 : i % 2 == 1 ? 4 : 2) * kernel.value(x) * std::cos(kTau * kappa * x);
      }
      EXPECT_NEAR(sum * width / kPoints / 3 / kernel.transform(kappa), 1, 1e-10);
      long double inverse = 0;
      for (auto it = kernel.inverse.rbegin(); it != kernel.inverse.rend(); ++it)
        inverse = inverse * (2 * kappa * kappa / (kLargestKappa * kLargestKappa) - 1) + *it;
      EXPECT_NEAR(inverse * kernel.transform(kappa), 1, 4e-16);
    }
    EXPECT_NEAR(kernel.growth, kernel.transform(0) / kernel.transform(kLargestKappa), 1e-12);
  }
}

TEST(Gridding, TheBoundOfTwoStepsTakesErrorsThatTheSecondStepAddsUp) {
  for (int width = 4; width <= kMaxKernelWidth; width += 2) {
    const GriddingKernel& kernel = gridding_kernel(width);
    // Errors of the first step at all cells that one interpolation reads, as large as they may be and of one phase.
    long double most = 0;
    for (int a = 0; a <= 64; ++a) {
      long double sum = 0;
      for (int j = 0; j < width; ++j) sum += std::abs(evaluated(kernel, j, -1 + a / 32.0L));
      most = std::max(most, sum / kernel.transform(kLargestKappa));
    }
    const auto error = static_cast<double>(kernel.bound * (1 + most));
    EXPECT_LE(error, two_step_bound(kernel)) << "width " << width;
    EXPECT_GT(error, 0.9 * two_step_bound(kernel)) << "width " << width << ": the bound is needlessly wide";
  }
}

TEST(Gridding, WiderKernelsAreChosenForSmallerErrors) {
  int last = 0;
  for (double error = 1e-2; error > 5e-13; error /= 10) {
    const int width = kernel_width_for(error);
    ASSERT_GE(width, std::max(last, 4)) << error;
    EXPECT_LE(two_step_bound(gridding_kernel(width)), error);
    last = width;
  }
  EXPECT_EQ(kernel_width_for(1e-15), 0);
}

TEST(Gridding, TransformsOfAnyGoodLengthAgreeWithTheirDefinition) {
  EXPECT_EQ(good_transform_length(1), 16u);
  EXPECT_EQ(good_transform_length(4128), 4320u);
  const auto transform = FourierTransform::of_length(48);
  EXPECT_EQ(FourierTransform::of_length(48), transform);
  alignas(64) Complex<double> in[48], out[48];
  for (int j = 0; j < 48; ++j) in[j] = {std::cos(0.3 * j * j), std::sin(1.7 * j)};
  transform->run(in, out);
  for (int k = 0; k < 48; ++k) {
    Big sum = 0;
    for (int j = 0; j < 48; ++j) sum += Big(in[j].re, in[j].im) * std::polar(1.0L, kTau * j * k / 48);
    EXPECT_NEAR(out[k].re, static_cast<double>(sum.real()), 1e-13);
    EXPECT_NEAR(out[k].im, static_cast<double>(sum.imag()), 1e-13);
  }
}

TEST(DelaySeries, RulesForTheExposureKeepTheirBound) {
  for (int n = 1; n <= kMaxExposureNodes; ++n) {
    const ExposureRule& rule = exposure_rule(n);
    for (const double a : {0.01, 0.5, 1.0, 3.0}) {
      long double mean = 0;
      for (int i = 0; i < n; ++i) mean += rule.weight[i] * std::cos(static_cast<long double>(a) * rule.node[i]);
      const double error = static_cast<double>(std::abs(mean - std::sin(static_cast<long double>(a)) / a));
      EXPECT_LE(error, exposure_rule_error(n, a) + 3e-16) << n << " nodes, " << a << " rad";
    }
  }
  EXPECT_EQ(exposure_rule_error(1, 0), 0);
  for (int n = 1; n <= kMaxExposureNodes; ++n)
    for (const double error : {1e-3, 1e-8, 5e-15})
      EXPECT_NEAR(exposure_rule_error(n, exposure_rule_limit(n, error)), error, 1e-10 * error);
}

TEST(DelaySeries, TapersKeepTheirBound) {
  const double low = 0.9e9, high = 1.7e9, centre = 1.3e9, half = 0.4e9;
  for (Profile profile = 0; profile < Profiles::kCount; ++profile)
    for (const double argument : {1e-3, 0.1, 1.0, 10.0, 1000.0, 1e4, 1e5})
      for (const double error : {1e-3, 1e-6, 1e-12}) {
        const double e = argument / (high * high);
        const int n = taper_terms(profile, e, low, high, error);
        if (argument > 1000 && n == 0) continue;  // too long: another method is taken
        ASSERT_GT(n, 0) << name_of(profile) << " " << argument << " " << error;
        const std::vector<double>& matrix = chebyshev_matrix(n);
        std::vector<double> c(n, 0.0);
        for (int j = 0; j < n; ++j)
          for (int i = 0; i < n; ++i) {
            const double nu = centre + half * chebyshev_point(i, n);
            c[j] += matrix[j * n + i] * taper_of(profile, e * nu * nu);
          }
        double worst = 0;
        for (int k = 0; k <= 1000; ++k) {
          const double x = -1 + k / 500.0, nu = centre + half * x;
          double sum = 0;
          for (int j = 0; j < n; ++j) sum += c[j] * std::cos(j * std::acos(x));
          worst = std::max(worst, std::abs(sum - taper_of(profile, e * nu * nu)));
        }
        EXPECT_LE(worst, error + 1e-14) << name_of(profile) << " " << argument << " " << error << ": " << n << " terms";
      }
  EXPECT_EQ(taper_terms(0, 0, low, high, 1e-12), 1);
  EXPECT_EQ(taper_terms(0, 1e-14, 1e6, 1e9, 1e-12), 0) << "a band of 1:1000 has no short series";
}

}  // namespace
}  // namespace rimetree::psv::delay
