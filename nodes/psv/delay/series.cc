// The series and rules behind the delay method, with their error bounds.
#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>

#include "nodes/psv/delay/delay.h"

namespace rimetree::psv {
namespace {

constexpr long double kPiLong = 3.14159265358979323846264338327950288L;

/// Legendre polynomial of degree n and its derivative.
void legendre(int n, long double x, long double& value, long double& slope) {
  long double before = 1;
  value = x;
  for (int k = 2; k <= n; ++k) {
    const long double next = ((2 * k - 1) * x * value - (k - 1) * before) / k;
    before = value;
    value = next;
  }
  slope = n * (x * value - before) / (x * x - 1);
}

ExposureRule make_rule(int n) {
  ExposureRule rule{};
  if (n == 1) return {{0.0}, {1.0}};
  for (int i = 0; i < n; ++i) {
    long double x = std::cos(kPiLong * (i + 0.75L) / (n + 0.5L)), value = 0, slope = 1;
    for (int step = 0; step < 30; ++step) {
      legendre(n, x, value, slope);
      x -= value / slope;
    }
    rule.node[i] = static_cast<double>(x);
    rule.weight[i] = static_cast<double>(1 / ((1 - x * x) * slope * slope));
  }
  return rule;
}

}  // namespace

const ExposureRule& exposure_rule(int n_node) {
  static const std::array<ExposureRule, kMaxExposureNodes> rules = [] {
    std::array<ExposureRule, kMaxExposureNodes> made{};
    for (int n = 1; n <= kMaxExposureNodes; ++n) made[n - 1] = make_rule(n);
    return made;
  }();
  return rules.at(static_cast<std::size_t>(n_node - 1));
}

double exposure_rule_error(int n, double a_rad) {
  if (a_rad == 0) return 0;
  const double log_error = 2 * n * std::log(2 * a_rad) + 4 * std::lgamma(n + 1.0) - 3 * std::lgamma(2 * n + 1.0);
  return std::exp(log_error) / (2 * n + 1);
}

double exposure_rule_limit(int n, double error) {
  const double log_factor = 4 * std::lgamma(n + 1.0) - 3 * std::lgamma(2 * n + 1.0) - std::log(2 * n + 1.0);
  return 0.5 * std::exp((std::log(error) - log_factor) / (2 * n));
}

double chebyshev_point(int i, int n_term) {
  return static_cast<double>(std::cos(kPiLong * (i + 0.5L) / static_cast<long double>(n_term)));
}

const std::vector<double>& chebyshev_matrix(int n_term) {
  static std::array<std::once_flag, kMaxTerms + 1> once;
  static std::array<std::vector<double>, kMaxTerms + 1> matrices;
  std::call_once(once.at(static_cast<std::size_t>(n_term)), [n_term] {
    std::vector<double>& m = matrices[static_cast<std::size_t>(n_term)];
    for (int j = 0; j < n_term; ++j)
      for (int i = 0; i < n_term; ++i)
        m.push_back(static_cast<double>((j == 0 ? 1.0L : 2.0L) / n_term * std::cos(kPiLong * j * (i + 0.5L) / n_term)));
  });
  return matrices[static_cast<std::size_t>(n_term)];
}

/// The interpolant through n Chebyshev points of a function analytic and bounded by M on the ellipse of parameter r
/// about [-1, 1] is within 4 M r^(1-n)/(r - 1) (Trefethen 2013, Approximation Theory and Approximation Practice,
/// theorem 8.2, degree n - 1). On the ellipse nu = centre + half (r e^it + e^-it/r)/2, a profile bounds
/// |G(X nu^2)| by X Re nu^2, and Re nu^2 = (centre + a cos t)^2 - b^2 sin^2 t, a quadratic in cos t, is smallest at cos
/// t = -centre a/(a^2 + b^2) or, where that lies beyond, at -1. Where that minimum is not negative M is 1 whatever X
/// is; else the largest X decides.
int taper_terms(Profile profile, double x_max, double low_hz, double high_hz, double error) {
  const double centre = 0.5 * (low_hz + high_hz), half = 0.5 * (high_hz - low_hz);
  if (x_max == 0 || half == 0) return 1;
  int best = kMaxTerms + 1;
  for (int i = 1; i <= 96; ++i) {
    const double r = std::pow(10.0, i / 24.0);
    const double a = 0.5 * half * (r + 1 / r), b = 0.5 * half * (r - 1 / r);
    const double c = std::max(-1.0, -centre * a / (a * a + b * b));
    const double smallest = (centre + a * c) * (centre + a * c) - b * b * (1 - c * c);
    const double log_m = smallest < 0 ? log_bound(profile, x_max * smallest) : 0;
    // 4 M r^(1-n)/(r-1) <= error.
    const double n = 1 + (std::log(4 / ((r - 1) * error)) + log_m) / std::log(r);
    if (n <= kMaxTerms) best = std::min(best, std::max(1, static_cast<int>(std::ceil(n))));
  }
  return best <= kMaxTerms ? best : 0;
}

}  // namespace rimetree::psv
