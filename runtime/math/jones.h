// 2x2 complex matrices: Jones matrices, brightness and coherency, in the order XX XY YX YY (row-major).
#pragma once

#include "runtime/math/complex.h"

namespace rimetree {

template <class T>
struct Jones {
  Complex<T> xx, xy, yx, yy;

  RT_HD friend constexpr Jones operator*(const Jones& a, const Jones& b) {
    return {a.xx * b.xx + a.xy * b.yx, a.xx * b.xy + a.xy * b.yy, a.yx * b.xx + a.yy * b.yx, a.yx * b.xy + a.yy * b.yy};
  }
  RT_HD friend constexpr Jones operator+(const Jones& a, const Jones& b) {
    return {a.xx + b.xx, a.xy + b.xy, a.yx + b.yx, a.yy + b.yy};
  }
  RT_HD friend constexpr Jones operator*(Complex<T> s, const Jones& a) {
    return {s * a.xx, s * a.xy, s * a.yx, s * a.yy};
  }
};

/// From XX XY YX YY, each its real and its imaginary part.
template <class T>
RT_HD constexpr Jones<T> jones_from(const T* x) {
  return {{x[0], x[1]}, {x[2], x[3]}, {x[4], x[5]}, {x[6], x[7]}};
}
/// f(element number, element) for XX XY YX YY.
template <class T, class F>
RT_HD constexpr void for_each_element(const Jones<T>& a, const F& f) {
  f(0, a.xx), f(1, a.xy), f(2, a.yx), f(3, a.yy);
}
/// Conjugate transpose.
template <class T>
RT_HD constexpr Jones<T> hermitian(const Jones<T>& a) {
  return {conj(a.xx), conj(a.yx), conj(a.xy), conj(a.yy)};
}
template <class T>
RT_HD constexpr Complex<T> determinant(const Jones<T>& a) {
  return a.xx * a.yy - a.xy * a.yx;
}
/// Inverse by the determinant; a singular matrix gives infinities or NaN, as a division by zero does.
template <class T>
RT_HD constexpr Jones<T> inverse(const Jones<T>& a) {
  const Complex<T> scale = Complex<T>(T(1)) / determinant(a);
  return scale * Jones<T>{a.yy, -a.xy, -a.yx, a.xx};
}

}  // namespace rimetree
