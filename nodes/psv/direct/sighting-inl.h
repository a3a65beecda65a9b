// One source and one vector of rows, as the seeds read them, and how a block of sources is to be evaluated. Included
// once per instruction set.
#if defined(RIMETREE_NODES_PSV_DIRECT_SIGHTING_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_DIRECT_SIGHTING_INL_H_
#undef RIMETREE_NODES_PSV_DIRECT_SIGHTING_INL_H_
#else
#define RIMETREE_NODES_PSV_DIRECT_SIGHTING_INL_H_
#endif

#include "nodes/psv/direct/amplitude-inl.h"
#include "nodes/psv/direct/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::direct {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// How a block is evaluated on a run.
struct Method {
  bool smear = false, taper = false;  ///< amplitudes that change along the run
  TaperOnRun shape;
  bool single = false;  ///< the run is one channel: all amplitudes are in the phasor
  bool bandwidth = false;
  bool long_path = false;  ///< path differences that bandwidth smearing needs to more than double precision
  bool residual = false;
  int narrow_terms = 0;                                     ///< for smearing in a band that is not wide; zero: it is
  bool narrow = false;                                      ///< such smearing is asked for
  bool weighted = false;                                    ///< a weight per source, to be put into its phasor
  int time_terms = 0, bandwidth_terms = 0, step_terms = 0;  ///< for the sincs' and the step's arguments; see sinc_of()
};

template <class T>
struct Block {
  const Sky<T>* sky;
  std::size_t begin, count;
  Profile profile;
};

inline TileBand tile_band(const Run& run, std::size_t tile) {
  return {run.first_hz + double(tile * kTileChannels + kTilePairs - 1) * run.spacing_hz, run.spacing_hz};
}

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

/// One source, or one source and one vector of rows, as the seeds read them.
template <class T>
struct Sighting {
  using V = hn::Vec<hn::ScalableTag<double>>;
  const Block<T>& block;
  const Scratch<T>& to;
  std::size_t s, lanes, lane;
  V l, m, n, n_low;

  HWY_INLINE Sighting(const Block<T>& b, const Scratch<T>& scratch, std::size_t source, std::size_t n_lanes,
                      std::size_t first_lane)
      : block(b), to(scratch), s(source), lanes(n_lanes), lane(first_lane) {
    const hn::ScalableTag<double> d;
    l = hn::Set(d, b.sky->l[number()]), m = hn::Set(d, b.sky->m[number()]);
    n = hn::Set(d, b.sky->n_high[number()]), n_low = hn::Set(d, b.sky->n_low[number()]);
  }
  std::size_t number() const { return block.begin + s; }
  HWY_INLINE V row(int i) const { return hn::Load(hn::ScalableTag<double>(), to.rows + i * lanes + lane); }
  HWY_INLINE V scaled_row(int i) const { return hn::Load(hn::ScalableTag<double>(), to.scaled + i * lanes + lane); }
  HWY_INLINE V along(V u, V v, V w) const { return hn::MulAdd(u, l, hn::MulAdd(v, m, hn::Mul(w, n))); }
  HWY_INLINE V path() const { return along(row(0), row(1), row(2)); }
  /// Change of path over an exposure, over c.
  HWY_INLINE V change() const { return hn::Mul(along(row(3), row(4), row(5)), row(6)); }
  /// Turns from scaled rows `i` on.
  HWY_INLINE V turns(int i) const {
    const auto pair = [&](int k) HWY_ATTR { return Pair<V>{scaled_row(k), scaled_row(k + 1)}; };
    return turns_of(pair(i), pair(i + 2), pair(i + 4), l, m, n, n_low);
  }
  HWY_INLINE V taper_argument(const TaperOnRun& taper) const {
    return direct::HWY_NAMESPACE::taper_argument(taper, *block.sky, number() - block.sky->n_point, row(0), row(1),
                                                 row(2));
  }
};

/// Loops are kept short and apart: what limits one long loop is the latency of each source's chain of operations, of
/// which a processor can then overlap two at most.
template <class T, class F>
HWY_INLINE void for_each_sighting(const Block<T>& block, const Scratch<T>& to, F&& f) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>()), step = hn::Lanes(hn::ScalableTag<double>());
  for (std::size_t s = 0; s < block.count; ++s)
    for (std::size_t lane = 0; lane < lanes; lane += step) f(Sighting<T>(block, to, s, lanes, lane));
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::direct
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_DIRECT_SIGHTING_INL_H_
