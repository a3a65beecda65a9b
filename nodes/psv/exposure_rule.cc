#include "nodes/psv/exposure_rule.h"

#include <array>
#include <cmath>

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

}  // namespace rimetree::psv
