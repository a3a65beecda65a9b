// Types of numbers that functions of one cell are run on: plain, with a derivative, in extended precision or on a tape;
// real, or Complex of these. For host and device.
#pragma once

#include <type_traits>

#include "runtime/math/complex.h"

namespace rimetree {

namespace cell_detail {

template <class N>
struct NumberTraits {
  using Real = N;
  static constexpr bool is_complex = false;
};
template <class T>
struct NumberTraits<Complex<T>> {
  using Real = T;
  static constexpr bool is_complex = true;
};
template <class T>
inline constexpr bool is_dual = false;
template <class T>
inline constexpr bool is_dual<Dual<T>> = true;

RT_HD inline Dual<double> with_derivative(double v, double d) { return {v, d}; }
RT_HD inline Complex<Dual<double>> with_derivative(Complex<double> v, Complex<double> d) {
  return {{v.re, d.re}, {v.im, d.im}};
}
RT_HD inline double derivative_of(const Dual<double>& x) { return x.d; }
RT_HD inline Complex<double> derivative_of(const Complex<Dual<double>>& x) { return {x.re.d, x.im.d}; }

/// Real or complex like N, of another type of number.
template <class N, class Real>
using Over = std::conditional_t<NumberTraits<N>::is_complex, Complex<Real>, Real>;

}  // namespace cell_detail

}  // namespace rimetree
