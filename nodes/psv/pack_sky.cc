// Packs sources for the kernel: points first, real weights for the planes in use, n - 1 without cancellation.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "nodes/psv/blocks.h"
#include "nodes/psv/kernel.h"
#include "nodes/psv/plane_shares.h"
#include "runtime/core/error.h"
#include "runtime/math/double_double.h"

namespace rimetree::psv {
namespace {

/// XX XY YX YY of one source and channel.
struct Brightness {
  Complex<double> e[4];
};

/// The brightness of all sources, in the caller's order, where it is: there may be more of it than memory has room for
/// twice.
class BrightnessOfAll {
 public:
  BrightnessOfAll(const Strided<Complex<double>> (&views)[4], std::size_t n_channel) : n_channel_(n_channel) {
    std::copy_n(views, 4, views_);
  }
  std::size_t n_channel() const { return n_channel_; }
  Brightness at(std::size_t s, std::size_t f) const {
    Brightness b;
    for (int i = 0; i < 4; ++i)
      if (views_[i]) b.e[i] = views_[i].at(static_cast<std::ptrdiff_t>(s), 0, static_cast<std::ptrdiff_t>(f));
    return b;
  }

 private:
  Strided<Complex<double>> views_[4];
  std::size_t n_channel_;
};

bool is_hermitian(const Brightness& b) { return b.e[0].im == 0 && b.e[3].im == 0 && b.e[1] == conj(b.e[2]); }

constexpr int kPlanes = static_cast<int>(Plane::kYyIm) + 1;
/// Planes, by a bit of each.
using PlaneSet = std::uint16_t;
constexpr PlaneSet set_of(Plane plane) { return static_cast<PlaneSet>(1 << static_cast<int>(plane)); }
/// Those in which there is something. "Not zero" rather than "non-zero", so that NaN brightness reaches the result.
PlaneSet planes_of(const Brightness& b) {
  return [&]<int... p>(std::integer_sequence<int, p...>) {
    return static_cast<PlaneSet>(((plane_weight(Plane(p), &b.e[0].re) == 0 ? 0 : set_of(Plane(p))) | ...));
  }
  (std::make_integer_sequence<int, kPlanes>());
}

/// What is known of a source after a look at all of its channels.
struct Seen {
  PlaneSet planes = 0;
  bool is_hermitian = true;
};
std::vector<Seen> look_at(const BrightnessOfAll& all, std::size_t n_source) {
  std::vector<Seen> seen(n_source);
  for (std::size_t s = 0; s < n_source; ++s)
    for (std::size_t f = 0; f < all.n_channel(); ++f) {
      const Brightness b = all.at(s, f);
      seen[s].planes |= planes_of(b);
      seen[s].is_hermitian = seen[s].is_hermitian && is_hermitian(b);
    }
  return seen;
}

/// The planes that some source needs, filled up to a number that the kernel has an instance for.
std::vector<Plane> planes_in_use(std::span<const Seen> values, std::span<const Seen> tangents) {
  Seen any;
  for (const auto& sources : {values, tangents})
    for (const Seen& seen : sources) {
      any.planes |= seen.planes;
      any.is_hermitian = any.is_hermitian && seen.is_hermitian;
    }
  const int first = static_cast<int>(any.is_hermitian ? Plane::kI : Plane::kXxRe), count = any.is_hermitian ? 4 : 8;
  std::vector<Plane> used, unused;
  for (int i = first; i < first + count; ++i)
    ((any.planes & set_of(Plane(i))) != 0 ? used : unused).push_back(Plane(i));
  std::size_t n = 1;
  while (n < used.size()) n *= 2;
  for (std::size_t i = 0; used.size() < n; ++i) used.push_back(unused[i]);
  return used;
}

/// The largest absolute value of an element of a source at any channel; NaN counts as nothing.
double largest_of(const BrightnessOfAll& all, std::size_t s) {
  const auto for_each_element = [&](const auto& f) {
    for (std::size_t channel = 0; channel < all.n_channel(); ++channel) {
      const Brightness b = all.at(s, channel);
      for (const Complex<double>& e : b.e) f(e);
    }
  };
  double square = 0, largest = 0;
  for_each_element([&](const Complex<double>& e) { square = std::max(square, e.re * e.re + e.im * e.im); });
  if (square > 1e-200 && square < 1e200) return std::sqrt(square);
  for_each_element([&](const Complex<double>& e) { largest = std::max(largest, abs(e)); });  // squares are not exact
  return largest;
}

/// Sources of one kind share blocks.
struct Kind {
  Profile profile = kPoint;
  bool one_plane = false;
  friend bool operator==(const Kind&, const Kind&) = default;
};

Profile profile_in(const SkyInput& in, std::size_t s) {
  if (!in.profile) return 0;
  const double number = in.profile.at(s, 0, 0);
  const Profile profile = profile_of(number);
  if (profile == kUnknown)
    throw Error("the shape of source " + std::to_string(s) + " has " + std::to_string(number) +
                " for the number of its profile, expected one of " + all_profiles());
  return profile;
}

bool is_extended(const SkyInput& in, std::size_t s) {
  if (in.major) return in.major.at(s, 0, 0) != 0 || in.minor.at(s, 0, 0) != 0;
  return in.axes[0] &&
         std::any_of(in.axes, in.axes + 6, [s](const Strided<double>& axis) { return axis.at(s, 0, 0) != 0; });
}
ShapeAxes<double> axes_in(const SkyInput& in, std::size_t s) {
  if (in.major) return axes_in_plane(in.major.at(s, 0, 0), in.minor.at(s, 0, 0), in.position_angle.at(s, 0, 0));
  const auto axis = [&](int i) { return in.axes[i].at(s, 0, 0); };
  return {{axis(0), axis(1), axis(2)}, {axis(3), axis(4), axis(5)}};
}

std::vector<Kind> kinds_of(const SkyInput& in, std::span<const Seen> seen, std::span<const Plane> planes) {
  PlaneSet others = 0;
  for (const Plane plane : planes.subspan(1)) others |= set_of(plane);
  std::vector<Kind> kinds(static_cast<std::size_t>(in.n_source));
  for (std::size_t s = 0; s < kinds.size(); ++s) {
    if (is_extended(in, s)) kinds[s].profile = profile_in(in, s);
    kinds[s].one_plane = !in.with_jones && (seen[s].planes & others) == 0;
  }
  return kinds;
}

/// Whether place and shape of a source are numbers, so that it adds nothing if it has no flux.
bool has_finite_place(const SkyInput& in, std::size_t s) {
  const auto all_finite = [](std::span<const double> values) {
    return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
  };
  const double place[3] = {in.l.at(s, 0, 0), in.m.at(s, 0, 0), in.n.at(s, 0, 0)};
  if (!all_finite(place)) return false;
  if (!is_extended(in, s)) return true;
  const ShapeAxes<double> axes = axes_in(in, s);
  return all_finite(axes.major) && all_finite(axes.minor);
}

/// The sources that are summed up, in the order in which they are.
std::vector<std::size_t> order_of(const SkyInput& in, std::span<const Seen> seen, const std::vector<Kind>& kinds) {
  std::vector<std::size_t> order(kinds.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (in.only_with_flux) {
    std::erase_if(order, [&](std::size_t s) { return seen[s].planes == 0 && has_finite_place(in, s); });
    if (order.empty() && !kinds.empty()) order.push_back(0);  // (u, v, w) that are no numbers reach the result
  }
  std::stable_sort(order.begin(), order.end(), [&kinds](std::size_t a, std::size_t b) {
    return std::tuple(kinds[a].profile, !kinds[a].one_plane) < std::tuple(kinds[b].profile, !kinds[b].one_plane);
  });
  return order;
}

template <class T>
void pack_places(const SkyInput& in, Sky<T>& sky) {
  for (const std::size_t s : sky.order) {
    const double l = in.l.at(s, 0, 0), m = in.m.at(s, 0, 0), n = in.n.at(s, 0, 0);
    const DoubleDouble<double> offset = n_offset_exact(l, m, n, in.n_minus);
    sky.l.push_back(l);
    sky.m.push_back(m);
    sky.n_high.push_back(offset.hi);
    sky.n_low.push_back(offset.lo);
    sky.extent.include(l, m, offset.hi);
    if (sky.l.size() <= sky.n_point) continue;
    sky.axes.push_back(axes_in(in, s));
  }
}

template <class T>
void cut_into_blocks(const std::vector<Kind>& kinds, Sky<T>& sky) {
  for (std::size_t s = 0; s < sky.n_source; ++s) {
    const Kind kind = kinds[sky.order[s]];
    const bool starts = s == 0 || kind != kinds[sky.order[s - 1]] || s - sky.blocks.back().begin == kBlockSources;
    if (starts) sky.blocks.push_back({s, s, kind.profile, kind.one_plane, {}});
    sky.blocks.back().end = s + 1;
    sky.blocks.back().extent.include(sky.l[s], sky.m[s], sky.n_high[s]);
  }
}

/// A tile may read beyond the last channel of the last source; what it finds there is never used.
template <class T>
std::size_t padded_weights(const Sky<T>& sky) {
  return (sky.n_source * sky.n_weight_channel + kTileChannels) * sky.planes.size();
}
template <class T, class Weight>
void pack_weights(const BrightnessOfAll& all, const Sky<T>& sky, std::vector<Weight>& weights) {
  weights.reserve(padded_weights(sky));
  for (const std::size_t s : sky.order)
    for (std::size_t f = 0; f < all.n_channel(); ++f) {
      const Brightness b = all.at(s, f);
      for (const Plane plane : sky.planes) weights.push_back(static_cast<Weight>(plane_weight(plane, &b.e[0].re)));
    }
}
template <class T>
void pack_brightness(const BrightnessOfAll& all, Sky<T>& sky) {
  sky.brightness.reserve(sky.n_source * all.n_channel() * 8);
  for (const std::size_t s : sky.order)
    for (std::size_t f = 0; f < all.n_channel(); ++f)
      for (const Complex<double>& e : all.at(s, f).e) sky.brightness.insert(sky.brightness.end(), {e.re, e.im});
}

/// Weights in units of the first plane's, which the phasors can then take along; none if some source has (next to) no
/// flux there.
template <class T>
void pack_relative_weights(Sky<T>& sky) {
  const std::size_t n_plane = sky.planes.size();
  if (sky.n_weight_channel > 1 || n_plane == 1 || sky.weights.empty()) return;
  for (std::size_t s = 0; s < sky.n_source; ++s) {
    const T* weight = &sky.weights[s * n_plane];
    for (std::size_t p = 0; p < n_plane; ++p) {
      if (!(std::abs(weight[0]) > T(1e-6) * std::abs(weight[p]))) return sky.relative_weights.clear();
      sky.relative_weights.push_back(weight[p] / weight[0]);
    }
  }
}

}  // namespace

double Extent::bound(double u, double v, double w) const { return std::abs(u) * l + std::abs(v) * m + std::abs(w) * n; }

double Extent::bound_of_change(double du, double dv, double dw, double exposure_s) const {
  const double change = bound(du, dv, dw) * std::abs(exposure_s);
  return std::isnan(change) ? std::numeric_limits<double>::infinity() : change;
}

void Extent::include(double l_value, double m_value, double n_value) {
  l = std::max(l, std::abs(l_value));
  m = std::max(m, std::abs(m_value));
  n = std::max(n, std::abs(n_value));
}

template <class T>
double Sky<T>::one_plane_part() const {
  std::size_t count = 0;
  for (const SourceBlock& block : blocks) count += block.one_plane ? block.end - block.begin : 0;
  return double(count) / double(std::max<std::size_t>(n_source, 1));
}
template double Sky<float>::one_plane_part() const;
template double Sky<double>::one_plane_part() const;

template <class T>
std::vector<AlikeSources> Sky<T>::alike() const {
  std::vector<AlikeSources> all;
  for (const SourceBlock& block : blocks) {
    if (all.empty() || all.back().profile != block.profile) all.push_back({block.profile, block.begin, block.end});
    all.back().end = block.end;
  }
  return all;
}
template std::vector<AlikeSources> Sky<float>::alike() const;
template std::vector<AlikeSources> Sky<double>::alike() const;

template <class T>
Sky<T> pack_sky(const SkyInput& in) {
  Sky<T> sky;
  const auto n_source = static_cast<std::size_t>(in.n_source);
  const std::size_t n_channel = sky.n_weight_channel =
      in.brightness_varies ? static_cast<std::size_t>(in.n_channel) : 1;
  const BrightnessOfAll all(in.brightness, n_channel), tangents(in.brightness_tangent, n_channel);
  const bool has_tangents = static_cast<bool>(in.brightness_tangent[0]);
  const std::vector<Seen> seen = look_at(all, n_source);
  sky.planes = planes_in_use(seen, has_tangents ? look_at(tangents, n_source) : std::vector<Seen>());
  if (in.with_jones)
    sky.planes = {Plane::kXxRe, Plane::kXxIm, Plane::kXyRe, Plane::kXyIm,
                  Plane::kYxRe, Plane::kYxIm, Plane::kYyRe, Plane::kYyIm};

  const std::vector<Kind> kinds = kinds_of(in, seen, sky.planes);
  sky.order = order_of(in, seen, kinds);
  sky.n_source = sky.order.size(), sky.n_left_out = n_source - sky.n_source;
  sky.n_point = static_cast<std::size_t>(std::count_if(sky.order.begin(), sky.order.end(),
                                                       [&kinds](std::size_t s) { return kinds[s].profile == kPoint; }));
  pack_places(in, sky);
  cut_into_blocks(kinds, sky);

  for (const std::size_t source : sky.order) sky.total_flux += largest_of(all, source);
  if (in.with_jones) {
    pack_brightness(all, sky);
  } else {
    pack_weights(all, sky, sky.weights);
    if (has_tangents) pack_weights(tangents, sky, sky.tangent_weights);
  }
  pack_relative_weights(sky);
  sky.weights.resize(in.with_jones ? kTileChannels * sky.planes.size() : padded_weights(sky), T(0));
  return sky;
}

template Sky<float> pack_sky<float>(const SkyInput&);
template Sky<double> pack_sky<double>(const SkyInput&);

}  // namespace rimetree::psv
