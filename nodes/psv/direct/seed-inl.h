// What the tiles start from: for a block of sources, a vector of rows and a run of channels, the phasor in the middle
// of the run, the rotations from there to the middles of tiles and to the channels of a tile, and the amplitudes' own
// beginnings. All are formed in double precision. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_DIRECT_SEED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_DIRECT_SEED_INL_H_
#undef RIMETREE_NODES_PSV_DIRECT_SEED_INL_H_
#else
#define RIMETREE_NODES_PSV_DIRECT_SEED_INL_H_
#endif

#include "nodes/psv/direct/seed_single-inl.h"
#include "nodes/psv/direct/sighting-inl.h"
#include "nodes/psv/direct/smeared-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::direct {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

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
    store(c2, s2, inner + k * kPairStride * lanes);
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
    store(zr, zi, outer + k * kPairStride * lanes);
  }
}

/// The factors that a source's phasor has at all channels of the run.
template <int kTerms, class T>
HWY_INLINE typename Sighting<T>::V constant_factor(const Sighting<T>& at, const Run& run, const Method& method) {
  const hn::ScalableTag<double> d;
  using V = typename Sighting<T>::V;
  V factor = hn::Set(d, method.weighted ? double(at.block.sky->first_weight(at.number())) : 1.0);
  if (method.bandwidth) {
    const V path =
        method.long_path ? exact_path(at.row(0), at.row(1), at.row(2), at.l, at.m, at.n, at.n_low).high : at.path();
    factor = hn::Mul(factor, sinc_of<kTerms>(path, kPi * run.width_hz / kSpeedOfLight_m_s));
  }
  if (!method.single) return factor;
  if (method.smear) {
    const double scale = kPi * run.first_hz;
    factor = hn::Mul(factor, method.time_terms > 0 ? sinc_of<9>(at.change(), scale) : sinc_of<0>(at.change(), scale));
  }
  if (method.taper)
    factor = hn::Mul(factor, taper_at(method.shape.profile, at.taper_argument(method.shape), run.first_hz));
  return factor;
}

template <int kTerms, class T>
HWY_INLINE void seed_middle(const Sighting<T>& at, const Run& run, const Method& method) {
  const hn::ScalableTag<double> d;
  typename Sighting<T>::V zr, zi;
  phasor_of_turns<sizeof(T) == 8 ? 9 : 6>(at.turns(0), zr, zi);
  const auto factor = constant_factor<kTerms>(at, run, method);
  store_as(d, hn::Mul(zr, factor), at.to.middle + at.s * 2 * at.lanes + at.lane);
  store_as(d, hn::Mul(zi, factor), at.to.middle + (at.s * 2 + 1) * at.lanes + at.lane);
}

template <int kTerms, class T>
HWY_INLINE void seed_rotations(const Sighting<T>& at, const Run& run) {
  typename Sighting<T>::V hr, hi;
  if constexpr (kTerms > 0)
    small_phasor_of_turns<kTerms>(at.along(at.scaled_row(6), at.scaled_row(8), at.scaled_row(10)), hr, hi);
  else
    phasor_of_turns(at.turns(6), hr, hi);
  store_rotations(hr, hi, run.n_tile, at.lanes, at.to.inner + at.s * 2 * at.lanes + at.lane,
                  at.to.outer + at.s * 2 * at.lanes + at.lane);
}

template <class T>
HWY_NOINLINE void seed_smearing(const Block<T>& block, const Run& run, const Method& method, const Scratch<T>& to) {
  const hn::ScalableTag<double> d;
  if constexpr (sizeof(T) == 4) {
    for_each_sighting(block, to, [&](const Sighting<T>& at) HWY_ATTR {
      store_as(d, at.change(), to.smearing + at.s * at.lanes + at.lane);
    });
  } else {
    const TileBand band = tile_band(run, 0);
    with_terms(method.time_terms, [&](auto terms) {
      for_each_sighting(block, to, [&](const Sighting<T>& at) HWY_ATTR {
        const auto state = start_smearing<decltype(terms)::value>(at.change(), band);
        T* smearing = to.smearing + at.s * kSmearingState * at.lanes;
        hn::Store(state.value, d, smearing);
        hn::Store(state.difference, d, smearing + at.lanes);
        hn::Store(state.curvature, d, smearing + 2 * at.lanes);
      });
    });
  }
}

template <class T>
HWY_NOINLINE void seed_block(const Block<T>& block, const Run& run, const Method& method, const Scratch<T>& to) {
  const hn::ScalableTag<double> d;
  const auto with_middle = [&](auto terms) {
    for_each_sighting(block, to,
                      [&](const Sighting<T>& at) HWY_ATTR { seed_middle<decltype(terms)::value>(at, run, method); });
  };
  if (method.single || sizeof(T) == 8) with_terms(method.bandwidth ? method.bandwidth_terms : 5, with_middle);
  if (method.single) return;
  if constexpr (sizeof(T) == 4)
    seed_single(block, run, method, to);
  else
    with_terms(method.step_terms, [&](auto terms) {
      for_each_sighting(block, to,
                        [&](const Sighting<T>& at) HWY_ATTR { seed_rotations<decltype(terms)::value>(at, run); });
    });
  if (method.smear) method.narrow ? seed_smeared(block, run, method, to) : seed_smearing(block, run, method, to);
  const TaperOnRun shape = method.shape;
  if (method.taper)
    for_each_sighting(block, to, [&](const Sighting<T>& at) HWY_ATTR {
      start_taper(shape.exponential, at.taper_argument(shape), run, at.lanes,
                  to.taper + at.s * kTaperState * at.lanes + at.lane);
    });
  if (method.residual)
    for_each_sighting(block, to, [&](const Sighting<T>& at) HWY_ATTR {
      store_as(d, hn::Mul(at.path(), hn::Set(d, 2 * kPi)), to.wave_number + at.s * at.lanes + at.lane);
    });
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::direct
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_DIRECT_SEED_INL_H_
