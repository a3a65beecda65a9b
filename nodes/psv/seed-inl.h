// What the tiles start from: for a block of sources, a vector of rows and a run of channels, the phasor in the middle
// of the run, the rotations from there to the middles of tiles and to the channels of a tile, and the amplitudes' own
// beginnings. All are formed in double precision. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_SEED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_SEED_INL_H_
#undef RIMETREE_NODES_PSV_SEED_INL_H_
#else
#define RIMETREE_NODES_PSV_SEED_INL_H_
#endif

#include "nodes/psv/amplitude-inl.h"
#include "nodes/psv/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// How a block is evaluated on a run.
struct Method {
  bool smear = false, taper = false;  ///< amplitudes that change along the run
  bool single = false;                ///< the run is one channel: all amplitudes are in the phasor
  bool bandwidth = false;
  bool long_path = false;  ///< path differences that bandwidth smearing needs to more than double precision
  bool residual = false;
  bool weighted = false;     ///< a weight per source, to be put into its phasor
  SmearingTerms time_terms;  ///< for the sincs' and the step's arguments
  int bandwidth_terms = 0, step_terms = 0;
};

template <class T>
struct Block {
  const Sky<T>* sky;
  std::size_t begin, count;
  bool shaped;  ///< Gaussians
};

/// (u, v, w) in turns per unit direction cosine: as exact pairs, at the middle of the run and for half a step.
inline HWY_NOINLINE void scale_rows(const Run& run, std::size_t lanes, const double* rows, double* to) {
  const hn::ScalableTag<double> d;
  for (int i = 0; i < 3; ++i)
    for (std::size_t lane = 0; lane < lanes; lane += hn::Lanes(d)) {
      const auto u = hn::Load(d, rows + i * lanes + lane);
      const auto middle = scaled(u, run.middle_high, run.middle_low);
      const auto step = scaled(u, run.half_step_high, run.half_step_low);
      hn::Store(middle.high, d, to + (2 * i) * lanes + lane);
      hn::Store(middle.low, d, to + (2 * i + 1) * lanes + lane);
      hn::Store(step.high, d, to + (6 + 2 * i) * lanes + lane);
      hn::Store(step.low, d, to + (7 + 2 * i) * lanes + lane);
    }
}

/// z^2, for |z| = 1.
template <class V>
HWY_INLINE void square(V& zr, V& zi) {
  const V twice = hn::Add(zi, zi);
  const V re = hn::NegMulAdd(twice, zi, hn::Set(hn::DFromV<V>(), 1.0));
  zi = hn::Mul(twice, zr);
  zr = re;
}

/// From the rotation over half a step: those over 1/2, 3/2, 5/2 and 7/2 steps, and those to the middles of tiles.
template <class V, class T>
HWY_INLINE void store_rotations(V hr, V hi, std::size_t n_tile, std::size_t lanes, T* inner, T* outer) {
  const hn::DFromV<V> d;
  const auto store = [&](V re, V im, T* to) HWY_ATTR {
    store_as(d, re, to);
    store_as(d, im, to + lanes);
  };
  V zr = hr, zi = hi;
  square(zr, zi);
  // Three-term recurrence from -1/2 and 1/2; three steps of it lose nothing.
  const V twice = hn::Add(zr, zr);
  V c0 = hr, s0 = hn::Neg(hi), c1 = hr, s1 = hi;
  store(c1, s1, inner);
#pragma GCC unroll 3
  for (std::size_t k = 1; k < kTilePairs; ++k) {
    const V c2 = hn::MulSub(twice, c1, c0), s2 = hn::MulSub(twice, s1, s0);
    store(c2, s2, inner + 2 * k * lanes);
    c0 = c1, s0 = s1, c1 = c2, s1 = s2;
  }
  if (n_tile == 1) return store(hn::Set(d, 1.0), hn::Zero(d), outer);
  square(zr, zi);
  square(zr, zi);
  V er = zr, ei = zi;  // over four steps
  square(er, ei);      // over a tile
  if (n_tile % 2 == 1) zr = hn::Set(d, 1.0), zi = hn::Zero(d);
  store(zr, zi, outer);
  for (std::size_t k = 1; 2 * k < n_tile; ++k) {
    multiply(zr, zi, er, ei);
    store(zr, zi, outer + 2 * k * lanes);
  }
}

