// Profiles of shapes (runtime/math/profile.h) on vectors of numbers. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_PROFILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_PROFILES_INL_H_
#undef RIMETREE_NODES_PSV_PROFILES_INL_H_
#else
#define RIMETREE_NODES_PSV_PROFILES_INL_H_
#endif

#include "hwy/contrib/math/math-inl.h"
#include "nodes/psv/kernel.h"
#include "runtime/math/airy.h"
#include "runtime/math/conventions.h"
#include "runtime/math/phasors-inl.h"
#include "runtime/math/profile.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace vectors::HWY_NAMESPACE;

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

/// exp(x); of what is no number it is none (Highway's is 0: a source whose width is NaN would be gone without a word).
template <class V>
HWY_INLINE V exp_of(V x) {
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(hn::DFromV<V>(), x));
}

/// Bessel functions of airy.h.
template <class V>
HWY_INLINE V near_bessels(const airy_detail::Bessel& j, V x_squared) {
  const hn::DFromV<V> d;
  const V t = hn::Mul(x_squared, hn::Set(d, 1 / airy_detail::kNearSquare)), t_squared = hn::Mul(t, t);
  V even = hn::Set(d, j.near[14]), odd = hn::Set(d, j.near[13]);
#pragma GCC unroll 6
  for (int k = 12; k > 0; k -= 2) {
    even = hn::MulAdd(even, t_squared, hn::Set(d, j.near[k]));
    odd = hn::MulAdd(odd, t_squared, hn::Set(d, j.near[k - 1]));
  }
  return hn::MulAdd(t, odd, hn::MulAdd(even, t_squared, hn::Set(d, j.near[0])));
}
template <class V>
HWY_INLINE V far_bessels(const airy_detail::Bessel& j, V x_squared) {
  const hn::DFromV<V> d;
  const V x = hn::Sqrt(x_squared), inverse = hn::Div(hn::Set(d, 1.0), x);
  const V z = hn::Mul(hn::Set(d, airy_detail::kNearSquare), hn::Mul(inverse, inverse));
  V p = hn::Set(d, j.p[0]), q = hn::Set(d, j.q[0]);
#pragma GCC unroll 10
  for (int k = 1; k < 11; ++k) p = hn::MulAdd(p, z, hn::Set(d, j.p[k])), q = hn::MulAdd(q, z, hn::Set(d, j.q[k]));
  const V turns = hn::Mul(hn::Sub(x, hn::Set(d, j.phase)), hn::Set(d, 0.5 / kPi));
  V cosine, sine;
  phasor_of_turns(hn::Sub(turns, hn::Round(turns)), cosine, sine);
  const V sum = hn::NegMulAdd(hn::Mul(q, inverse), sine, hn::Mul(p, cosine));
  return hn::Mul(hn::Mul(hn::Set(d, airy_detail::kSqrtTwoOverPi), hn::Sqrt(x)), sum);
}
/// airy_of_square() and airy_slope_of_square(), from the two parts of which only those are computed that numbers need.
template <class V, class Near, class Far>
HWY_INLINE V near_and_far(V x_squared, const Near& near, const Far& far) {
  const hn::DFromV<V> d;
  const V border = hn::Set(d, airy_detail::kNearSquare);
  const auto is_near = hn::Le(x_squared, border);
  if (hn::AllTrue(d, is_near)) return near(x_squared);
  const V beyond = far(hn::IfThenElse(is_near, border, x_squared));
  return hn::AllFalse(d, is_near) ? beyond : hn::IfThenElse(is_near, near(x_squared), beyond);
}
template <class V>
HWY_INLINE V airy_of_squares(V x_squared) {
  const hn::DFromV<V> d;
  const airy_detail::Bessel j = airy_detail::bessel_1();
  return near_and_far(
      x_squared, [&](V x2) HWY_ATTR { return near_bessels(j, x2); },
      [&](V x2) HWY_ATTR { return hn::Div(hn::Mul(hn::Set(d, 2.0), far_bessels(j, x2)), x2); });
}
template <class V>
HWY_INLINE V airy_slopes_of_squares(V x_squared) {
  const hn::DFromV<V> d;
  const airy_detail::Bessel j = airy_detail::bessel_2();
  return near_and_far(
      x_squared, [&](V x2) HWY_ATTR { return hn::Mul(hn::Set(d, -0.125), near_bessels(j, x2)); },
      [&](V x2) HWY_ATTR { return hn::Neg(hn::Div(far_bessels(j, x2), hn::Mul(x2, hn::Sqrt(x2)))); });
}

/// f of each number of a vector.
template <class V, class F>
HWY_INLINE V each_number(V x, const F& f) {
  const hn::DFromV<V> d;
  HWY_ALIGN double numbers[kMaxLanes];
  hn::Store(x, d, numbers);
  for (std::size_t i = 0; i < hn::MaxLanes(d); ++i) numbers[i] = f(numbers[i]);
  return hn::Load(d, numbers);
}
/// taper(x) and fall(x) of a profile. Its text is for numbers, and the compiler makes vectors of it where that has
/// neither branches nor calls; others are written here once more.
template <class P, class V>
HWY_INLINE V taper_on_vector(P, V x) {
  if constexpr (P::kIsExponential)
    return exp_of(hn::Neg(x));
  else
    return each_number(x, [](double number) HWY_ATTR { return P::taper(number); });
}
template <class P, class V>
HWY_INLINE V fall_on_vector(P, V x) {
  return each_number(x, [](double number) HWY_ATTR { return P::fall(number); });
}
template <class V>
HWY_INLINE V taper_on_vector(profiles::UniformDisk, V x) {
  return airy_of_squares(x);
}
template <class V>
HWY_INLINE V fall_on_vector(profiles::UniformDisk, V x) {
  return hn::Neg(hn::Div(airy_slopes_of_squares(x), airy_of_squares(x)));
}

/// G(x), and -G'(x)/G(x).
template <class V>
HWY_INLINE V tapers_of(Profile profile, V x) {
  with_profile(profile, 0, [&](auto of) HWY_ATTR { return x = taper_on_vector(of, x), 0; });
  return x;
}
template <class V>
HWY_INLINE V falls_of(Profile profile, V x) {
  with_profile(profile, 0, [&](auto of) HWY_ATTR { return x = fall_on_vector(of, x), 0; });
  return x;
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_PROFILES_INL_H_
