// Real amplitudes that change slowly from channel to channel, time smearing and the tapers of shapes, formed in
// double precision for one tile of channels at a time, by recurrences where these are. Included once per instruction
// set.
#if defined(RIMETREE_NODES_PSV_DIRECT_AMPLITUDE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_DIRECT_AMPLITUDE_INL_H_
#undef RIMETREE_NODES_PSV_DIRECT_AMPLITUDE_INL_H_
#else
#define RIMETREE_NODES_PSV_DIRECT_AMPLITUDE_INL_H_
#endif

#include <limits>

#include "nodes/psv/direct/tile-inl.h"
#include "nodes/psv/kernel.h"
#include "nodes/psv/profiles-inl.h"
#include "nodes/psv/turns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::direct {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Stores doubles as T.
template <class D>
HWY_INLINE void store_as(D d, hn::Vec<D> v, double* to) {
  hn::Store(v, d, to);
}
template <class D>
HWY_INLINE void store_as(D, hn::Vec<D> v, float* to) {
  const hn::Rebind<float, D> df;
  hn::Store(hn::DemoteTo(df, v), df, to);
}

template <class D>
HWY_INLINE hn::Vec<D> load_as(D d, const double* from) {
  return hn::Load(d, from);
}
template <class D>
HWY_INLINE hn::Vec<D> load_as(D d, const float* from) {
  return hn::PromoteTo(d, hn::Load(hn::Rebind<float, D>(), from));
}

/// Time smearing sinc(x_k), x_k = pi change nu_k, times nu_k/nu_3. This is a sine, S_k = sin(x_k)/x_3, and obeys
///   S_{k+1} - S_k = D_k,   D_{k+1} - D_k = -4 sin^2(a/2) S_{k+1},   a = x_{k+1} - x_k.
/// In this form (Reinsch's of Goertzel's recurrence) errors grow with the number of steps, not with its square. Nothing
/// cancels in D_3 = r cos((x_3 + x_4)/2) sinc(a/2), r = (nu_4 - nu_3)/nu_3. It holds for smearing of any strength.
template <class V>
struct Smearing {
  V value, difference, curvature;  ///< S and D at the channel below the middle of a tile, 4 sin^2(a/2)
};

/// From the change of path over an exposure, over c; kTerms is for the largest x_k of the tile.
template <int kTerms, class V>
HWY_INLINE Smearing<V> start_smearing(V change, const TileBand& band) {
  using T = hn::TFromD<hn::DFromV<V>>;
  const hn::DFromV<V> d;
  const auto times = [&](V v, double by) HWY_ATTR { return hn::Mul(v, hn::Set(d, static_cast<T>(by))); };
  const double step = kPi * band.spacing_hz, r = band.third_hz != 0 ? band.spacing_hz / band.third_hz : 0.0;
  const V half = sinc_of<kTerms>(change, 0.5 * step), sine = times(hn::Mul(change, half), step);
  const V cosine = cos_of<kTerms>(change, kPi * band.third_hz + 0.5 * step);
  return {sinc_of<kTerms>(change, kPi * band.third_hz), hn::Mul(cosine, times(half, r)), hn::Mul(sine, sine)};
}

/// S at the channels of a tile, outwards from the middle, and if asked for on to the next tile.
template <bool kAdvance, class V>
HWY_INLINE void smear_tile(Smearing<V>& s, V (&a)[kTileChannels]) {
  V down = s.value, down_step = s.difference;
  a[kTilePairs - 1] = down;
#pragma GCC unroll 4
  for (std::size_t k = 2; k <= kTilePairs; ++k) {
    down_step = hn::MulAdd(s.curvature, down, down_step);
    down = hn::Sub(down, down_step);
    a[kTilePairs - k] = down;
  }
#pragma GCC unroll 8
  for (std::size_t k = kTilePairs; k < kTileChannels + (kAdvance ? kTilePairs : 0); ++k) {
    s.value = hn::Add(s.value, s.difference);
    s.difference = hn::NegMulAdd(s.curvature, s.value, s.difference);
    if (k < kTileChannels) a[k] = s.value;
  }
}

/// What the tapers of all sources of a profile share on a run.
struct TaperOnRun {
  Profile profile = kPoint;
  bool exponential = false;
  double scale = 0;    ///< see argument_scale()
  double largest = 0;  ///< argument of an exponential one
};
template <class T>
TaperOnRun taper_on(Profile profile, const Run& run) {
  // Beyond exp(-80) (exp(-30) in single precision) everywhere on the run nothing is left to lose, and the ratios of
  // neighbours would leave the range of the numbers.
  const double low = std::min(std::abs(run.low_hz), std::abs(run.high_hz));
  const double largest = low > 0 ? (sizeof(T) == 8 ? 80.0 : 30.0) / (low * low) : std::numeric_limits<double>::max();
  return {profile, is_exponential(profile), argument_scale(profile), largest};
}

