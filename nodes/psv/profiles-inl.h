// Profiles of shapes (runtime/math/profile.h) on vectors of numbers. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_PROFILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_PROFILES_INL_H_
#undef RIMETREE_NODES_PSV_PROFILES_INL_H_
#else
#define RIMETREE_NODES_PSV_PROFILES_INL_H_
#endif

#include "hwy/contrib/math/math-inl.h"
#include "nodes/psv/kernel.h"
#include "runtime/math/conventions.h"
#include "runtime/math/profile.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// A vector of a shape's axes times baselines.
template <class V>
HWY_INLINE V times_axis(const double (&axis)[3], V u, V v, V w) {
  const hn::DFromV<V> d;
  return hn::MulAdd(u, hn::Set(d, axis[0]), hn::MulAdd(v, hn::Set(d, axis[1]), hn::Mul(w, hn::Set(d, axis[2]))));
}
/// X of the taper G(X nu^2) of a shape (runtime/math/profile.h), for baselines in metres. `scale`: see
/// argument_scale().
template <class V>
HWY_INLINE V shape_argument(double scale, const ShapeAxes<double>& axes, V u, V v, V w) {
  const hn::DFromV<V> d;
  const V along = times_axis(axes.major, u, v, w), across = times_axis(axes.minor, u, v, w);
  return hn::Mul(hn::Set(d, scale), hn::MulAdd(along, along, hn::Mul(across, across)));
}

/// f(profile's class, number) of each number of a vector. The text of a profile is for numbers; the compiler makes
/// vectors of it where it can.
template <class V, class F>
HWY_INLINE V each_number(Profile profile, V x, const F& f) {
  const hn::DFromV<V> d;
  HWY_ALIGN double numbers[kMaxLanes];
  hn::Store(x, d, numbers);
  with_profile(profile, 0, [&](auto of) HWY_ATTR {
    for (std::size_t i = 0; i < hn::MaxLanes(d); ++i) numbers[i] = f(of, numbers[i]);
    return 0;
  });
  return hn::Load(d, numbers);
}
/// exp(x); of what is no number it is none (Highway's is 0: a source whose width is NaN would be gone without a word).
template <class V>
HWY_INLINE V exp_of(V x) {
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(hn::DFromV<V>(), x));
}

/// G(x), and -G'(x)/G(x).
template <class V>
HWY_INLINE V tapers_of(Profile profile, V x) {
  if (is_exponential(profile)) return exp_of(hn::Neg(x));
  return each_number(profile, x, [](auto of, double number) HWY_ATTR { return of.taper(number); });
}
template <class V>
HWY_INLINE V falls_of(Profile profile, V x) {
  return each_number(profile, x, [](auto of, double number) HWY_ATTR { return of.fall(number); });
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_PROFILES_INL_H_
