// How much an observation counts by the size of its residual. For host and device.
#pragma once

#include <cmath>

#include "runtime/math/host_device.h"

namespace rimetree {

/// Normal errors, or Student's t, whose tails make outliers harmless (Lange, Little & Taylor 1989, J. Am. Stat.
/// Assoc. 84, 881). `square`: of the residual in units of what its weight says; `dimensions`: 1 for a real observation,
/// 2 for a complex one.
struct ErrorModel {
  double degrees_of_freedom = 0;  ///< 0: normal
  double variance = 1;            ///< of residuals in these units, for Student's t: weights count as divided by it

  /// Factor of the weight.
  RT_HD double weight_factor(double square, int dimensions) const {
    if (degrees_of_freedom == 0) return 1;
    return (degrees_of_freedom + dimensions) / (degrees_of_freedom * variance + square);
  }
  /// -2 log likelihood but for a constant.
  RT_HD double objective(double square, int dimensions) const {
    if (degrees_of_freedom == 0) return square;
    return (degrees_of_freedom + dimensions) * log1p(square / (degrees_of_freedom * variance));
  }
  /// By how much the variance of an estimate exceeds the inverse of the reweighted normal matrix: the Fisher
  /// information of the location of Student's t is (nu + d)/(nu + d + 2), while the expectation of the weight factor
  /// is 1.
  RT_HD double variance_factor(int dimensions) const {
    if (degrees_of_freedom == 0) return 1;
    return (degrees_of_freedom + dimensions + 2) / (degrees_of_freedom + dimensions);
  }
};

}  // namespace rimetree
