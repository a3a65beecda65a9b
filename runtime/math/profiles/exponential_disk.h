// An exponential disk, in the sky exp(-r) with r in units of the axes, which are its scale lengths; in the uv plane
// (1 + (2 pi q)^2)^(-3/2), with q the baseline's length in units of 1/axes (the Hankel transform of exp(-r); Gradshteyn
// & Ryzhik, 6.623.2). Disks of galaxies seen from above are like this (Freeman 1970, ApJ 160, 811).
#pragma once

#include <cmath>
#include <limits>

#include "runtime/math/conventions.h"

namespace rimetree::profiles {

struct ExponentialDisk {
  static constexpr const char* kName = "exponential_disk";
  static constexpr const char* kAxes = "scale lengths";
  static constexpr double kScale = 4 * kPi * kPi;
  static constexpr bool kIsExponential = false;

  template <class T>
  RT_HD static T taper(T x) {
    const T y = T(1) / (T(1) + x);
    return y * sqrt(y);
  }
  template <class T>
  RT_HD static T fall(T x) {
    return T(1.5) / (T(1) + x);
  }
  static double log_bound(double x, double) {
    return x > -1 ? -1.5 * std::log1p(x) : std::numeric_limits<double>::infinity();
  }
};

}  // namespace rimetree::profiles
