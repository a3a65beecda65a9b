// Real amplitudes that change slowly from channel to channel, time smearing and the taper of a Gaussian, formed by
// recurrences in double precision for one tile of channels at a time. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_AMPLITUDE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_AMPLITUDE_INL_H_
#undef RIMETREE_NODES_PSV_AMPLITUDE_INL_H_
#else
#define RIMETREE_NODES_PSV_AMPLITUDE_INL_H_
#endif

#include "hwy/contrib/math/math-inl.h"
#include "nodes/psv/kernel.h"
#include "nodes/psv/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv {
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

/// Terms of the series that hold on a run for all rows and sources; zero where none does.
struct SmearingTerms {
  int band = 0, step = 0, tile = 0;  ///< for arguments x_k, a/2 and 4 a
};

/// Time smearing sinc(x_k), x_k = pi change nu_k, times nu_k/nu_0 is a sine, S_k = sin(x_k)/x_0, and obeys
///   S_{k+1} - S_k = D_k,   D_{k+1} - D_k = -4 sin^2(a/2) S_{k+1},   a = x_{k+1} - x_k.
/// In this form errors grow with the number of steps, not with its square (Reinsch's form of Goertzel's recurrence),
/// and it holds for smearing of any strength. A tile starts from the two channels about its middle and goes outwards;
/// S and D in the middles of tiles obey the same recurrence with 8 a for a. Its beginning is written with sinc so that
/// nothing cancels: D_k = r cos((x_k + x_{k+1})/2) sinc(a/2), r = (nu_1 - nu_0)/nu_0, and so on.
struct SmearingState {
  static constexpr std::size_t kValue = 0, kDifference = 1;  ///< S_3, D_3 and so on
  static constexpr std::size_t kNextValue = 2, kNextDifference = 3;  ///< what they change by to the next tile
  static constexpr std::size_t kTileCurvature = 4, kCurvature = 5;
};

template <class V>
HWY_INLINE void start_smearing(V change, const Run& run, const SmearingTerms& terms, std::size_t lanes, double* slow) {
  const hn::DFromV<V> d;
  const auto at = [&](double k) { return kPi * (run.first_hz + k * run.spacing_hz); };
  const double step = kPi * run.spacing_hz, r = run.first_hz != 0 ? run.spacing_hz / run.first_hz : 0.0;
  const double third = run.first_hz != 0 ? 1 + 3 * r : 1.0;
  const auto times = [&](V v, double by) HWY_ATTR { return hn::Mul(v, hn::Set(d, by)); };
  const V narrow = sinc_of(change, 0.5 * step, terms.step), wide = sinc_of(change, 4 * step, terms.tile);
  const V sine = times(hn::Mul(change, narrow), step), tile_sine = times(hn::Mul(change, wide), 8 * step);
  const V slope = times(narrow, r);
  const V between = times(hn::Mul(change, sinc_of(change, at(7.5), terms.band)), -at(7.5));
  const auto store = [&](V v, std::size_t i) HWY_ATTR { hn::Store(v, d, slow + i * lanes); };
  using State = SmearingState;
  store(times(sinc_of(change, at(3), terms.band), third), State::kValue);
  store(hn::Mul(cos_of(change, at(3.5), terms.band), slope), State::kDifference);
  store(times(hn::Mul(cos_of(change, at(7), terms.band), wide), 8 * r), State::kNextValue);
  store(hn::Mul(hn::Mul(slope, tile_sine), between), State::kNextDifference);
  store(hn::Mul(tile_sine, tile_sine), State::kTileCurvature);
  store(hn::Mul(sine, sine), State::kCurvature);
}

/// Moves S and D to the next tile.
template <class V>
HWY_INLINE void advance_smearing(V value, V difference, std::size_t lanes, double* slow) {
  const hn::DFromV<V> d;
  using State = SmearingState;
  const auto load = [&](std::size_t i) HWY_ATTR { return hn::Load(d, slow + i * lanes); };
  const V curvature = load(State::kTileCurvature), dv = load(State::kNextValue), dd = load(State::kNextDifference);
  const V v = hn::Add(value, dv), w = hn::Add(difference, dd);
  hn::Store(v, d, slow + State::kValue * lanes);
  hn::Store(w, d, slow + State::kDifference * lanes);
  hn::Store(hn::NegMulAdd(curvature, v, dv), d, slow + State::kNextValue * lanes);
  hn::Store(hn::NegMulAdd(curvature, w, dd), d, slow + State::kNextDifference * lanes);
}

/// S at the channels of a tile from S and D in its middle.
template <class V>
HWY_INLINE void smear_tile(V value, V difference, V curvature, V (&a)[kTileChannels]) {
  V up = hn::Add(value, difference), down = value, up_step = difference, down_step = difference;
  a[kTilePairs - 1] = down;
  a[kTilePairs] = up;
#pragma GCC unroll 3
  for (std::size_t k = 1; k < kTilePairs; ++k) {
    up_step = hn::NegMulAdd(curvature, up, up_step);
    down_step = hn::MulAdd(curvature, down, down_step);
    up = hn::Add(up, up_step);
    down = hn::Sub(down, down_step);
    a[kTilePairs + k] = up;
    a[kTilePairs - 1 - k] = down;
  }
}

