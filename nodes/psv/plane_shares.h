// Where planes are among the correlations: what the kernels of the host and of devices make visibilities of, and their
// adjoints what planes gain.
#pragma once

#include "nodes/psv/kernel.h"
#include "runtime/math/complex.h"

namespace rimetree::psv {

/// Calls f(correlation, sign, turned) for each of XX XY YX YY, 0 to 3, that a plane is part of: with that sign, and
/// times i if it is turned.
template <class F>
RT_HD inline void for_each_share(Plane plane, F&& f) {
  switch (plane) {
    case Plane::kI:
      return f(0, 1.0, false), f(3, 1.0, false);
    case Plane::kQ:
      return f(0, 1.0, false), f(3, -1.0, false);
    case Plane::kU:
      return f(1, 1.0, false), f(2, 1.0, false);
    case Plane::kV:
      return f(1, 1.0, true), f(2, -1.0, true);
    default: {
      const int i = static_cast<int>(plane) - static_cast<int>(Plane::kXxRe);
      return f(i / 2, 1.0, i % 2 == 1);
    }
  }
}

/// Adds a plane to the correlations.
RT_HD inline void add_plane(Plane plane, Complex<double> s, Complex<double>* e) {
  const Complex<double> turned{-s.im, s.re};
  for_each_share(plane, [&](int i, double sign, bool is_turned) { e[i] += sign * (is_turned ? turned : s); });
}

/// The transpose: the conjugate adjoint of a plane from those of the correlations.
RT_HD inline Complex<double> plane_adjoint(Plane plane, const Complex<double>* c, std::int64_t stride) {
  Complex<double> h{};
  for_each_share(plane, [&](int i, double sign, bool is_turned) {
    const Complex<double> d = c[i * stride];
    h += sign * (is_turned ? Complex<double>{-d.im, d.re} : d);
  });
  return h;
}

}  // namespace rimetree::psv
