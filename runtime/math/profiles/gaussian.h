// An elliptical Gaussian, in the sky exp(-4 ln 2 r^2) with r in units of the axes, which are its full widths at half
// maximum; in the uv plane exp(-pi^2/(4 ln 2) q^2), with q the baseline's length in units of 1/axes (Thompson, Moran &
// Swenson 2017, Interferometry and Synthesis in Radio Astronomy, 3rd ed.).
#pragma once

#include "runtime/math/conventions.h"

namespace rimetree::profiles {

struct Gaussian {
  static constexpr const char* kName = "gaussian";
  static constexpr const char* kAxes = "full widths at half maximum";
  static constexpr double kScale = kPi * kPi / (4 * 0.693147180559945309417232121458);
  static constexpr bool kIsExponential = true;

  template <class T>
  RT_HD static T taper(T x) {
    return exp(-x);
  }
  template <class T>
  RT_HD static T fall(T) {
    return T(1);
  }
  static double log_bound(double x, double) { return -x; }
};

}  // namespace rimetree::profiles
