// Vector arithmetic of the PSV kernel: error-free products and sums (double_double.h tells why), the phasor of a number
// of turns, and sinc. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_SIMD_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_SIMD_MATH_INL_H_
#undef RIMETREE_NODES_PSV_SIMD_MATH_INL_H_
#else
#define RIMETREE_NODES_PSV_SIMD_MATH_INL_H_
#endif

#include <type_traits>

#include "hwy/highway.h"
#include "runtime/math/conventions.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class V>
struct Pair {
  V high, low;
};

/// a *= b, for complex numbers.
template <class V>
HWY_INLINE void multiply(V& ar, V& ai, V br, V bi) {
  const V re = hn::MulSub(ar, br, hn::Mul(ai, bi));
  ai = hn::MulAdd(ar, bi, hn::Mul(ai, br));
  ar = re;
}

/// a + b exactly.
template <class V>
HWY_INLINE Pair<V> exact_sum(V a, V b) {
  const V s = hn::Add(a, b);
  const V back = hn::Sub(s, a);
  return {s, hn::Add(hn::Sub(a, hn::Sub(s, back)), hn::Sub(b, back))};
}

/// a * b exactly.
template <class V>
HWY_INLINE Pair<V> exact_product(V a, V b) {
  const V p = hn::Mul(a, b);
#if HWY_NATIVE_FMA
  return {p, hn::MulSub(a, b, p)};
#else
  const hn::DFromV<V> d;
  const V split = hn::Set(d, 134217729.0);  // 2^27 + 1: Veltkamp's splitting
  const V ta = hn::Mul(split, a), tb = hn::Mul(split, b);
  const V ah = hn::Sub(ta, hn::Sub(ta, a)), bh = hn::Sub(tb, hn::Sub(tb, b));
  const V al = hn::Sub(a, ah), bl = hn::Sub(b, bh);
  const V cross = hn::Add(hn::Add(hn::Sub(hn::Mul(ah, bh), p), hn::Mul(ah, bl)), hn::Mul(al, bh));
  return {p, hn::Add(cross, hn::Mul(al, bl))};
#endif
}

/// u l + v m + w n with n = (n_high, n_low), in twice the working precision.
template <class V>
HWY_INLINE Pair<V> exact_path(V u, V v, V w, V l, V m, V n_high, V n_low) {
  const Pair<V> a = exact_product(u, l), b = exact_product(v, m), c = exact_product(w, n_high);
  const Pair<V> ab = exact_sum(a.high, b.high);
  const Pair<V> abc = exact_sum(ab.high, c.high);
  const V tail = hn::Add(hn::Add(a.low, b.low), hn::MulAdd(w, n_low, c.low));
  return {abc.high, hn::Add(tail, hn::Add(ab.low, abc.low))};
}

/// A row's coordinate times a wave number, in twice the working precision.
template <class V>
HWY_INLINE Pair<V> scaled(V u, double k_high, double k_low) {
  const hn::DFromV<V> d;
  const Pair<V> p = exact_product(u, hn::Set(d, k_high));
  return {p.high, hn::MulAdd(u, hn::Set(d, k_low), p.low)};
}

/// a * b without its whole turns, rounded once.
template <class V>
HWY_INLINE V fraction_of_product(V a, V b) {
  const V p = hn::Mul(a, b);
#if HWY_NATIVE_FMA
  return hn::MulSub(a, b, hn::Round(p));
#else
  return hn::Add(hn::Sub(p, hn::Round(p)), exact_product(a, b).low);
#endif
}

/// U l + V m + W n without its whole turns, within about [-1/2, 1/2], for rows scaled to turns.
template <class V>
HWY_INLINE V turns_of(Pair<V> u, Pair<V> v, Pair<V> w, V l, V m, V n_high, V n_low) {
  V low = hn::MulAdd(w.high, n_low, hn::Mul(w.low, n_high));
  low = hn::MulAdd(u.low, l, low);
  low = hn::MulAdd(v.low, m, low);
  const V t = hn::Add(hn::Add(fraction_of_product(u.high, l), fraction_of_product(v.high, m)),
                      hn::Add(fraction_of_product(w.high, n_high), low));
  return hn::Sub(t, hn::Round(t));
}

/// How many terms of the series of the cosine (and of sin x/x) leave out less than `error` on |x| <= bound; zero if
/// that is more than nine.
inline int series_terms(double bound, double error) {
  double term = 1;
  for (int n = 1; n <= 9; ++n) {
    term *= bound * bound / ((2 * n - 1) * (2 * n));
    if (term <= error) return n;
  }
  return 0;
}

/// Calls f with the least of a few numbers of terms that is enough.
template <class F>
void with_terms(int terms, F&& f) {
  if (terms == 0) return f(std::integral_constant<int, 0>());
  if (terms <= 5) return f(std::integral_constant<int, 5>());
  f(std::integral_constant<int, 9>());
}

