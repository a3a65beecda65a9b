// A uniform disk, in the sky the same everywhere within r = 1/2, with r in units of the axes, which are its diameters;
// in the uv plane 2 J_1(pi q)/(pi q), with q the baseline's length in units of 1/axes (Thompson, Moran & Swenson 2017,
// Interferometry and Synthesis in Radio Astronomy, 3rd ed.). Planets and their moons are like this; it changes its
// sign.
#pragma once

#include "runtime/math/airy.h"

namespace rimetree::profiles {

struct UniformDisk {
  static constexpr const char* kName = "uniform_disk";
  static constexpr const char* kAxes = "diameters";
  static constexpr double kScale = kPi * kPi;
  static constexpr bool kIsExponential = false;

  template <class T>
  RT_HD static T taper(T x) {
    return airy_of_square(x);
  }
  template <class T>
  RT_HD static T fall(T x) {
    return -airy_slope_of_square(x) / airy_of_square(x);
  }
  /// |J_1(w)| <= |w/2| exp |Im w| (Abramowitz & Stegun, 9.1.62).
  static double log_bound(double, double im_root) { return im_root; }
};

}  // namespace rimetree::profiles
