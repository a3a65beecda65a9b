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
  int first = 0, second = 0, step = 0;
};

/// Starts the recurrence of sinc(x_k) nu_k/nu_0, x_k = pi change nu_k, which is sin(x_k)/x_0: a sine, so that
///   S_{k+1} = S_k + D_k,   D_{k+1} = D_k - 4 sin^2(a/2) S_{k+1},   a = x_{k+1} - x_k.
/// In this form errors grow with the number of steps, not with its square (Reinsch's form of Goertzel's recurrence),
/// and nothing cancels: D_0 = cos((x_0 + x_1)/2) sinc(a/2) (nu_1 - nu_0)/nu_0. It holds for smearing of any strength.
template <class V>
HWY_INLINE void start_smearing(V change, const Run& run, const SmearingTerms& terms, std::size_t lanes, double* slow) {
  const hn::DFromV<V> d;
  const V between = hn::Set(d, run.first_hz + 0.5 * run.spacing_hz), half = hn::Set(d, 0.5 * run.spacing_hz);
  const V first = sinc_of_half_turns(hn::Mul(change, hn::Set(d, run.first_hz)), terms.first);
  const V cosine = cos_of_half_turns(hn::Mul(change, between), terms.second);
  const V step = hn::Mul(change, half), sinc = sinc_of_half_turns(step, terms.step);
  const V sine = hn::Mul(hn::Mul(step, hn::Set(d, 2 * kPi)), sinc);
  const double ratio = run.first_hz != 0 ? run.spacing_hz / run.first_hz : 0.0;
  hn::Store(first, d, slow);
  hn::Store(hn::Mul(hn::Mul(cosine, sinc), hn::Set(d, ratio)), d, slow + lanes);
  hn::Store(hn::Mul(sine, sine), d, slow + 2 * lanes);
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

/// Starts the recurrence of the taper: its value, the ratio of the first two channels less one, and by how much (in
/// units of itself) the ratio changes from channel to channel.
template <class V>
HWY_INLINE void start_taper(V e, const Run& run, std::size_t lanes, double* slow) {
  const hn::DFromV<V> d;
  const double nu = run.first_hz, step = run.spacing_hz;
  hn::Store(taper_at(e, nu), d, slow + 3 * lanes);
  hn::Store(hn::Expm1(d, hn::Mul(e, hn::Set(d, -step * (2 * nu + step)))), d, slow + 4 * lanes);
  hn::Store(hn::Expm1(d, hn::Mul(e, hn::Set(d, -2 * step * step))), d, slow + 5 * lanes);
}

/// The recurrences' state for one source and one vector of doubles.
template <bool kSmear, bool kTaper>
struct Amplitude {
  using V = hn::Vec<hn::ScalableTag<double>>;
  V value, difference, curvature, taper, ratio, change;

  HWY_INLINE void load(const double* slow, std::size_t lanes) {
    const hn::ScalableTag<double> d;
    if constexpr (kSmear) {
      value = hn::Load(d, slow), difference = hn::Load(d, slow + lanes), curvature = hn::Load(d, slow + 2 * lanes);
    }
    if constexpr (kTaper) {
      taper = hn::Load(d, slow + 3 * lanes), ratio = hn::Load(d, slow + 4 * lanes);
      change = hn::Load(d, slow + 5 * lanes);
    }
  }
  HWY_INLINE void store(double* slow, std::size_t lanes) const {
    const hn::ScalableTag<double> d;
    if constexpr (kSmear) hn::Store(value, d, slow), hn::Store(difference, d, slow + lanes);
    if constexpr (kTaper) hn::Store(taper, d, slow + 3 * lanes), hn::Store(ratio, d, slow + 4 * lanes);
  }
  HWY_INLINE V now() const {
    if constexpr (kSmear && kTaper) return hn::Mul(value, taper);
    if constexpr (kSmear) return value;
    return taper;
  }
  HWY_INLINE void advance() {
    if constexpr (kSmear) {
      value = hn::Add(value, difference);
      difference = hn::NegMulAdd(curvature, value, difference);
    }
    if constexpr (kTaper) {
      taper = hn::MulAdd(taper, ratio, taper);
      ratio = hn::MulAdd(ratio, change, hn::Add(ratio, change));  // (1 + ratio)(1 + change) - 1
    }
  }
};

/// Amplitudes of the next tile of channels, for singles.
template <bool kSmear, bool kTaper>
HWY_NOINLINE void advance_amplitudes(std::size_t n_source, const Scratch<float>& to) {
  const hn::ScalableTag<double> d;
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<float>());
  for (std::size_t s = 0; s < n_source; ++s)
    for (std::size_t lane = 0; lane < lanes; lane += hn::Lanes(d)) {
      double* slow = to.slow + s * 6 * lanes + lane;
      float* amplitude = to.amplitude + s * kTileChannels * lanes + lane;
      Amplitude<kSmear, kTaper> a;
      a.load(slow, lanes);
#pragma GCC unroll 8
      for (std::size_t k = 0; k < kTileChannels; ++k, a.advance()) store_as(d, a.now(), amplitude + k * lanes);
      a.store(slow, lanes);
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_AMPLITUDE_INL_H_