// Taylor coefficients of the cosine and of sin(x)/x in x^2. On |x| <= pi/4 the first terms left out of nine cosines and
// eight sines, x^18/18! and x^17/17!, are below 5e-17 of the sum.
inline constexpr double kCosTaylor[9] = {1.0,
                                         -1.0 / 2,
                                         1.0 / 24,
                                         -1.0 / 720,
                                         1.0 / 40320,
                                         -1.0 / 3628800,
                                         1.0 / 479001600.0,
                                         -1.0 / 87178291200.0,
                                         1.0 / 20922789888000.0};

inline constexpr double kSincTaylor[9] = {1.0,
                                          -1.0 / 6,
                                          1.0 / 120,
                                          -1.0 / 5040,
                                          1.0 / 362880,
                                          -1.0 / 39916800.0,
                                          1.0 / 6227020800.0,
                                          -1.0 / 1307674368000.0,
                                          1.0 / 355687428096000.0};

/// The first kTerms terms of a series in x^2.
template <int kTerms, class V>
HWY_INLINE V series(const double (&c)[9], V x2) {
  using T = hn::TFromD<hn::DFromV<V>>;
  static_assert(kTerms >= 1 && kTerms <= 9);
  const hn::DFromV<V> d;
  V y = hn::Set(d, static_cast<T>(c[kTerms - 1]));
#pragma GCC unroll 8
  for (int i = kTerms - 2; i >= 0; --i) y = hn::MulAdd(y, x2, hn::Set(d, static_cast<T>(c[i])));
  return y;
}

/// sin and cos of 2 pi r for |r| <= 0.6: to 3e-16 with nine terms, to 2e-10 with six.
template <int kTerms = 9, class V>
HWY_INLINE void phasor_of_turns(V r, V& cosine, V& sine) {
  using T = hn::TFromD<hn::DFromV<V>>;
  const hn::DFromV<V> d;
  const V quarter = hn::Round(hn::Mul(r, hn::Set(d, T(4.0))));
  const V x = hn::Mul(hn::NegMulAdd(quarter, hn::Set(d, T(0.25)), r), hn::Set(d, T(2 * kPi)));
  const V x2 = hn::Mul(x, x);
  const V s = hn::Mul(x, series<kTerms - 1>(kSincTaylor, x2)), c = series<kTerms>(kCosTaylor, x2);
  // One quarter turn swaps the two and gives one a sign; two quarter turns change both signs.
  const V size = hn::Abs(quarter);
  const auto odd = hn::Eq(size, hn::Set(d, T(1.0)));
  const V flip = hn::IfThenElseZero(hn::Eq(size, hn::Set(d, T(2.0))), hn::SignBit(d));
  const V sign = hn::And(r, hn::SignBit(d));
  sine = hn::Xor(hn::IfThenElse(odd, hn::Or(c, sign), s), flip);
  cosine = hn::Xor(hn::IfThenElse(odd, hn::Xor(s, hn::Xor(sign, hn::SignBit(d))), c), flip);
}

/// The same where 2 pi |r| is within the bound that kTerms was chosen for.
template <int kTerms, class V>
HWY_INLINE void small_phasor_of_turns(V r, V& cosine, V& sine) {
  const hn::DFromV<V> d;
  const V x = hn::Mul(r, hn::Set(d, 2 * kPi)), x2 = hn::Mul(x, x);
  cosine = series<kTerms>(kCosTaylor, x2);
  sine = hn::Mul(series<kTerms>(kSincTaylor, x2), x);
}

/// cos(scale h), its argument within the bound that kTerms was chosen for; zero: no bound is known.
template <int kTerms, class V>
HWY_INLINE V cos_of(V h, double scale) {
  using T = hn::TFromD<hn::DFromV<V>>;
  const hn::DFromV<V> d;
  if constexpr (kTerms > 0) {
    return series<kTerms>(kCosTaylor, hn::Mul(hn::Mul(h, h), hn::Set(d, static_cast<T>(scale * scale))));
  } else {
    const V turns = hn::Mul(h, hn::Set(d, static_cast<T>(scale / (2 * kPi))));
    V c, s;
    phasor_of_turns(hn::Sub(turns, hn::Round(turns)), c, s);
    return c;
  }
}

/// sinc(scale h) = sin(scale h)/(scale h), with kTerms as above.
template <int kTerms, class V>
HWY_INLINE V sinc_of(V h, double scale) {
  using T = hn::TFromD<hn::DFromV<V>>;
  const hn::DFromV<V> d;
  if constexpr (kTerms > 0) {
    return series<kTerms>(kSincTaylor, hn::Mul(hn::Mul(h, h), hn::Set(d, static_cast<T>(scale * scale))));
  } else {
    const V turns = hn::Mul(h, hn::Set(d, static_cast<T>(scale / (2 * kPi)))),
            x = hn::Mul(h, hn::Set(d, static_cast<T>(scale)));
    V c, s;
    phasor_of_turns(hn::Sub(turns, hn::Round(turns)), c, s);
    const V one = hn::Set(d, T(1));
    const auto zero = hn::Eq(x, hn::Zero(d));
    return hn::IfThenElse(zero, one, hn::Div(s, hn::IfThenElse(zero, one, x)));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_SIMD_MATH_INL_H_
