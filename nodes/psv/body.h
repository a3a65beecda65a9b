// What one source adds to one visibility: the scalar text of the PSV sum, for host and device, plain and dual numbers.
//
//   V_pq(t, nu) = sum_s J_n..J_1 B_s J_1^H..J_n^H K S_t S_f G         (Smirnov 2011, A&A 527, A106, eq. 18)
//   K   = exp(+2 pi i nu/c path),  path = u l + v m + w (n - n_minus)
//   S_t = sinc(pi nu/c path_rate exposure), S_f = sinc(pi path width/c)  (TMS 2017, eqs 6.80 and 6.67)
//   G   = taper of the source's shape (runtime/math/profile.h)
//
// Every faster kernel is held to this one. X is a Problem, or what has the same members, of which each quantity gives
// its number at(source, time, channel).
#pragma once

#include "nodes/psv/problem.h"
#include "runtime/math/double_double.h"
#include "runtime/math/jones.h"
#include "runtime/math/profile.h"

namespace rimetree::psv {

template <class T>
RT_HD bool derivative_is_zero(const Dual<T>& x) {
  return x.d == T(0);
}
template <class T>
RT_HD bool derivative_is_zero(const Complex<Dual<T>>& x) {
  return x.re.d == T(0) && x.im.d == T(0);
}

/// Of a source that has a shape.
template <class X>
RT_HD Profile profile_at(const X& x, std::ptrdiff_t s, std::ptrdiff_t t, std::ptrdiff_t f) {
  return x.profile ? profile_of(value_of(x.profile.at(s, t, f))) : Profile{0};
}

/// K S_t S_f G of source s at time t and channel f of one baseline.
template <class X>
RT_HD Complex<typename X::Number> coherence(const X& x, std::ptrdiff_t s, std::ptrdiff_t t, std::ptrdiff_t f) {
  using T = typename X::Number;
  using P = Plain<T>;
  const T l = x.l.at(s, t, f), m = x.m.at(s, t, f), n = x.n.at(s, t, f);
  const T u = x.u.at(s, t, f), v = x.v.at(s, t, f), w = x.w.at(s, t, f);
  const P nu = P(x.frequency_hz[f]);
  const DoubleDouble<T> n_off = n_offset_exact(l, m, n, x.n_minus);
  const DoubleDouble<T> path = path_difference_exact(u, v, w, l, m, n_off);
  const DoubleDouble<P> k = turns_per_metre(nu);
  Complex<T> z = fringe_exact(path, k);

  constexpr double kTurn = 2 * kPi;
  if (x.du) {
    if (x.smear_frequency && x.width_hz) z = z * smearing(path.hi * T(P(kTurn * x.width_hz[f] / kSpeedOfLight_m_s)));
    if (x.smear_time && x.exposure_s) {
      const T rate = path_difference_m(x.du.at(s, t, f), x.dv.at(s, t, f), x.dw.at(s, t, f), l, m, n_off.hi);
      z = z * smearing(rate * T(P(kTurn * x.exposure_s[t]) * k.hi));
    }
  }
  if (x.major)
    z = z * taper_of(profile_at(x, s, t, f), u, v, T(k.hi), x.major.at(s, t, f), x.minor.at(s, t, f),
                     x.position_angle.at(s, t, f));
  if (x.axes[0]) {
    const auto axis = [&](int i) { return T(x.axes[i].at(s, t, f)); };
    const ShapeAxes<T> axes{{axis(0), axis(1), axis(2)}, {axis(3), axis(4), axis(5)}};
    z = z * taper_of(profile_at(x, s, t, f), axes.along(u, v, w), axes.across(u, v, w), T(k.hi));
  }
  return z;
}

/// The four views at one place as a matrix; null views are zero.
template <class T, class View>
RT_HD Jones<T> matrix_at(const View (&view)[4], std::ptrdiff_t s, std::ptrdiff_t t, std::ptrdiff_t f) {
  const Complex<T> zero{T(0), T(0)};
  return {view[0] ? view[0].at(s, t, f) : zero, view[1] ? view[1].at(s, t, f) : zero,
          view[2] ? view[2].at(s, t, f) : zero, view[3] ? view[3].at(s, t, f) : zero};
}

/// J_n .. J_1 B J_1^H .. J_n^H of source s at time t and channel f.
template <class X>
RT_HD Jones<typename X::Number> corrupted_brightness(const X& x, std::ptrdiff_t s, std::ptrdiff_t t, std::ptrdiff_t f) {
  using T = typename X::Number;
  Jones<T> b = matrix_at<T>(x.brightness, s, t, f);
  for (int i = 0; i < x.n_jones; ++i) {
    const auto& pair = x.jones[i];
    b = pair.p_is_matrix ? matrix_at<T>(pair.p, s, t, f) * b : pair.p[0].at(s, t, f) * b;
    b = pair.q_is_matrix ? b * matrix_at<T>(pair.q, s, t, f) : pair.q[0].at(s, t, f) * b;
  }
  return b;
}

/// What source s adds to the visibility at time t and channel f.
template <class X>
RT_HD Jones<typename X::Number> contribution(const X& x, std::ptrdiff_t s, std::ptrdiff_t t, std::ptrdiff_t f) {
  return coherence(x, s, t, f) * corrupted_brightness(x, s, t, f);
}

/// Whether source s moves nothing: all dual numbers that make up its contribution have derivative zero.
template <class X>
RT_HD bool is_fixed(const X& x, std::ptrdiff_t s, std::ptrdiff_t t, std::ptrdiff_t f) {
  const auto fixed = [s, t, f](const auto& view) { return !view.moves() || derivative_is_zero(view.at(s, t, f)); };
  const auto all_fixed = [&fixed](const auto& view) {
    return fixed(view[0]) && fixed(view[1]) && fixed(view[2]) && fixed(view[3]);
  };
  if (!(fixed(x.l) && fixed(x.m) && fixed(x.n) && all_fixed(x.brightness))) return false;
  if (!(fixed(x.u) && fixed(x.v) && fixed(x.w) && fixed(x.du) && fixed(x.dv) && fixed(x.dw))) return false;
  if (!(fixed(x.major) && fixed(x.minor) && fixed(x.position_angle))) return false;
  for (const auto& axis : x.axes)
    if (!fixed(axis)) return false;
  for (int i = 0; i < x.n_jones; ++i) {
    const auto& pair = x.jones[i];
    if (!(all_fixed(pair.p) && all_fixed(pair.q))) return false;
  }
  return true;
}

}  // namespace rimetree::psv
