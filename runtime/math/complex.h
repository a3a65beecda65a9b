// Complex numbers for host and device: layout-compatible with std::complex (which kernels cannot use), and templated on
// the number type so that Complex<Dual<double>> carries a derivative through a formula.
#pragma once

#include "runtime/math/dual.h"

namespace rimetree {

/// Whether a number is zero whatever the formula is run on: only a number that records knows. Real numbers are complex
/// ones whose imaginary part is.
template <class T>
RT_HD constexpr bool is_always_zero(const T&) {
  return false;
}

template <class T>
struct Complex {
  T re{};
  T im{};

  constexpr Complex() = default;
  // Implicit on purpose: a real number is a complex one.
  RT_HD constexpr Complex(T real) : re(real) {}
  RT_HD constexpr Complex(T real, T imaginary) : re(real), im(imaginary) {}

  RT_HD friend constexpr Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  RT_HD friend constexpr Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  RT_HD friend constexpr Complex operator-(Complex a) { return {-a.re, -a.im}; }
  RT_HD friend constexpr Complex operator*(Complex a, Complex b) {
    if (is_always_zero(b.im)) return is_always_zero(a.im) ? Complex(a.re * b.re) : a * b.re;
    if (is_always_zero(a.im)) return a.re * b;
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  RT_HD friend constexpr Complex operator*(Complex a, T b) { return {a.re * b, a.im * b}; }
  RT_HD friend constexpr Complex operator*(T a, Complex b) { return {a * b.re, a * b.im}; }
  RT_HD friend constexpr Complex operator/(Complex a, Complex b) {
    if (is_always_zero(b.im)) return is_always_zero(a.im) ? Complex(a.re / b.re) : Complex(a.re / b.re, a.im / b.re);
    // Scaled by the larger part of the divisor (Smith 1962), so that 1/z overflows no earlier than |z| does.
    if (abs(b.re) >= abs(b.im)) {
      const T r = b.im / b.re, den = b.re + b.im * r;
      return {(a.re + a.im * r) / den, (a.im - a.re * r) / den};
    }
    const T r = b.re / b.im, den = b.re * r + b.im;
    return {(a.re * r + a.im) / den, (a.im * r - a.re) / den};
  }
  RT_HD constexpr Complex& operator+=(Complex b) { return *this = *this + b; }
  RT_HD constexpr Complex& operator-=(Complex b) { return *this = *this - b; }
  RT_HD constexpr Complex& operator*=(Complex b) { return *this = *this * b; }
  RT_HD friend constexpr bool operator==(Complex a, Complex b) { return a.re == b.re && a.im == b.im; }
};

template <class T>
RT_HD constexpr Complex<T> conj(Complex<T> z) {
  return {z.re, -z.im};
}
template <class T>
RT_HD constexpr T squared_modulus(Complex<T> z) {
  return z.re * z.re + z.im * z.im;
}
template <class T>
RT_HD T abs(Complex<T> z) {
  return hypot(z.re, z.im);
}
template <class T>
RT_HD T arg(Complex<T> z) {
  return atan2(z.im, z.re);
}
/// modulus * exp(i phase), phase in radians.
template <class T>
RT_HD Complex<T> polar(T modulus, T phase) {
  return {modulus * cos(phase), modulus * sin(phase)};
}
template <class T>
RT_HD Complex<T> exp(Complex<T> z) {
  return polar(exp(z.re), z.im);
}
template <class T>
RT_HD Complex<T> log(Complex<T> z) {
  return {log(abs(z)), arg(z)};
}
/// Principal square root (cut along the negative real axis).
template <class T>
RT_HD Complex<T> sqrt(Complex<T> z) {
  using P = Plain<T>;
  const T r = abs(z);
  if (value_of(r) == P(0)) return {T(0), T(0)};
  // The half that does not cancel is formed first; the other follows from re*im = z.im/2.
  if (value_of(z.re) >= P(0)) {
    const T re = sqrt((r + z.re) * T(P(0.5)));
    return {re, z.im / (T(P(2)) * re)};
  }
  // -0 is below the cut, as std::sqrt has it: so that roots of conjugates are conjugates.
  const bool below = value_of(z.im) < P(0) || P(1) / value_of(z.im) < P(0);
  const T im = below ? -sqrt((r - z.re) * T(P(0.5))) : sqrt((r - z.re) * T(P(0.5)));
  return {z.im / (T(P(2)) * im), im};
}
template <class T>
RT_HD Complex<T> pow(Complex<T> a, Complex<T> b) {
  using P = Plain<T>;
  const P re = value_of(b.re), im = value_of(b.im);
  if (value_of(a.re) == P(0) && value_of(a.im) == P(0)) {  // other powers of 0 have no value: NaN
    if (im == P(0) && re == P(0)) return Complex<T>(T(1));
    if (im == P(0) && re == P(1)) return a;
    if (re > P(0)) return Complex<T>(T(0));
  }
  return exp(b * log(a));
}
template <class T>
RT_HD Complex<T> sin(Complex<T> z) {
  return {sin(z.re) * cosh(z.im), cos(z.re) * sinh(z.im)};
}
template <class T>
RT_HD Complex<T> cos(Complex<T> z) {
  return {cos(z.re) * cosh(z.im), -(sin(z.re) * sinh(z.im))};
}
template <class T>
RT_HD Complex<T> tan(Complex<T> z) {
  return sin(z) / cos(z);
}

}  // namespace rimetree
