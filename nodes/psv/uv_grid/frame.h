// Coordinates in which baselines and directions reach as little as possible in the third dimension.
//   u (l - l0) + v (m - m0) + w (n - n0) = U x + V y + W z
// with x = (l - l0) + a (n - n0), y = (m - m0) + b (n - n0), z = (n - n0) - alpha x - beta y,
//      W = w - a u - b v,         U = u + alpha W,          V = v + beta W.
// a and b say which plane baselines are nearest to, alpha and beta how the field is inclined to the line of sight.
#pragma once

#include "nodes/psv/kernel.h"

namespace rimetree::psv::uv_grid {

/// What three coordinates reach; NaN where one of them was.
struct Box {
  double low[3], high[3];
  Box();
  void include(const double (&at)[3]);
  double middle(int i) const { return 0.5 * low[i] + 0.5 * high[i]; }
  double half(int i) const { return 0.5 * (high[i] - low[i]); }
};

/// Coordinates are in long double: positions on large grids and phases of many turns keep what double precision has.
struct Point {
  long double at[3];
};

struct Frame {
  double l0 = 0, m0 = 0, n0 = 0, a = 0, b = 0, alpha = 0, beta = 0;

  /// x, y, z of a direction; n as n_high + n_low.
  Point of_direction(double l, double m, double n_high, double n_low) const {
    const long double dn = static_cast<long double>(n_high) - n0 + n_low;
    const long double x = static_cast<long double>(l) - l0 + a * dn, y = static_cast<long double>(m) - m0 + b * dn;
    return {{x, y, dn - alpha * x - beta * y}};
  }
  /// U, V, W, in metres or whatever u, v, w are in.
  Point of_baseline(double u, double v, double w) const {
    const long double third = w - static_cast<long double>(a) * u - static_cast<long double>(b) * v;
    return {{u + alpha * third, v + beta * third, third}};
  }
  /// u l0 + v m0 + w n0: what is the same for all directions.
  long double common_path(double u, double v, double w) const {
    return static_cast<long double>(u) * l0 + static_cast<long double>(v) * m0 + static_cast<long double>(w) * n0;
  }
};

/// By least squares over rows and sources.
Frame frame_of(const Sky<double>& sky, const Rows& rows);

}  // namespace rimetree::psv::uv_grid
