// Error-free sums and products, and the geometric phase formed with them. A phase of 1e6 radians rounded to double
// precision is off by 1e-10; the path and its number of turns are therefore kept as unevaluated sums of two numbers
// until the whole turns are taken off (Dekker 1971, Numer. Math. 18, 224; Ogita, Rump & Oishi 2005, SIAM J. Sci.
// Comput. 26, 1955). Derivatives of dual numbers need no such care and ride along in single words.
//
// Compile users of this header without contraction of a*b+c across statements (-ffp-contract=off).
#pragma once

#include "runtime/math/conventions.h"

namespace rimetree {

/// hi + lo with |lo| <= ulp(hi)/2; the derivative of a dual number lives in hi.
template <class T>
struct DoubleDouble {
  T hi{};
  Plain<T> lo{};
};

namespace exact {

#ifdef __CUDA_ARCH__
// The device compiler would contract plain operators.
RT_HD inline double add(double a, double b) { return __dadd_rn(a, b); }
RT_HD inline double multiply(double a, double b) { return __dmul_rn(a, b); }
RT_HD inline float add(float a, float b) { return __fadd_rn(a, b); }
RT_HD inline float multiply(float a, float b) { return __fmul_rn(a, b); }
#else
template <class P>
constexpr P add(P a, P b) {
  return a + b;
}
template <class P>
constexpr P multiply(P a, P b) {
  return a * b;
}
#endif

/// a + b = result.hi + result.lo exactly.
template <class P>
RT_HD DoubleDouble<P> sum(P a, P b) {
  const P s = add(a, b);
  const P bb = add(s, -a);
  return {s, add(add(a, -add(s, -bb)), add(b, -bb))};
}

/// a * b = result.hi + result.lo exactly (barring underflow, and overflow beyond 1e300).
template <class P>
RT_HD DoubleDouble<P> product(P a, P b) {
  const P p = multiply(a, b);
#if defined(__CUDA_ARCH__) || defined(__FMA__) || defined(__aarch64__)
  return {p, std::fma(a, b, -p)};
#else
  // Without a fused multiply-add in hardware: Veltkamp's splitting into halves of the mantissa.
  // 2^27 + 1, 2^12 + 1, and 2^32 + 1 for the 64 bits of x86's long double.
  constexpr P kSplit = sizeof(P) == 8 ? P(134217729.0) : sizeof(P) == 4 ? P(4097.0) : P(4294967297.0);
  const P ta = kSplit * a, tb = kSplit * b;
  const P ah = ta - (ta - a), bh = tb - (tb - b);
  const P al = a - ah, bl = b - bh;
  return {p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
#endif
}

/// numerator / denominator to about 2^-104.
template <class P>
RT_HD DoubleDouble<P> quotient(DoubleDouble<P> numerator, DoubleDouble<P> denominator) {
  const P q = numerator.hi / denominator.hi;
  const DoubleDouble<P> back = product(q, denominator.hi);
  const P rest = ((numerator.hi - back.hi) - back.lo) + (numerator.lo - q * denominator.lo);
  const DoubleDouble<P> r = sum(q, rest / denominator.hi);
  return r;
}

}  // namespace exact

/// A number with the given value and the derivative of `x`.
template <class T>
RT_HD T with_value(T, Plain<T> value) {
  return value;
}
template <class T>
RT_HD Dual<T> with_value(Dual<T> x, T value) {
  return {value, x.d};
}

/// n_offset() in twice the working precision; l, m and n are taken as exact.
template <class T>
RT_HD DoubleDouble<T> n_offset_exact(T l, T m, T n, int n_minus) {
  using P = Plain<T>;
  const T rounded = n_offset(l, m, n, n_minus);
  const P lv = value_of(l), mv = value_of(m), nv = value_of(n);
  if (n_minus == 0) return {rounded, P(0)};
  DoubleDouble<P> r;
  if (nv >= P(0)) {
    const DoubleDouble<P> l2 = exact::product(lv, lv), m2 = exact::product(mv, mv);
    DoubleDouble<P> top = exact::sum(l2.hi, m2.hi);
    top.lo += l2.lo + m2.lo;
    r = exact::quotient(DoubleDouble<P>{-top.hi, -top.lo}, exact::sum(P(1), nv));
  } else {
    r = exact::sum(nv, P(-1));
  }
  return {with_value(rounded, r.hi), r.lo};
}

/// path_difference_m() in twice the working precision.
template <class T>
RT_HD DoubleDouble<T> path_difference_exact(T u, T v, T w, T l, T m, DoubleDouble<T> n_offset) {
  using P = Plain<T>;
  const DoubleDouble<P> a = exact::product(value_of(u), value_of(l)), b = exact::product(value_of(v), value_of(m)),
                        c = exact::product(value_of(w), value_of(n_offset.hi));
  const DoubleDouble<P> ab = exact::sum(a.hi, b.hi);
  const DoubleDouble<P> abc = exact::sum(ab.hi, c.hi);
  const P low = ((a.lo + b.lo) + (c.lo + value_of(w) * n_offset.lo)) + (ab.lo + abc.lo);
  const DoubleDouble<P> r = exact::sum(abc.hi, low);
  return {with_value(path_difference_m(u, v, w, l, m, n_offset.hi), r.hi), r.lo};
}

/// frequency / c in turns per metre, in twice the working precision.
template <class P>
RT_HD DoubleDouble<P> turns_per_metre(P frequency_hz) {
  return exact::quotient(DoubleDouble<P>{frequency_hz, P(0)}, DoubleDouble<P>{P(kSpeedOfLight_m_s), P(0)});
}

/// path * k without its whole turns, within about [-1/2, 1/2]; its derivative is that of path * k.
template <class T>
RT_HD T reduced_turns(DoubleDouble<T> path_m, DoubleDouble<Plain<T>> k) {
  using P = Plain<T>;
  using std::rint;  // numbers that record have their own
  const DoubleDouble<P> t = exact::product(value_of(path_m.hi), k.hi);
  const P low = t.lo + (value_of(path_m.hi) * k.lo + path_m.lo * k.hi);
  return with_value(path_m.hi * T(k.hi), (t.hi - rint(t.hi)) + low);
}

/// exp(+2 pi i path k), k = nu/c: the sign that all Measurement Sets need with UVW as stored (Smirnov 2011, A&A 527,
/// A106, eq. 14, with the baseline's sign of the Measurement Set). To the working precision for any number of turns.
template <class T>
RT_HD Complex<T> fringe_exact(DoubleDouble<T> path_m, DoubleDouble<Plain<T>> k) {
  return polar(T(1), T(Plain<T>(2 * kPi)) * reduced_turns(path_m, k));
}

}  // namespace rimetree
