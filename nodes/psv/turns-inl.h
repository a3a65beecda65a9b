// The geometric phase in vectors, in turns: paths in twice the working precision (double_double.h tells why). Included
// once per instruction set.
#if defined(RIMETREE_NODES_PSV_TURNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_TURNS_INL_H_
#undef RIMETREE_NODES_PSV_TURNS_INL_H_
#else
#define RIMETREE_NODES_PSV_TURNS_INL_H_
#endif

#include "runtime/math/exact-inl.h"
#include "runtime/math/phasors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace vectors::HWY_NAMESPACE;

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

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_TURNS_INL_H_
