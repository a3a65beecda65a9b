// The project's conventions, each with its one formula. Everything that needs a sign, a frame or a definition of width
// includes this file; docs/conventions.md explains them for astronomers.
#pragma once

#include "runtime/math/complex.h"

namespace rimetree {

inline constexpr double kPi = 3.14159265358979323846264338327950288;
inline constexpr double kSpeedOfLight_m_s = 299792458.0;  ///< exact (SI)
/// Rotation of the Earth with respect to the stars, radians per second of UT1 (IERS Conventions 2010, table 1.1).
inline constexpr double kEarthRotation_rad_s = 7.292115e-5;

/// n - n_minus of a unit vector (l, m, n), free of cancellation near the phase centre. `n_minus` is 1 (fringe-stopped
/// at the phase centre) or 0.
template <class T>
RT_HD T n_offset(T l, T m, T n, int n_minus) {
  if (n_minus == 0) return n;
  // n - 1 = (n^2 - 1)/(n + 1) = -(l^2 + m^2)/(1 + n); behind the plane n = 0 there is nothing to cancel.
  return value_of(n) >= 0 ? -(l * l + m * m) / (T(1) + n) : n - T(1);
}

/// Length in metres by which the wave front is ahead: u l + v m + w (n - 1).
template <class T>
RT_HD T path_difference_m(T u, T v, T w, T l, T m, T n_offset) {
  return u * l + v * m + w * n_offset;
}

/// sin(x)/x, and 1 at 0.
template <class T>
RT_HD T sinc(T x) {
  using P = Plain<T>;
  if (abs(value_of(x)) >= P(0.3)) return sin(x) / x;
  // Near 0 the series, to x^12: at 0.3 the next term is 4e-20, and its derivative does not cancel as the quotient's.
  const T x2 = x * x;
  T sum = T(P(1.0 / 6227020800.0));
  for (const double coefficient : {-1.0 / 39916800.0, 1.0 / 362880.0, -1.0 / 5040.0, 1.0 / 120.0, -1.0 / 6.0, 1.0})
    sum = sum * x2 + T(P(coefficient));
  return sum;
}

/// Attenuation by averaging a fringe over a cell across which its phase changes by `phase_change_rad`.
template <class T>
RT_HD T smearing(T phase_change_rad) {
  return sinc(phase_change_rad * T(Plain<T>(0.5)));
}

/// Rate of change in metres per second of a baseline's (u, v, w) under the Earth's rotation, for a phase centre of
/// declination `dec_rad` (Thompson, Moran & Swenson 2017, eq. 4.1 differentiated by hour angle). Holds for both signs
/// of the baseline.
RT_HD inline void uvw_rate(const double* uvw_m, double dec_rad, double* rate_m_s) {
  const double s = std::sin(dec_rad), c = std::cos(dec_rad);
  rate_m_s[0] = kEarthRotation_rad_s * (uvw_m[2] * c - uvw_m[1] * s);
  rate_m_s[1] = kEarthRotation_rad_s * uvw_m[0] * s;
  rate_m_s[2] = -kEarthRotation_rad_s * uvw_m[0] * c;
}

}  // namespace rimetree