/// The taper exp(-E nu^2) of a Gaussian, e = E.
template <class V, class T>
HWY_INLINE V taper_exponent(const Sky<T>& sky, std::size_t shape, const Run& run, V u, V v) {
  const hn::DFromV<V> d;
  const V s = hn::Set(d, sky.sin_angle[shape]), c = hn::Set(d, sky.cos_angle[shape]);
  const V along = hn::Mul(hn::Set(d, sky.major_rad[shape]), hn::MulAdd(u, s, hn::Mul(v, c)));
  const V across = hn::Mul(hn::Set(d, sky.minor_rad[shape]), hn::MulSub(u, c, hn::Mul(v, s)));
  constexpr double kScale = kPi * kPi / (4 * 0.693147180559945309417232121458);
  const V e = hn::Mul(hn::Set(d, kScale / (kSpeedOfLight_m_s * kSpeedOfLight_m_s)),
                      hn::MulAdd(along, along, hn::Mul(across, across)));
  // Beyond exp(-80) (exp(-30) in single precision) everywhere on the run nothing is left to lose, and the ratios of
  // neighbours would leave the range of the numbers.
  const double low = std::min(std::abs(run.low_hz), std::abs(run.high_hz));
  return low > 0 ? hn::Min(e, hn::Set(d, (sizeof(T) == 8 ? 80.0 : 30.0) / (low * low))) : e;
}

template <class V>
HWY_INLINE V taper_at(V e, double nu) {
  const hn::DFromV<V> d;
  return hn::Exp(d, hn::Mul(e, hn::Set(d, -nu * nu)));
}

/// The taper's state: its value, the ratio of the next channel's to it less one, and by how much (in units of itself)
/// the ratio changes from channel to channel.
struct TaperState {
  static constexpr std::size_t kValue = 6, kRatio = 7, kChange = 8;
};

template <class V>
HWY_INLINE void start_taper(V e, const Run& run, std::size_t lanes, double* slow) {
  const hn::DFromV<V> d;
  const double nu = run.first_hz, step = run.spacing_hz;
  hn::Store(taper_at(e, nu), d, slow + TaperState::kValue * lanes);
  hn::Store(hn::Expm1(d, hn::Mul(e, hn::Set(d, -step * (2 * nu + step)))), d, slow + TaperState::kRatio * lanes);
  hn::Store(hn::Expm1(d, hn::Mul(e, hn::Set(d, -2 * step * step))), d, slow + TaperState::kChange * lanes);
}

/// The taper at the channels of a tile; moves its state to the next.
template <class V>
HWY_INLINE void taper_tile(std::size_t lanes, double* slow, V (&a)[kTileChannels]) {
  const hn::DFromV<V> d;
  V taper = hn::Load(d, slow + TaperState::kValue * lanes), ratio = hn::Load(d, slow + TaperState::kRatio * lanes);
  const V change = hn::Load(d, slow + TaperState::kChange * lanes);
#pragma GCC unroll 8
  for (std::size_t k = 0; k < kTileChannels; ++k) {
    a[k] = taper;
    taper = hn::MulAdd(taper, ratio, taper);
    ratio = hn::MulAdd(ratio, change, hn::Add(ratio, change));  // (1 + ratio)(1 + change) - 1
  }
  hn::Store(taper, d, slow + TaperState::kValue * lanes);
  hn::Store(ratio, d, slow + TaperState::kRatio * lanes);
}

/// For singles, what smear_tile() starts from (in the places of SmearingState) and tapers (after them) are made in
/// double precision before each tile.
inline constexpr std::size_t kSingleCurvature = 2, kSingleTaper = 3;

template <bool kSmear, bool kTaper>
HWY_NOINLINE void advance_amplitudes(std::size_t n_source, const Scratch<float>& to) {
  const hn::ScalableTag<double> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<float>());
  for (std::size_t s = 0; s < n_source; ++s)
    for (std::size_t lane = 0; lane < lanes; lane += hn::Lanes(d)) {
      double* slow = to.slow + s * kSlow * lanes + lane;
      float* amplitude = to.amplitude + s * kSingleAmplitudes * lanes + lane;
      if constexpr (kSmear) {
        const V value = hn::Load(d, slow + SmearingState::kValue * lanes);
        const V difference = hn::Load(d, slow + SmearingState::kDifference * lanes);
        store_as(d, value, amplitude + SmearingState::kValue * lanes);
        store_as(d, difference, amplitude + SmearingState::kDifference * lanes);
        store_as(d, hn::Load(d, slow + SmearingState::kCurvature * lanes), amplitude + kSingleCurvature * lanes);
        advance_smearing(value, difference, lanes, slow);
      }
      if constexpr (kTaper) {
        V a[kTileChannels];
        taper_tile(lanes, slow, a);
        for (std::size_t k = 0; k < kTileChannels; ++k) store_as(d, a[k], amplitude + (kSingleTaper + k) * lanes);
      }
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_AMPLITUDE_INL_H_
