// What the tiles start from: for a block of sources, a vector of rows and a run of channels, the phasor at the first
// channel, its step from channel to channel, and the slow factors (smearing, taper), all formed in double precision.
// Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_SEED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_SEED_INL_H_
#undef RIMETREE_NODES_PSV_SEED_INL_H_
#else
#define RIMETREE_NODES_PSV_SEED_INL_H_
#endif

#include "hwy/contrib/math/math-inl.h"
#include "nodes/psv/fit.h"
#include "nodes/psv/simd_math-inl.h"
#include "nodes/psv/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// How a block is evaluated on a run.
struct Method {
  int fit = -1;       ///< index of the polynomial for time smearing; -1: no polynomial
  bool time = false;  ///< time smearing without a polynomial: the run is one channel
  bool bandwidth = false;
  bool gaussian = false;  ///< the tile expects steps that shrink
  bool residual = false;
  bool small_time = false, small_bandwidth = false;  ///< the sincs' arguments are below 1
};

template <class T>
struct Block {
  const Sky<T>* sky;
  std::size_t begin, count;
  bool shaped;  ///< Gaussians
};

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

template <class V>
struct Step {
  V zr, zi, sr, si;  ///< phasor and its step
  V exponent;        ///< of a Gaussian's step: the step shrinks by exp(-exponent) per channel
};

/// The taper exp(-E nu^2) on a regular run: amplitude at its start, ratio of its first two channels.
template <class V, class T>
HWY_INLINE void apply_taper(const Sky<T>& sky, std::size_t shape, const Run& run, V u, V v, Step<V>& z) {
  const hn::DFromV<V> d;
  const V s = hn::Set(d, sky.sin_angle[shape]), c = hn::Set(d, sky.cos_angle[shape]);
  const V along = hn::Mul(hn::Set(d, sky.major_rad[shape]), hn::MulAdd(u, s, hn::Mul(v, c)));
  const V across = hn::Mul(hn::Set(d, sky.minor_rad[shape]), hn::MulSub(u, c, hn::Mul(v, s)));
  constexpr double kScale = kPi * kPi / (4 * 0.693147180559945309417232121458);
  V e = hn::Mul(hn::Set(d, kScale / (kSpeedOfLight_m_s * kSpeedOfLight_m_s)),
                hn::MulAdd(along, along, hn::Mul(across, across)));
  // Beyond exp(-80) (exp(-30) in single precision) everywhere on the run nothing is left to lose, and the ratios of
  // neighbours would leave the range of the numbers.
  const double low = std::min(std::abs(run.low_hz), std::abs(run.high_hz));
  if (low > 0) e = hn::Min(e, hn::Set(d, (sizeof(T) == 8 ? 80.0 : 30.0) / (low * low)));
  const double nu = run.first_hz, step = run.spacing_hz;
  const V amplitude = hn::Exp(d, hn::Neg(hn::Mul(e, hn::Set(d, nu * nu))));
  z.zr = hn::Mul(z.zr, amplitude);
  z.zi = hn::Mul(z.zi, amplitude);
  if (run.count == 1) return;
  const V ratio = hn::Exp(d, hn::Neg(hn::Mul(e, hn::Set(d, step * (2 * nu + step)))));
  z.sr = hn::Mul(z.sr, ratio);
  z.si = hn::Mul(z.si, ratio);
  z.exponent = hn::Mul(e, hn::Set(d, 2 * step * step));
}

/// Coefficients of the polynomial that interpolates sinc(pi change nu) on the run, change in turns per hertz.
template <class V, class T>
HWY_INLINE void fit_smearing(V change, const Run& run, const Method& method, std::size_t lanes, T* coefficient) {
  const hn::DFromV<V> d;
  const Fit& fit = polynomial_fit(method.fit);
  V f[kMaxDegree + 1];
  for (int j = 0; j <= fit.degree; ++j)
    f[j] = sinc_of_turns(hn::Mul(change, hn::Set(d, run.nodes_hz[method.fit][j])), method.small_time);
  for (int i = 0; i <= fit.degree; ++i) {
    V c = hn::Mul(f[0], hn::Set(d, fit.matrix[i][0]));
    for (int j = 1; j <= fit.degree; ++j) c = hn::MulAdd(f[j], hn::Set(d, fit.matrix[i][j]), c);
    store_as(d, c, coefficient + i * lanes);
  }
}

template <class V>
HWY_INLINE void multiply(V& ar, V& ai, V br, V bi) {
  const V re = hn::MulSub(ar, br, hn::Mul(ai, bi));
  ai = hn::MulAdd(ar, bi, hn::Mul(ai, br));
  ar = re;
}

/// Single precision advances a chunk of c channels at a time from a phasor kept in double: the step over the chunk,
/// s_0 .. s_(c-1) = s^c t^(c(c-1)/2) where t is the shrinkage, and how it (t^(c^2)) and the step (t^c) shrink
/// themselves.
template <class D, class V>
HWY_INLINE void store_master(D d, const Step<V>& z, bool gaussian, std::size_t lanes, double* master) {
  const auto shrinkage = [&](double power) HWY_ATTR { return hn::Exp(d, hn::Mul(z.exponent, hn::Set(d, -power))); };
  V br = z.sr, bi = z.si;
  const std::size_t chunk = gaussian ? kGaussianChunk : kSingleChunk;
  for (std::size_t n = 1; n < chunk; n *= 2) {
    multiply(br, bi, br, bi);
    if (gaussian) {
      // s_n .. s_(2n-1) is s_0 .. s_(n-1) times t^(n^2).
      const V t = shrinkage(double(n * n));
      br = hn::Mul(br, t);
      bi = hn::Mul(bi, t);
    }
  }
  hn::Store(z.zr, d, master);
  hn::Store(z.zi, d, master + lanes);
  hn::Store(br, d, master + 2 * lanes);
  hn::Store(bi, d, master + 3 * lanes);
  hn::Store(z.sr, d, master + 4 * lanes);
  hn::Store(z.si, d, master + 5 * lanes);
  if (!gaussian) return;
  hn::Store(shrinkage(double(chunk)), d, master + 6 * lanes);
  hn::Store(shrinkage(double(chunk * chunk)), d, master + 7 * lanes);
}