/// The factors that a source's phasor has at all channels of the run.
template <class T, class V>
HWY_INLINE V constant_factor(const Block<T>& block, std::size_t source, const Run& run, const Method& method,
                             std::size_t lanes, const double* rows) {
  const hn::ScalableTag<double> d;
  const Sky<T>& sky = *block.sky;
  const auto row = [&](int i) HWY_ATTR { return hn::Load(d, rows + i * lanes); };
  const V l = hn::Set(d, sky.l[source]), m = hn::Set(d, sky.m[source]), n = hn::Set(d, sky.n_high[source]);
  V factor = hn::Set(d, method.weighted ? double(sky.weights[source]) : 1.0);
  if (method.bandwidth) {
    const V path = method.long_path ? exact_path(row(0), row(1), row(2), l, m, n, hn::Set(d, sky.n_low[source])).high
                                    : hn::MulAdd(row(0), l, hn::MulAdd(row(1), m, hn::Mul(row(2), n)));
    factor = hn::Mul(factor, sinc_of_half_turns(hn::Mul(path, hn::Set(d, run.width_hz / kSpeedOfLight_m_s)),
                                                method.bandwidth_terms));
  }
  if (!method.single) return factor;
  if (method.smear) {
    const V change = hn::Mul(hn::MulAdd(row(3), l, hn::MulAdd(row(4), m, hn::Mul(row(5), n))), row(6));
    factor = hn::Mul(factor, sinc_of_half_turns(hn::Mul(change, hn::Set(d, run.first_hz)), method.time_terms.first));
  }
  if (method.taper)
    factor = hn::Mul(factor, taper_at(taper_exponent(sky, source - sky.n_point, run, row(0), row(1)), run.first_hz));
  return factor;
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
  const auto turns = [&](int i) HWY_ATTR { return hn::Load(d, to.scaled + i * lanes + lane); };
  const auto pair = [&](int i) HWY_ATTR { return Pair<V>{turns(i), turns(i + 1)}; };
  const V l = hn::Set(d, sky.l[source]), m = hn::Set(d, sky.m[source]);
  const V n = hn::Set(d, sky.n_high[source]), n_low = hn::Set(d, sky.n_low[source]);
  constexpr int kTerms = sizeof(T) == 8 ? 9 : 6;

  V zr, zi;
  phasor_of_turns<kTerms>(turns_of(pair(0), pair(2), pair(4), l, m, n, n_low), zr, zi);
  const V factor = constant_factor<T, V>(block, source, run, method, lanes, to.rows + lane);
  store_as(d, hn::Mul(zr, factor), to.middle + s * 2 * lanes + lane);
  store_as(d, hn::Mul(zi, factor), to.middle + (s * 2 + 1) * lanes + lane);
  if (method.single) return;

  V hr, hi;
  if (method.step_terms > 0)
    small_phasor_of_turns(hn::MulAdd(turns(6), l, hn::MulAdd(turns(8), m, hn::Mul(turns(10), n))), method.step_terms,
                          hr, hi);
  else
    phasor_of_turns(turns_of(pair(6), pair(8), pair(10), l, m, n, n_low), hr, hi);
  store_rotations(hr, hi, run.n_tile, lanes, to.inner + s * 2 * kTilePairs * lanes + lane,
                  to.outer + s * 2 * kMaxTilePairs * lanes + lane);

  double* slow = to.slow + s * 6 * lanes + lane;
  if (method.smear)
    start_smearing(hn::Mul(hn::MulAdd(row(3), l, hn::MulAdd(row(4), m, hn::Mul(row(5), n))), row(6)), run,
                   method.time_terms, lanes, slow);
  if (method.taper)
    start_taper(taper_exponent(sky, source - sky.n_point, run, row(0), row(1)), run, lanes, slow);
  if (method.residual) {
    const V path = hn::MulAdd(row(0), l, hn::MulAdd(row(1), m, hn::Mul(row(2), n)));
    store_as(d, hn::Mul(path, hn::Set(d, 2 * kPi)), to.wave_number + s * lanes + lane);
  }
}

template <class T>
HWY_NOINLINE void seed_block(const Block<T>& block, const Run& run, const Method& method, const Scratch<T>& to) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>()), step = hn::Lanes(hn::ScalableTag<double>());
  for (std::size_t s = 0; s < block.count; ++s)
    for (std::size_t lane = 0; lane < lanes; lane += step) seed_source(block, s, run, method, lanes, lane, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_SEED_INL_H_
