// Dual numbers v + d*eps (eps^2 = 0): a body evaluated on them gives its value and its exact derivative along one
// direction, so that a formula and its derivative have one text (forward-mode differentiation; Griewank & Walther,
// "Evaluating Derivatives", 2nd ed., section 3.1).
#pragma once

#include <cmath>
#include <type_traits>

#include "runtime/math/host_device.h"

namespace rimetree {

template <class T>
struct Dual {
  T v{};  ///< value
  T d{};  ///< derivative along the chosen direction

  constexpr Dual() = default;
  // Implicit on purpose: constants enter formulae as numbers.
  RT_HD constexpr Dual(T value) : v(value) {}
  RT_HD constexpr Dual(T value, T derivative) : v(value), d(derivative) {}
  template <class A>
  requires(std::is_arithmetic_v<A> && !std::is_same_v<A, T>) RT_HD constexpr Dual(A value) : v(static_cast<T>(value)) {}

  RT_HD friend constexpr Dual operator+(Dual a, Dual b) { return {a.v + b.v, a.d + b.d}; }
  RT_HD friend constexpr Dual operator-(Dual a, Dual b) { return {a.v - b.v, a.d - b.d}; }
  RT_HD friend constexpr Dual operator-(Dual a) { return {-a.v, -a.d}; }
  RT_HD friend constexpr Dual operator*(Dual a, Dual b) { return {a.v * b.v, a.d * b.v + a.v * b.d}; }
  RT_HD friend constexpr Dual operator/(Dual a, Dual b) {
    const T q = a.v / b.v;
    return {q, (a.d - q * b.d) / b.v};
  }
  RT_HD constexpr Dual& operator+=(Dual b) { return *this = *this + b; }
  RT_HD constexpr Dual& operator-=(Dual b) { return *this = *this - b; }
  RT_HD constexpr Dual& operator*=(Dual b) { return *this = *this * b; }
  // Order is that of the values: which branch a formula takes does not depend on the derivative.
  RT_HD friend constexpr bool operator<(Dual a, Dual b) { return a.v < b.v; }
  RT_HD friend constexpr bool operator>(Dual a, Dual b) { return a.v > b.v; }
  RT_HD friend constexpr bool operator<=(Dual a, Dual b) { return a.v <= b.v; }
  RT_HD friend constexpr bool operator>=(Dual a, Dual b) { return a.v >= b.v; }
  RT_HD friend constexpr bool operator==(Dual a, Dual b) { return a.v == b.v; }
};

/// The value without its derivative, of a plain number or a dual one.
template <class T>
RT_HD constexpr T value_of(T x) {
  return x;
}
template <class T>
RT_HD constexpr T value_of(Dual<T> x) {
  return x.v;
}

/// The plain floating type under a number type.
template <class T>
struct PlainOf {
  using type = T;
};
template <class T>
struct PlainOf<Dual<T>> {
  using type = T;
};
template <class T>
using Plain = typename PlainOf<T>::type;

// Real functions in the project's namespace, so that bodies call them unqualified on plain, dual and other numbers
// alike.
using std::abs, std::acos, std::asin, std::atan, std::atan2, std::cos, std::cosh, std::exp, std::hypot, std::log,
    std::log1p, std::pow, std::sin, std::sinh, std::sqrt, std::tan, std::tanh;
#define RT_REAL_FUNCTION(name, derivative) \
  template <class T>                       \
  RT_HD Dual<T> name(Dual<T> a) {          \
    const T x = a.v;                       \
    const T y = name(x);                   \
    (void)x, (void)y;                      \
    return {y, a.d * (derivative)};        \
  }
RT_REAL_FUNCTION(exp, y)
RT_REAL_FUNCTION(log, T(1) / x)
RT_REAL_FUNCTION(log1p, T(1) / (T(1) + x))
RT_REAL_FUNCTION(sin, cos(x))
RT_REAL_FUNCTION(cos, -sin(x))
RT_REAL_FUNCTION(tan, T(1) + y * y)
RT_REAL_FUNCTION(atan, T(1) / (T(1) + x * x))
RT_REAL_FUNCTION(sinh, cosh(x))
RT_REAL_FUNCTION(cosh, sinh(x))
RT_REAL_FUNCTION(tanh, T(1) - y * y)
#undef RT_REAL_FUNCTION

// At the tip of a cone there is no slope, and it counts as 0, the mean of all that meet there. It is what is in the
// middle of a beam, as sqrt(l^2 + m^2) or acos(n): an infinite slope times that of a square, 0, would be no number.
template <class T>
RT_HD Dual<T> sqrt(Dual<T> a) {
  const T y = sqrt(a.v);
  return {y, y != T(0) ? a.d / (T(2) * y) : T(0)};
}

template <class T>
RT_HD Dual<T> asin(Dual<T> a) {
  const T c2 = T(1) - a.v * a.v;
  return {asin(a.v), c2 != T(0) ? a.d / sqrt(c2) : T(0)};
}

template <class T>
RT_HD Dual<T> acos(Dual<T> a) {
  const T c2 = T(1) - a.v * a.v;
  return {acos(a.v), c2 != T(0) ? -a.d / sqrt(c2) : T(0)};
}

template <class T>
RT_HD Dual<T> atan2(Dual<T> y, Dual<T> x) {
  const T r = hypot(x.v, y.v);  // its square would overflow
  return {atan2(y.v, x.v), r != T(0) ? (y.d * (x.v / r) - x.d * (y.v / r)) / r : T(0)};
}

template <class T>
RT_HD Dual<T> pow(Dual<T> a, Dual<T> b) {
  const T y = pow(a.v, b.v);
  // Each term only where it is not zero: log(a) of a non-positive base must not spoil d/da, nor 0^-1 the slope of a^0,
  // nor of a root of 0, as above. What is infinite at 0 has an infinite slope there.
  const bool steep = a.v == T(0) && b.v >= T(0) && b.v < T(1);
  const T da = a.d != T(0) && !steep ? a.d * b.v * pow(a.v, b.v - T(1)) : T(0);
  const T db = b.d != T(0) && y != T(0) ? b.d * y * log(a.v) : T(0);
  return {y, da + db};
}

template <class T>
RT_HD Dual<T> abs(Dual<T> a) {
  return a.v < T(0) ? -a : a;
}

template <class T>
RT_HD Dual<T> hypot(Dual<T> a, Dual<T> b) {
  const T r = hypot(a.v, b.v);
  return {r, r != T(0) ? (a.v / r) * a.d + (b.v / r) * b.d : T(0)};  // products would overflow
}

}  // namespace rimetree
