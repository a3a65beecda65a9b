// The series behind the delay method, with their error bounds.
#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <numbers>

#include "nodes/psv/delay/delay.h"

namespace rimetree::psv::delay {

double chebyshev_point(int i, int n_term) {
  return static_cast<double>(std::cos(std::numbers::pi_v<long double> * (i + 0.5L) / static_cast<long double>(n_term)));
}

const std::vector<double>& chebyshev_matrix(int n_term) {
  static std::array<std::once_flag, kMaxTerms + 1> once;
  static std::array<std::vector<double>, kMaxTerms + 1> matrices;
  std::call_once(once.at(static_cast<std::size_t>(n_term)), [n_term] {
    std::vector<double>& m = matrices[static_cast<std::size_t>(n_term)];
    for (int j = 0; j < n_term; ++j)
      for (int i = 0; i < n_term; ++i)
        m.push_back(static_cast<double>((j == 0 ? 1.0L : 2.0L) / n_term *
                                        std::cos(std::numbers::pi_v<long double> * j * (i + 0.5L) / n_term)));
  });
  return matrices[static_cast<std::size_t>(n_term)];
}

/// The interpolant through n Chebyshev points of a function analytic and bounded by M on the ellipse of parameter r
/// about [-1, 1] is within 4 M r^(1-n)/(r - 1) (Trefethen 2013, Approximation Theory and Approximation Practice,
/// theorem 8.2, degree n - 1). On the ellipse nu = centre + half (r e^it + e^-it/r)/2, a profile bounds
/// |G(X nu^2)| by X Re nu^2 and sqrt(X) |Im nu| <= sqrt(X) b. Re nu^2 = (centre + a cos t)^2 - b^2 sin^2 t, a quadratic
/// in cos t, is smallest at cos t = -centre a/(a^2 + b^2) or, where that lies beyond, at -1. The largest X of the
/// sources decides where that minimum is negative, X = 0 where it is not.
int taper_terms(Profile profile, double x_max, double low_hz, double high_hz, double error) {
  const double centre = 0.5 * (low_hz + high_hz), half = 0.5 * (high_hz - low_hz);
  if (x_max == 0 || half == 0) return 1;
  int best = kMaxTerms + 1;
  for (int i = 1; i <= 96; ++i) {
    const double r = std::pow(10.0, i / 24.0);
    const double a = 0.5 * half * (r + 1 / r), b = 0.5 * half * (r - 1 / r);
    const double c = std::max(-1.0, -centre * a / (a * a + b * b));
    const double smallest = (centre + a * c) * (centre + a * c) - b * b * (1 - c * c);
    const double log_m = log_bound(profile, x_max * std::min(smallest, 0.0), std::sqrt(x_max) * b);
    // 4 M r^(1-n)/(r-1) <= error.
    const double n = 1 + (std::log(4 / ((r - 1) * error)) + log_m) / std::log(r);
    if (n <= kMaxTerms) best = std::min(best, std::max(1, static_cast<int>(std::ceil(n))));
  }
  return best <= kMaxTerms ? best : 0;
}

}  // namespace rimetree::psv::delay