/// Seeds one source and one vector of doubles; `lane` is its place in the vector of T.
template <class T>
HWY_INLINE void seed_source(const Block<T>& block, std::size_t s, const Run& run, const Method& method,
                            std::size_t lanes, std::size_t lane, const Scratch<T>& to) {
  const hn::ScalableTag<double> d;
  using V = hn::Vec<decltype(d)>;
  const Sky<T>& sky = *block.sky;
  const std::size_t source = block.begin + s;
  const auto row = [&](int i) HWY_ATTR { return hn::Load(d, to.rows + i * lanes + lane); };
  const V l = hn::Set(d, sky.l[source]), m = hn::Set(d, sky.m[source]);
  const V n = hn::Set(d, sky.n_high[source]), n_low = hn::Set(d, sky.n_low[source]);

  const Pair<V> path = exact_path(row(0), row(1), row(2), l, m, n, n_low);
  Step<V> z{hn::Zero(d), hn::Zero(d), hn::Set(d, 1.0), hn::Zero(d), hn::Zero(d)};
  phasor_of_turns(turns_of(path, run.k_high, run.k_low), z.zr, z.zi);
  if (run.count > 1) phasor_of_turns(turns_of(path, run.step_high, run.step_low), z.sr, z.si);

  if (method.bandwidth) {
    const V f = sinc_of_turns(hn::Mul(path.high, hn::Set(d, run.width_hz / kSpeedOfLight_m_s)), method.small_bandwidth);
    z.zr = hn::Mul(z.zr, f);
    z.zi = hn::Mul(z.zi, f);
  }
  if (method.fit >= 0 || method.time) {
    const V rate = hn::MulAdd(row(3), l, hn::MulAdd(row(4), m, hn::Mul(row(5), n)));
    const V change = hn::Mul(rate, row(6));
    if (method.fit >= 0) {
      const std::size_t n_coefficient = kDegrees[method.fit] + 1;
      fit_smearing(change, run, method, lanes, to.coefficient + s * n_coefficient * lanes + lane);
    } else {
      const V f = sinc_of_turns(hn::Mul(change, hn::Set(d, run.first_hz)), method.small_time);
      z.zr = hn::Mul(z.zr, f);
      z.zi = hn::Mul(z.zi, f);
    }
  }
  if (block.shaped) apply_taper(sky, source - sky.n_point, run, row(0), row(1), z);
  if (method.gaussian) store_as(d, hn::Expm1(d, hn::Neg(z.exponent)), to.shrink + s * lanes + lane);
  if (method.residual) store_as(d, hn::Mul(path.high, hn::Set(d, 2 * kPi)), to.wave_number + s * lanes + lane);

  if (sizeof(T) == 4 && run.count > 1) {
    store_master(d, z, method.gaussian, lanes, to.master + s * 8 * lanes + lane);
  } else {
    T* state = to.state + s * 4 * lanes + lane;
    store_as(d, z.zr, state);
    store_as(d, z.zi, state + lanes);
    store_as(d, z.sr, state + 2 * lanes);
    store_as(d, z.si, state + 3 * lanes);
  }
}

template <class T>
HWY_NOINLINE void seed_block(const Block<T>& block, const Run& run, const Method& method, const Scratch<T>& to) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>()), step = hn::Lanes(hn::ScalableTag<double>());
  for (std::size_t s = 0; s < block.count; ++s)
    for (std::size_t lane = 0; lane < lanes; lane += step) seed_source(block, s, run, method, lanes, lane, to);
}

/// Starts the next chunk of channels of singles from the masters, and moves the masters on.
inline HWY_NOINLINE void refresh_from_masters(std::size_t n_source, bool gaussian, const Scratch<float>& to) {
  const hn::ScalableTag<double> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<float>());
  for (std::size_t s = 0; s < n_source; ++s)
    for (std::size_t lane = 0; lane < lanes; lane += hn::Lanes(d)) {
      double* master = to.master + s * 8 * lanes + lane;
      const auto load = [&](int i) HWY_ATTR { return hn::Load(d, master + i * lanes); };
      V zr = load(0), zi = load(1);
      const V br = load(2), bi = load(3), sr = load(4), si = load(5);
      float* state = to.state + s * 4 * lanes + lane;
      store_as(d, zr, state);
      store_as(d, zi, state + lanes);
      store_as(d, sr, state + 2 * lanes);
      store_as(d, si, state + 3 * lanes);
      multiply(zr, zi, br, bi);
      hn::Store(zr, d, master);
      hn::Store(zi, d, master + lanes);
      if (!gaussian) continue;
      const V step_shrinks = load(6), chunk_shrinks = load(7);
      hn::Store(hn::Mul(br, chunk_shrinks), d, master + 2 * lanes);
      hn::Store(hn::Mul(bi, chunk_shrinks), d, master + 3 * lanes);
      hn::Store(hn::Mul(sr, step_shrinks), d, master + 4 * lanes);
      hn::Store(hn::Mul(si, step_shrinks), d, master + 5 * lanes);
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_SEED_INL_H_
