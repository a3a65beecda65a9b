// Polynomials through Chebyshev points, and how many points phases that turn so far need.
#pragma once

namespace rimetree::psv::uv_grid {

inline constexpr int kMostPoints = 256;

/// The error of interpolating exp(i phase x), |x| <= 1, at n Chebyshev points is at most this: the coefficients of its
/// series are 2 J_j(phase) (Abramowitz & Stegun 1964, 9.1.44 and 9.1.45), and those left out come in twice (Trefethen
/// 2013, Approximation Theory and Approximation Practice, theorem 4.2).
double points_error(int n, double phase_rad);
/// The fewest points with such an error; 0: too many.
int points_for(double phase_rad, double error);
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
