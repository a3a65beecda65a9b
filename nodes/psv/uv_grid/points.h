// Polynomials through Chebyshev points, and how many points phases that turn so far need.
#pragma once

#include <vector>

namespace rimetree::psv::uv_grid {

inline constexpr int kMostPoints = 256;

/// The errors of interpolating exp(i phase x), |x| <= 1, at n Chebyshev points are at most these, [n]; with more points
/// they are lost in rounding. The coefficients of its series are 2 J_j(phase) (Abramowitz & Stegun 1964, 9.1.44 and
/// 9.1.45), and those left out come in twice (Trefethen 2013, Approximation Theory and Approximation Practice, theorem
/// 4.2). Empty: more than kMostPoints would be needed.
std::vector<double> points_errors(double phase_rad);
/// The fewest points with such an error; 0: too many.
int fewest_points(const std::vector<double>& errors, double error);
/// The same for phases in steps of half an octave, of which it is kept.
int step_of(double phase_rad);
double phase_of_step(int step);
int points_of_step(int step, double error);
/// By how much errors at n Chebyshev points may grow between them (Trefethen 2013, theorem 15.2).
double growth_between(int n);

/// Polynomials through n Chebyshev points, in barycentric form (Trefethen 2013, theorem 5.2).
struct Points {
  explicit Points(int n);
  /// What the value at each point counts at x.
  void shares(double x, double* share) const;
  /// The same of the mean over [x - half, x + half], by a rule of so many nodes.
  void mean_shares(double x, double half, int n_node, double* share) const;
  int n;
  double at[kMostPoints], weight[kMostPoints];
};

}  // namespace rimetree::psv::uv_grid
