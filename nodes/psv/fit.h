// Polynomials in frequency that stand for the time smearing within a run of channels.
#pragma once

#include "nodes/psv/kernel.h"

namespace rimetree::psv {

inline constexpr int kMaxDegree = 8;

/// Interpolation at the Chebyshev points of [-1, 1]: coefficient i of the polynomial is sum_j matrix[i][j] f(node[j]).
struct Fit {
  int degree = 0;
  double node[kMaxDegree + 1] = {};
  double matrix[kMaxDegree + 1][kMaxDegree + 1] = {};
};

/// The fit of degree kDegrees[index].
const Fit& polynomial_fit(int index);

/// Largest half-span h, in radians of the sinc's argument, that a polynomial of degree d follows within `error`: the
/// interpolation error is at most h^(d+1) max|sinc^(d+1)| / (2^d (d+1)!), and |sinc^(n)| <= 1/(n+1) since sinc(x) is
/// the mean of cos(x t) over t in [0, 1].
double largest_half_span(int index, double error);

}  // namespace rimetree::psv
