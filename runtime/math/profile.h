// Shapes of sources. A shape is a profile, round and of unit flux, stretched by two axes and turned. In the uv plane it
// is a taper G(x) of one variable,
//   x = kScale ((major along)^2 + (minor across)^2),  along = u sin pa + v cos pa,  across = u cos pa - v sin pa,
// u and v in wavelengths, axes and position angle in radians, north (m) through east (l). A profile is one file in
// runtime/math/profiles, and what it says there is all that trees and kernels know of it:
//   kName, kAxes    what users call it, and what its axes are
//   kScale          as above
//   taper(x)        G(x), for plain numbers and those that carry derivatives; G(0) = 1
//   fall(x)         -G'(x)/G(x)
//   log_bound(x, y) of complex z with Re z >= x, |Im sqrt z| <= y and x <= 0, the logarithm of the largest |G(z)|: how
//   fast
//                   series converge
//   kIsExponential  whether G(x) = exp(-x), which goes from channel to channel by recurrences
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

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

/// Visibility of a source of unit flux and this shape at (u, v) in metres, at so many wavelengths per metre.
template <class T>
RT_HD T taper_of(Profile profile, T u_m, T v_m, T per_metre, T major_rad, T minor_rad, T position_angle_rad) {
  using P = Plain<T>;
  const T s = sin(position_angle_rad), c = cos(position_angle_rad);
  const T along_m = major_rad * (u_m * s + v_m * c);
  const T across_m = minor_rad * (u_m * c - v_m * s);
  // What does not depend on frequency first: it is done once for all channels.
  const T square_m2 = T(P(scale_of(profile))) * (along_m * along_m + across_m * across_m);
  return taper_of(profile, square_m2 * (per_metre * per_metre));
}

}  // namespace rimetree
