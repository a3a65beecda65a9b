// Seeds in single precision (see seed-inl.h): phases are formed and reduced in double precision, their sines and
// cosines, and what follows from few of them, in single. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_DIRECT_SEED_SINGLE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_DIRECT_SEED_SINGLE_INL_H_
#undef RIMETREE_NODES_PSV_DIRECT_SEED_SINGLE_INL_H_
#else
#define RIMETREE_NODES_PSV_DIRECT_SEED_SINGLE_INL_H_
#endif

#include <algorithm>

#include "nodes/psv/direct/sighting-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::direct {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// What is left in double precision goes through memory, many sources before the first is read again: a vector of
// singles that two vectors of doubles have just been stored to could not be forwarded to its load.

/// Turns at the middle of the run, from double precision alone: right to 1e-7 radians for phases up to 1e8.
inline HWY_NOINLINE void store_turns(const Block<float>& block, const Method& method, const Scratch<float>& to) {
  const hn::ScalableTag<double> d;
  for_each_sighting(block, to, [&](const Sighting<float>& at) HWY_ATTR {
    const auto t = at.along(at.scaled_row(0), at.scaled_row(2), at.scaled_row(4));
    store_as(d, hn::Sub(t, hn::Round(t)), to.middle + at.s * 2 * at.lanes + at.lane);
    if (method.bandwidth) store_as(d, at.path(), to.phasor + at.s * at.lanes + at.lane);
  });
}

/// The phasors there, with the factors that all channels of the run share. A path in single precision is good enough
/// for bandwidth smearing however long it is: sinc(x) changes by no more than the relative change of x.
template <int kTerms>
HWY_NOINLINE void seed_single_middles(const Block<float>& block, const Run& run, const Method& method,
                                      const Scratch<float>& to) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  store_turns(block, method, to);
  for (std::size_t s = 0; s < block.count; ++s) {
    float* middle = to.middle + s * 2 * lanes;
    hn::Vec<decltype(d)> zr, zi;
    phasor_of_turns<6>(hn::Load(d, middle), zr, zi);
    auto factor = hn::Set(d, method.weighted ? block.sky->first_weight(block.begin + s) : 1.0f);
    if (method.bandwidth)
      factor =
          hn::Mul(factor, sinc_of<kTerms>(hn::Load(d, to.phasor + s * lanes), kPi * run.width_hz / kSpeedOfLight_m_s));
    hn::Store(hn::Mul(zr, factor), d, middle);
    hn::Store(hn::Mul(zi, factor), d, middle + lanes);
  }
}

/// Rotations that are formed in double precision, by squaring: over so many half steps.
struct Powers {
  static constexpr std::size_t kOne = 0, kFour = 1, kEight = 2, kSixteen = 3, kThirtyTwo = 4, kSixtyFour = 5;
  static constexpr std::size_t kCount = 6;
};
static_assert(2 * Powers::kCount <= 2 * kTileChannels, "they are kept where phasors of a tile will be");

template <int kTerms>
HWY_NOINLINE void store_powers(const Block<float>& block, const Run& run, const Scratch<float>& to) {
  const hn::ScalableTag<double> d;
  for_each_sighting(block, to, [&](const Sighting<float>& at) HWY_ATTR {
    hn::Vec<decltype(d)> re, im;
    const auto turns = at.along(at.scaled_row(6), at.scaled_row(8), at.scaled_row(10));
    if constexpr (kTerms > 0)
      small_phasor_of_turns<kTerms>(turns, re, im);
    else
      phasor_of_turns(hn::Sub(turns, hn::Round(turns)), re, im);
    float* powers = to.phasor + at.s * 2 * kTileChannels * at.lanes + at.lane;
    const auto store = [&](std::size_t power) HWY_ATTR {
      store_as(d, re, powers + 2 * power * at.lanes);
      store_as(d, im, powers + (2 * power + 1) * at.lanes);
    };
    store(Powers::kOne);
    square(re, im), square(re, im);
    store(Powers::kFour);
    square(re, im);
    store(Powers::kEight);
    if (run.n_tile == 1) return;
    square(re, im);
    if (run.n_tile % 2 == 1) store(Powers::kSixteen);
    square(re, im);
    store(Powers::kThirtyTwo);
    square(re, im);
    if (run.n_tile % 2 == 0) store(Powers::kSixtyFour);
  });
}

