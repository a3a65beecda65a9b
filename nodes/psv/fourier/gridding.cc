#include "nodes/psv/fourier/gridding.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <numbers>

namespace rimetree::psv::fourier {
namespace {

// Largest error over one cell and |kappa| <= kLargestKappa of the kernels as built here, rounded up; tests/nodes/
// psv/fourier/gridding_test.cc finds them again. Widths 4, 6 .. 16.
constexpr double kBounds[7] = {9.5e-4, 8.6e-6, 1.2e-7, 1.5e-9, 1.25e-11, 1.35e-13, 2.0e-15};

/// The modified Bessel function of order 0: its series has positive terms only.
long double bessel_i0(long double x) {
  long double term = 1, sum = 1;
  for (int k = 1; term > 1e-21L * sum; ++k) {
    term *= (x / (2 * k)) * (x / (2 * k));
    sum += term;
  }
  return sum;
}

/// Monomial coefficients of the polynomial of degree d through f at the Chebyshev points of [-1, 1]. They are made from
/// the Chebyshev coefficients, which fall quickly, so that little is lost to cancellation.
template <class F>
std::vector<long double> interpolating_polynomial(int d, F&& f) {
  const int n = d + 1;
  std::vector<long double> value(n), sum(n, 0.0L), before(n, 0.0L), now(n, 0.0L), next(n);
  for (int i = 0; i < n; ++i) value[i] = f(std::cos(std::numbers::pi_v<long double> * (i + 0.5L) / n));
  now[0] = 1;
  for (int j = 0; j < n; ++j) {
    long double c = 0;
    for (int i = 0; i < n; ++i) c += value[i] * std::cos(std::numbers::pi_v<long double> * j * (i + 0.5L) / n);
    c *= (j == 0 ? 1.0L : 2.0L) / n;
    for (int p = 0; p < n; ++p) sum[p] += c * now[p];
    // T_(j+1) = 2 t T_j - T_(j-1), but for T_1 = t.
    for (int p = 0; p < n; ++p) next[p] = (j == 0 ? 1 : 2) * (p > 0 ? now[p - 1] : 0) - before[p];
    before = now;
    now = next;
  }
  return sum;
}

long double horner(const std::vector<long double>& c, long double t) {
  long double y = 0;
  for (auto it = c.rbegin(); it != c.rend(); ++it) y = y * t + *it;
  return y;
}

/// Largest difference between a polynomial and f.
template <class F>
long double misfit(const std::vector<long double>& c, F&& f) {
  long double worst = 0;
  for (int i = 0; i <= 40; ++i) {
    const long double t = -1 + i / 20.0L;
    worst = std::max(worst, std::abs(horner(c, t) - f(t)));
  }
  return worst;
}

/// The kernel is analytic within its support, so that polynomials converge quickly; they stop where their error is
/// lost in the kernel's own, or in rounding.
void fit_cells(GriddingKernel& kernel) {
  const long double enough = std::max(0.001L * kernel.bound, 2e-17L);
  for (kernel.degree = 6; kernel.degree < 24; ++kernel.degree) {
    std::vector<std::vector<long double>> cells;
    long double worst = 0;
    for (int j = 0; j < kernel.width; ++j) {
      const auto psi = [&](long double t) { return kernel.value(j + (t + 1) / 2 - kernel.width / 2.0L); };
      cells.push_back(interpolating_polynomial(kernel.degree, psi));
      worst = std::max(worst, misfit(cells.back(), psi));
    }
    if (worst > enough) continue;
    kernel.coefficient.assign((kernel.degree + 1) * kernel.stride, 0.0);
    for (int p = 0; p <= kernel.degree; ++p)
      for (int j = 0; j < kernel.width; ++j)
        for (int part = 0; part < 2; ++part)
          kernel.coefficient[p * kernel.stride + 2 * j + part] = static_cast<double>(cells[j][p]);
    return;
  }
}

void fit_inverse(GriddingKernel& kernel) {
  const auto inverse = [&](long double t) { return 1 / kernel.transform(kLargestKappa * std::sqrt((t + 1) / 2)); };
  for (int degree = 6; degree <= 24; ++degree) {
    const auto c = interpolating_polynomial(degree, inverse);
    kernel.inverse.assign(c.begin(), c.end());
    if (misfit(c, inverse) < 2e-17L * inverse(-1)) return;
  }
}

GriddingKernel make_kernel(int width) {
  GriddingKernel kernel;
  kernel.width = width;
  kernel.stride = 2 * ((width + 3) / 4 * 4);
  const double ratio = width * (1 - kLargestKappa);  // w/s (s - 1/2) with s = 1/(2 kLargestKappa)
  kernel.beta = static_cast<double>(std::numbers::pi_v<long double>) * std::sqrt(ratio * ratio - 0.8);
  kernel.peak = bessel_i0(kernel.beta);
  kernel.bound = kBounds[width / 2 - 2];
  kernel.growth = static_cast<double>(kernel.transform(0) / kernel.transform(kLargestKappa));
  fit_cells(kernel);
  fit_inverse(kernel);
  return kernel;
}

}  // namespace

long double GriddingKernel::value(long double x) const {
  const long double z = 2 * x / width, square = 1 - z * z;
  // Just outside, within rounding, the series goes on with the same value.
  return bessel_i0(beta * std::sqrt(std::max(square, 0.0L))) / peak;
}

long double GriddingKernel::transform(long double kappa) const {
  const long double xi = std::numbers::pi_v<long double> * width * kappa, s = std::sqrt((beta - xi) * (beta + xi));
  return width * std::sinh(s) / (s * peak);
}

double GriddingKernel::inverse_transform(double kappa) const {
  const double t = 2 * (kappa / kLargestKappa) * (kappa / kLargestKappa) - 1;
  double y = 0;
  for (auto it = inverse.rbegin(); it != inverse.rend(); ++it) y = y * t + *it;
  return y;
}

const GriddingKernel& gridding_kernel(int width) {
  static std::array<std::once_flag, kMaxKernelWidth / 2 - 1> once;
  static std::array<GriddingKernel, kMaxKernelWidth / 2 - 1> kernels;
  const auto index = static_cast<std::size_t>(width / 2 - 2);
  std::call_once(once.at(index), [&] { kernels[index] = make_kernel(width); });
  return kernels[index];
}

double two_step_bound(const GriddingKernel& kernel) { return kernel.bound * (1 + kernel.growth * (1 + kernel.bound)); }

int kernel_width_for(double error) {
  for (int width = 4; width <= kMaxKernelWidth; width += 2)
    if (two_step_bound(gridding_kernel(width)) <= error) return width;
  return 0;
}

}  // namespace rimetree::psv::fourier
