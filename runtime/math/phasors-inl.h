// Phasors of a number of turns, cosines and sinc of vectors, by series; products of complex numbers. Included once per
// instruction set.
#if defined(RIMETREE_RUNTIME_MATH_PHASORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_RUNTIME_MATH_PHASORS_INL_H_
#undef RIMETREE_RUNTIME_MATH_PHASORS_INL_H_
#else
#define RIMETREE_RUNTIME_MATH_PHASORS_INL_H_
#endif

#include <type_traits>

#include "hwy/highway.h"
#include "runtime/math/conventions.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::vectors {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// a *= b, for complex numbers.
template <class V>
HWY_INLINE void multiply(V& ar, V& ai, V br, V bi) {
  const V re = hn::MulSub(ar, br, hn::Mul(ai, bi));
  ai = hn::MulAdd(ar, bi, hn::Mul(ai, br));
  ar = re;
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
}  // namespace rimetree::vectors
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_RUNTIME_MATH_PHASORS_INL_H_