/// X of the taper G(X nu^2) of a shape (runtime/math/profile.h). What is no number stays none, which a minimum of the
/// two need not do.
template <class V, class T>
HWY_INLINE V taper_argument(const TaperOnRun& taper, const Sky<T>& sky, std::size_t shape, V u, V v, V w) {
  const V e = shape_argument(taper.scale, sky.axes[shape], u, v, w), largest = hn::Set(hn::DFromV<V>(), taper.largest);
  return taper.exponential ? hn::IfThenElse(hn::Gt(e, largest), largest, e) : e;
}

template <class V>
HWY_INLINE V taper_at(Profile profile, V e, double nu) {
  return tapers_of(profile, hn::Mul(e, hn::Set(hn::DFromV<V>(), nu * nu)));
}

/// Whether tapers of a tile are made in a pass of their own, and stored: else by recurrence as they are needed.
template <class T>
constexpr bool stores_tapers(Profile profile) {
  return sizeof(T) == 4 || !is_exponential(profile);
}

/// The state of an exponential taper: its value, the ratio of the next channel's to it less one, and by how much (in
/// units of itself) the ratio changes from channel to channel. Of any other taper its argument.
struct TaperState {
  static constexpr std::size_t kValue = 0, kRatio = 1, kChange = 2, kArgument = 0;
};

template <class V>
HWY_INLINE void start_taper(bool exponential, V e, const Run& run, std::size_t lanes, double* slow) {
  const hn::DFromV<V> d;
  if (!exponential) return hn::Store(e, d, slow + TaperState::kArgument * lanes);
  const double nu = run.first_hz, step = run.spacing_hz;
  hn::Store(exp_of(hn::Mul(e, hn::Set(d, -nu * nu))), d, slow + TaperState::kValue * lanes);
  hn::Store(hn::Expm1(d, hn::Mul(e, hn::Set(d, -step * (2 * nu + step)))), d, slow + TaperState::kRatio * lanes);
  hn::Store(hn::Expm1(d, hn::Mul(e, hn::Set(d, -2 * step * step))), d, slow + TaperState::kChange * lanes);
}

/// a[k] = or, if kTimes, *= the exponential taper at the channels of a tile; moves its state to the next.
template <bool kTimes, class V>
HWY_INLINE void taper_tile(std::size_t lanes, double* slow, V (&a)[kTileChannels]) {
  const hn::DFromV<V> d;
  V taper = hn::Load(d, slow + TaperState::kValue * lanes), ratio = hn::Load(d, slow + TaperState::kRatio * lanes);
  const V change = hn::Load(d, slow + TaperState::kChange * lanes);
#pragma GCC unroll 8
  for (std::size_t k = 0; k < kTileChannels; ++k) {
    a[k] = kTimes ? hn::Mul(a[k], taper) : taper;
    taper = hn::MulAdd(taper, ratio, taper);
    ratio = hn::MulAdd(ratio, change, hn::Add(ratio, change));  // (1 + ratio)(1 + change) - 1
  }
  hn::Store(taper, d, slow + TaperState::kValue * lanes);
  hn::Store(ratio, d, slow + TaperState::kRatio * lanes);
}

/// Stores the tapers of a tile; those of exponential profiles one tile after the other.
template <bool kExponential, class T>
HWY_NOINLINE void store_each_taper(Profile profile, const Run& run, std::size_t number, std::size_t n_source,
                                   double* HWY_RESTRICT state, T* HWY_RESTRICT to) {
  const hn::ScalableTag<double> d;
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>());
  for (std::size_t s = 0; s < n_source; ++s, state += kTaperState * lanes, to += kTileChannels * lanes)
    for (std::size_t lane = 0; lane < lanes; lane += hn::Lanes(d)) {
      hn::Vec<decltype(d)> a[kTileChannels];
      if constexpr (kExponential) {
        taper_tile<false>(lanes, state + lane, a);
      } else {
        const auto argument = hn::Load(d, state + TaperState::kArgument * lanes + lane);
        for (std::size_t k = 0; k < kTileChannels; ++k)
          a[k] = taper_at(profile, argument, channel_hz(run, number * kTileChannels + k));
      }
#pragma GCC unroll 8
      for (std::size_t k = 0; k < kTileChannels; ++k) store_as(d, a[k], to + k * lanes + lane);
    }
}
template <class T>
void store_tapers(const TaperOnRun& taper, const Run& run, std::size_t number, std::size_t n_source,
                  const Scratch<T>& to) {
  (taper.exponential ? store_each_taper<true, T> : store_each_taper<false, T>)(taper.profile, run, number, n_source,
                                                                               to.taper, to.tile_taper);
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::direct
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_DIRECT_AMPLITUDE_INL_H_
