// Means over a cell as sums over a few nodes, with their error bounds.
#pragma once

namespace rimetree::psv {

inline constexpr int kMaxExposureNodes = 24;

/// Gauss-Legendre rule on [-1, 1] whose weights sum to 1, i.e. for means.
struct ExposureRule {
  double node[kMaxExposureNodes], weight[kMaxExposureNodes];
};
const ExposureRule& exposure_rule(int n_node);

/// Bound of |mean of exp(i a t) over [-1, 1] - its rule of n nodes|: 2^(2n) n!^4 / ((2n+1) (2n)!^3) a^(2n) (Davis &
/// Rabinowitz 1984, Methods of Numerical Integration, eq. 2.7.12, with half the length of the interval).
double exposure_rule_error(int n_node, double a_rad);
/// The largest a at which that bound is `error`.
double exposure_rule_limit(int n_node, double error);

}  // namespace rimetree::psv
