// Error-free sums and products of vectors (double_double.h tells why). Included once per instruction set.
#if defined(RIMETREE_RUNTIME_MATH_EXACT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_RUNTIME_MATH_EXACT_INL_H_
#undef RIMETREE_RUNTIME_MATH_EXACT_INL_H_
#else
#define RIMETREE_RUNTIME_MATH_EXACT_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::vectors {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class V>
struct Pair {
  V high, low;
};

/// a + b exactly.
template <class V>
HWY_INLINE Pair<V> exact_sum(V a, V b) {
  const V s = hn::Add(a, b);
  const V back = hn::Sub(s, a);
  return {s, hn::Add(hn::Sub(a, hn::Sub(s, back)), hn::Sub(b, back))};
}

/// The same where |a| >= |b| (Dekker 1971, Numerische Mathematik 18, 224).
template <class V>
HWY_INLINE Pair<V> exact_sum_of_larger(V a, V b) {
  const V s = hn::Add(a, b);
  return {s, hn::Sub(b, hn::Sub(s, a))};
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

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::vectors
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_RUNTIME_MATH_EXACT_INL_H_
