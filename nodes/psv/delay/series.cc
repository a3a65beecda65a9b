// The series behind the delay method, with their error bounds.
#include <algorithm>
#include <cmath>

#include "nodes/psv/delay/delay.h"

namespace rimetree::psv::delay {

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
