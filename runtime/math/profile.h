// Shapes of sources. A shape is a profile, round and of unit flux, stretched by two axes and turned. In the uv plane it
// is a taper G(x) of one variable,
//   x = kScale (along^2 + across^2),
// along and across: the baseline, in wavelengths, times the axes as vectors (ShapeAxes). Those of axes in the (l, m)
// plane, at a position angle pa, north (m) through east (l), are
//   along = major (u sin pa + v cos pa),  across = minor (u cos pa - v sin pa).
// A profile is one file in runtime/math/profiles, and what it says there is all that trees and kernels know of it:
//   kName, kAxes    what users call it, and what its axes are
//   kScale          as above
//   taper(x)        G(x), for plain numbers and those that carry derivatives; G(0) = 1
//   fall(x)         -G'(x)/G(x)
//   log_bound(x, y) of complex z with Re z >= x, |Im sqrt z| <= y and x <= 0, the logarithm of the largest |G(z)|: how
//                   fast series converge
//   kIsExponential  whether G(x) = exp(-x), which goes from channel to channel by recurrences
// Of all of them |x G'(x)| <= kSteepestTaper.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "runtime/math/conventions.h"
#include "runtime/math/profiles/exponential_disk.h"
#include "runtime/math/profiles/gaussian.h"
#include "runtime/math/profiles/uniform_disk.h"

