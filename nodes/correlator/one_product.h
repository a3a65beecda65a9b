// The body of one product, for all that form them one by one, on the host and on devices.
#pragma once

#include "runtime/math/host_device.h"

namespace rimetree::correlator {

/// Adds x y*: four multiplications and, with the sums, four additions.
template <class Sample, class Number>
RT_HD void add_product(const Sample& x, const Sample& y, Number& re, Number& im) {
  re += x.re * y.re + x.im * y.im;
  im += x.im * y.re - x.re * y.im;
}

}  // namespace rimetree::correlator
