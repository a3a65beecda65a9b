// What planes are: real sums of the brightness's parts, and shares of the correlations that visibilities are made of.
// The kernels of the host and of devices read it here, and their adjoints what planes gain.
#pragma once

#include "nodes/psv/kernel.h"
#include "runtime/math/complex.h"

namespace rimetree::psv {

/// A correlation of XX XY YX YY, 0 to 3, that a plane is part of: with this sign, and times i if it is turned.
struct PlaneShare {
  int correlation = 0;
  double sign = 1;
  bool turned = false;
};
struct PlaneShares {
  PlaneShare share[2];
  int n;
};
RT_HD constexpr PlaneShares shares_of(Plane plane) {
  switch (plane) {
    case Plane::kI:
      return {{{0, 1, false}, {3, 1, false}}, 2};
    case Plane::kQ:
      return {{{0, 1, false}, {3, -1, false}}, 2};
    case Plane::kU:
      return {{{1, 1, false}, {2, 1, false}}, 2};
    case Plane::kV:
      return {{{1, 1, true}, {2, -1, true}}, 2};
    default: {
      const int i = static_cast<int>(plane) - static_cast<int>(Plane::kXxRe);
      return {{{i / 2, 1, i % 2 == 1}, {}}, 1};
    }
  }
}

/// A part of the brightness that a plane's weight is made of: the real or imaginary one of an element, with its factor.
struct PlanePart {
  int element = 0;
  bool imaginary = false;
  double factor = 1;
};
struct PlaneParts {
  PlanePart part[2];
  int n;
};
constexpr PlaneParts parts_of(Plane plane) {
  switch (plane) {
    case Plane::kI:
      return {{{0, false, 0.5}, {3, false, 0.5}}, 2};
    case Plane::kQ:
      return {{{0, false, 0.5}, {3, false, -0.5}}, 2};
    case Plane::kU:
      return {{{1, false, 1}, {}}, 1};
    case Plane::kV:
      return {{{1, true, 1}, {}}, 1};
    default: {
      const int i = static_cast<int>(plane) - static_cast<int>(Plane::kXxRe);
      return {{{i / 2, i % 2 == 1, 1}, {}}, 1};
    }
  }
}
/// A plane's weight for XX XY YX YY of a brightness, each its real and its imaginary part.
inline double plane_weight(Plane plane, const double* b) {
  const PlaneParts parts = parts_of(plane);
  double weight = 0;
  for (int i = 0; i < parts.n; ++i)
    weight += parts.part[i].factor * b[2 * parts.part[i].element + (parts.part[i].imaginary ? 1 : 0)];
  return weight;
}
/// The transpose: adds what a plane's weight gains to what these parts do. Those of Hermitian planes hold for changes
/// that keep the brightness Hermitian: there are no others.
inline void add_plane_weight(Plane plane, double gained, double* b) {
  const PlaneParts parts = parts_of(plane);
  for (int i = 0; i < parts.n; ++i)
    b[2 * parts.part[i].element + (parts.part[i].imaginary ? 1 : 0)] += parts.part[i].factor * gained;
}

/// Adds a plane to the correlations, without an index that is not known when this is compiled.
RT_HD inline void add_plane(Plane plane, Complex<double> s, Complex<double>* e) {
  const PlaneShares shares = shares_of(plane);
  RT_UNROLL
  for (int k = 0; k < 2; ++k) {
    if (k >= shares.n) break;
    const double sign = shares.share[k].sign;
    const Complex<double> part = shares.share[k].turned ? Complex<double>{-sign * s.im, sign * s.re} : sign * s;
    RT_UNROLL
    for (int i = 0; i < 4; ++i)
      if (i == shares.share[k].correlation) e[i] += part;
  }
}

/// The transpose: the conjugate adjoint of a plane from those of the correlations.
RT_HD inline Complex<double> plane_adjoint(Plane plane, const Complex<double>* c, std::int64_t stride) {
  const PlaneShares shares = shares_of(plane);
  Complex<double> h{};
  for (int k = 0; k < shares.n; ++k) {
    const Complex<double> d = shares.share[k].sign * c[shares.share[k].correlation * stride];
    h += shares.share[k].turned ? Complex<double>{-d.im, d.re} : d;
  }
  return h;
}

}  // namespace rimetree::psv
