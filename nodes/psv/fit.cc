#include "nodes/psv/fit.h"

#include <cmath>

namespace rimetree::psv {
namespace {

Fit make_fit(int degree) {
  constexpr long double kPiLong = 3.14159265358979323846264338327950288L;
  Fit fit;
  fit.degree = degree;
  long double node[kMaxDegree + 1];
  for (int j = 0; j <= degree; ++j) {
    // The node that the seeds use is the rounded one; the basis belongs to that.
    fit.node[j] = static_cast<double>(std::cos(kPiLong * (j + 0.5L) / (degree + 1)));
    node[j] = fit.node[j];
  }
  for (int j = 0; j <= degree; ++j) {
    // The Lagrange polynomial of node j, multiplied out factor by factor.
    long double c[kMaxDegree + 2] = {1};
    int order = 0;
    for (int i = 0; i <= degree; ++i) {
      if (i == j) continue;
      const long double scale = 1 / (node[j] - node[i]);
      for (int p = ++order; p >= 0; --p) c[p] = ((p > 0 ? c[p - 1] : 0) - node[i] * (p < order ? c[p] : 0)) * scale;
    }
    for (int i = 0; i <= degree; ++i) fit.matrix[i][j] = static_cast<double>(c[i]);
  }
  return fit;
}

}  // namespace

const Fit& polynomial_fit(int index) {
  static const Fit fits[3] = {make_fit(kDegrees[0]), make_fit(kDegrees[1]), make_fit(kDegrees[2])};
  return fits[index];
}

double largest_half_span(int index, double error) {
  const int d = kDegrees[index];
  return std::pow(error * std::ldexp(1.0, d) * std::tgamma(d + 2.0) * (d + 2.0), 1.0 / (d + 1.0));
}

}  // namespace rimetree::psv