/// A rotation in single precision.
template <class V>
struct Rotation {
  V re, im;
};

/// Over 1, 3, 5 and 7 units, from those over 1, 4 and 8: one product each.
template <class V>
HWY_INLINE void store_odd(Rotation<V> one, Rotation<V> four, Rotation<V> eight, float* to) {
  const hn::DFromV<V> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto store = [&](std::size_t pair, V re, V im) HWY_ATTR {
    hn::Store(re, d, to + pair * kPairStride * lanes);
    hn::Store(im, d, to + (pair * kPairStride + 1) * lanes);
  };
  const V rr = hn::Mul(four.re, one.re), ii = hn::Mul(four.im, one.im);
  const V ri = hn::Mul(four.re, one.im), ir = hn::Mul(four.im, one.re);
  store(0, one.re, one.im);
  store(1, hn::Add(rr, ii), hn::Sub(ir, ri));
  store(2, hn::Sub(rr, ii), hn::Add(ir, ri));
  store(3, hn::MulAdd(eight.re, one.re, hn::Mul(eight.im, one.im)),
        hn::MulSub(eight.im, one.re, hn::Mul(eight.re, one.im)));
}

inline HWY_NOINLINE void seed_single_rotations(const Block<float>& block, const Run& run, const Scratch<float>& to) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t s = 0; s < block.count; ++s) {
    const float* powers = to.phasor + s * 2 * kTileChannels * lanes;
    const auto power = [&](std::size_t i) HWY_ATTR {
      return Rotation<V>{hn::Load(d, powers + 2 * i * lanes), hn::Load(d, powers + (2 * i + 1) * lanes)};
    };
    float *inner = to.inner + s * 2 * lanes, *outer = to.outer + s * 2 * lanes;
    const auto store_outer = [&](std::size_t pair, V re, V im) HWY_ATTR {
      hn::Store(re, d, outer + pair * kPairStride * lanes);
      hn::Store(im, d, outer + (pair * kPairStride + 1) * lanes);
    };
    store_odd(power(Powers::kOne), power(Powers::kFour), power(Powers::kEight), inner);
    if (run.n_tile % 2 == 0) {
      store_odd(power(Powers::kEight), power(Powers::kThirtyTwo), power(Powers::kSixtyFour), outer);
      continue;
    }
    store_outer(0, hn::Set(d, 1.0f), hn::Zero(d));
    if (run.n_tile == 1) continue;
    const Rotation<V> one = power(Powers::kSixteen), two = power(Powers::kThirtyTwo);
    store_outer(1, one.re, one.im);
    store_outer(2, two.re, two.im);
    Rotation<V> three = one;
    multiply(three.re, three.im, two.re, two.im);
    store_outer(3, three.re, three.im);
  }
}

/// The middle of a run of several channels, and the rotations from there: some sources at a time, so that what goes
/// through memory does not drive what it becomes from the first-level cache.
inline void seed_single(const Block<float>& block, const Run& run, const Method& method, const Scratch<float>& to) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<float>());
  for (std::size_t first = 0; first < block.count; first += kSeedSources) {
    const Block<float> some{block.sky, block.begin + first, std::min(kSeedSources, block.count - first), block.profile};
    Scratch<float> at = to;
    at.middle += 2 * first * lanes, at.inner += 2 * first * lanes, at.outer += 2 * first * lanes;
    with_terms(method.bandwidth ? method.bandwidth_terms : 5,
               [&](auto terms) { seed_single_middles<decltype(terms)::value>(some, run, method, at); });
    with_terms(method.step_terms, [&](auto terms) { store_powers<decltype(terms)::value>(some, run, at); });
    seed_single_rotations(some, run, at);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::direct
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_DIRECT_SEED_SINGLE_INL_H_