namespace rimetree {

template <class... P>
struct ProfileList {
  static constexpr int kCount = sizeof...(P);
};
/// All of them. Their places here are their numbers; those of old trees mean the same in new ones.
using Profiles = ProfileList<profiles::Gaussian, profiles::ExponentialDisk, profiles::UniformDisk>;

/// Bound of |x G'(x)|: a visibility changes with the logarithm of frequency by no more than twice that.
inline constexpr double kSteepestTaper = 0.5;

/// Number of a profile.
using Profile = std::int8_t;
inline constexpr Profile kPoint = -1;    ///< none: no axes
inline constexpr Profile kUnknown = -2;  ///< no number of a profile

/// From a number in an array, where users say which.
template <class T>
RT_HD Profile profile_of(T number) {
  for (int i = 0; i < Profiles::kCount; ++i)
    if (number == T(i)) return static_cast<Profile>(i);
  return kUnknown;
}

namespace profile_detail {
template <class R, class F>
RT_HD R apply(int, const F&, R otherwise, ProfileList<>) {
  return otherwise;
}
template <class R, class F, class First, class... Rest>
RT_HD R apply(int number, const F& f, R otherwise, ProfileList<First, Rest...>) {
  if (number == 0) return f(First());
  return apply(number - 1, f, otherwise, ProfileList<Rest...>());
}
}  // namespace profile_detail

/// f(a profile's class), or `otherwise` for what is none.
template <class R, class F>
RT_HD R with_profile(Profile profile, R otherwise, const F& f) {
  return profile_detail::apply<R>(profile < 0 ? Profiles::kCount : profile, f, otherwise, Profiles());
}

// What is asked of a profile, as classes: nvcc takes no lambda of a host function for one of a device.
namespace profile_detail {
template <class T>
struct Taper {
  T x;
  template <class P>
  RT_HD T operator()(P) const {
    return P::taper(x);
  }
};
template <class T>
struct Fall {
  T x;
  template <class P>
  RT_HD T operator()(P) const {
    return P::fall(x);
  }
};
struct Scale {
  template <class P>
  RT_HD double operator()(P) const {
    return P::kScale;
  }
};
struct IsExponential {
  template <class P>
  RT_HD bool operator()(P) const {
    return P::kIsExponential;
  }
};
template <class... P>
std::string name_at(int number, ProfileList<P...>) {
  const char* const names[] = {P::kName...};
  return names[number];
}
template <class... P>
std::string axes_at(int number, ProfileList<P...>) {
  const char* const axes[] = {P::kAxes...};
  return axes[number];
}
template <class... P>
double log_bound_at(int number, double x, double im_root, ProfileList<P...>) {
  double (*const bounds[])(double, double) = {P::log_bound...};
  return bounds[number](x, im_root);
}
inline constexpr double kNoTaper = std::numeric_limits<double>::quiet_NaN();
}  // namespace profile_detail

/// G(x).
template <class T>
RT_HD T taper_of(Profile profile, T x) {
  const T otherwise = profile == kPoint ? T(1) : T(Plain<T>(profile_detail::kNoTaper));
  return with_profile(profile, otherwise, profile_detail::Taper<T>{x});
}
/// -G'(x)/G(x).
template <class T>
RT_HD T fall_of(Profile profile, T x) {
  return with_profile(profile, T(0), profile_detail::Fall<T>{x});
}
RT_HD inline double scale_of(Profile profile) { return with_profile(profile, 0.0, profile_detail::Scale()); }
/// What X of a taper G(X nu^2) is times along^2 + across^2 in metres; nu in hertz.
RT_HD inline double argument_scale(Profile profile) {
  return scale_of(profile) / (kSpeedOfLight_m_s * kSpeedOfLight_m_s);
}
RT_HD inline bool is_exponential(Profile profile) {
  return with_profile(profile, false, profile_detail::IsExponential());
}
inline double log_bound(Profile profile, double x, double im_root) {
  return profile < 0 ? 0.0 : profile_detail::log_bound_at(profile, x, im_root, Profiles());
}
inline std::string name_of(Profile profile) {
  return profile < 0 ? "point" : profile_detail::name_at(profile, Profiles());
}
/// "0 (gaussian: axes are ...), 1 (...)".
inline std::string all_profiles() {
  std::string text;
  for (int i = 0; i < Profiles::kCount; ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(i) + " (" + name_of(static_cast<Profile>(i)) + ": axes are " +
            profile_detail::axes_at(i, Profiles()) + ")";
  return text;
}

/// The axes of a shape as vectors, by their components along u, v and w, radians. Of a shape that is drawn on the sky
/// they are tangents of the sphere at the source.
template <class T>
struct ShapeAxes {
  T major[3], minor[3];

  RT_HD T along(T u, T v, T w) const { return major[0] * u + major[1] * v + major[2] * w; }
  RT_HD T across(T u, T v, T w) const { return minor[0] * u + minor[1] * v + minor[2] * w; }
};
/// Of axes in the (l, m) plane.
template <class T>
RT_HD ShapeAxes<T> axes_in_plane(T major_rad, T minor_rad, T position_angle_rad) {
  const T s = sin(position_angle_rad), c = cos(position_angle_rad);
  return {{major_rad * s, major_rad * c, T(0)}, {minor_rad * c, -(minor_rad * s), T(0)}};
}
/// What major and minor axis and position angle in the (l, m) plane gain by what the components of the vectors do.
inline void add_in_plane(const ShapeAxes<double>& gained, double major_rad, double minor_rad, double position_angle_rad,
                         double* to) {
  const double s = std::sin(position_angle_rad), c = std::cos(position_angle_rad);
  const double *along = gained.major, *across = gained.minor;
  to[0] += s * along[0] + c * along[1];
  to[1] += c * across[0] - s * across[1];
  to[2] += major_rad * (c * along[0] - s * along[1]) - minor_rad * (s * across[0] + c * across[1]);
}

/// Visibility of a source of unit flux, at so many wavelengths per metre; `along` and `across` in metres (ShapeAxes).
template <class T>
RT_HD T taper_of(Profile profile, T along_m, T across_m, T per_metre) {
  // What does not depend on frequency first: it is done once for all channels.
  const T square_m2 = T(Plain<T>(scale_of(profile))) * (along_m * along_m + across_m * across_m);
  return taper_of(profile, square_m2 * (per_metre * per_metre));
}
/// The same of axes in the (l, m) plane, at (u, v) in metres.
template <class T>
RT_HD T taper_of(Profile profile, T u_m, T v_m, T per_metre, T major_rad, T minor_rad, T position_angle_rad) {
  const T s = sin(position_angle_rad), c = cos(position_angle_rad);
  return taper_of(profile, major_rad * (u_m * s + v_m * c), minor_rad * (u_m * c - v_m * s), per_metre);
}

}  // namespace rimetree
