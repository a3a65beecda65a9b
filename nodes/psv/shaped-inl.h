// Phasors of all channels of a tile, where amplitudes or weights depend on the channel or the grid is not quite
// regular: summed at once for a single plane, stored otherwise. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_SHAPED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_SHAPED_INL_H_
#undef RIMETREE_NODES_PSV_SHAPED_INL_H_
#else
#define RIMETREE_NODES_PSV_SHAPED_INL_H_
#endif

#include "nodes/psv/amplitude-inl.h"
#include "nodes/psv/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// What distinguishes the instances of shaped_tile().
template <bool kSmearV, bool kTaperV, bool kResidualV, bool kSumV, Weights kWeightsV>
struct ShapedKind {
  static constexpr bool kSmear = kSmearV, kTaper = kTaperV;
  static constexpr bool kAmplitude = kSmearV || kTaperV;
  static constexpr bool kResidual = kResidualV;   ///< turn each channel by its distance from the regular grid
  static constexpr bool kSum = kSumV;             ///< one plane, summed at once
  static constexpr Weights kWeights = kWeightsV;  ///< of that plane
};

/// Amplitudes of source s at the channels of the tile: singles are made before, doubles here.
template <class Kind, class T, class V>
HWY_INLINE void tile_amplitudes(const TileJob<T>& job, std::size_t s, V (&a)[kTileChannels]) {
  const hn::DFromV<V> d;
  const std::size_t lanes = hn::Lanes(d);
  if constexpr (!Kind::kAmplitude) {
    return;
  } else if constexpr (sizeof(T) == 4) {
#pragma GCC unroll 8
    for (std::size_t k = 0; k < kTileChannels; ++k)
      a[k] = hn::Load(d, job.amplitude + (s * kTileChannels + k) * lanes);
  } else {
    Amplitude<Kind::kSmear, Kind::kTaper> state;
    state.load(job.slow + s * 6 * lanes, lanes);
#pragma GCC unroll 8
    for (std::size_t k = 0; k < kTileChannels; ++k, state.advance()) a[k] = state.now();
    state.store(job.slow + s * 6 * lanes, lanes);
  }
}

/// Turns, scales and then sums or stores the phasor of source s at channel k.
template <class Kind, class T, class V>
HWY_INLINE void finish_channel(const TileJob<T>& job, std::size_t s, std::size_t k, V a, V re, V im, V (&sum)[2]) {
  const hn::DFromV<V> d;
  const std::size_t lanes = hn::Lanes(d);
  if constexpr (Kind::kResidual) {
    const V e = hn::Mul(hn::Load(d, job.wave_number + s * lanes), hn::Set(d, static_cast<T>(job.residual[k])));
    const V turned = hn::NegMulAdd(e, im, re);
    im = hn::MulAdd(e, re, im);
    re = turned;
  }
  if constexpr (!Kind::kSum) {
    if constexpr (Kind::kAmplitude) re = hn::Mul(re, a), im = hn::Mul(im, a);
    T* to = job.phasor + (s * kTileChannels + k) * 2 * lanes;
    hn::Store(re, d, to);
    hn::Store(im, d, to + lanes);
  } else if constexpr (Kind::kWeights == Weights::kOne && !Kind::kAmplitude) {
    sum[0] = hn::Add(sum[0], re);
    sum[1] = hn::Add(sum[1], im);
  } else {
    if constexpr (Kind::kWeights == Weights::kChannel) {
      const V w = hn::Set(d, job.weight[s * job.weight_source + k * job.weight_channel]);
      a = Kind::kAmplitude ? hn::Mul(w, a) : w;
    }
    sum[0] = hn::MulAdd(a, re, sum[0]);
    sum[1] = hn::MulAdd(a, im, sum[1]);
  }
}

template <class Kind, class T>
HWY_NOINLINE void shaped_tile(const TileJob<T>& job) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  const V sign = hn::Set(d, job.outer_sign);
  V sum[kTileChannels][2], a[kTileChannels];
#pragma GCC unroll 8
  for (std::size_t k = 0; k < kTileChannels; ++k) sum[k][0] = sum[k][1] = a[k] = hn::Zero(d);

  const T* HWY_RESTRICT outer = job.outer;
  const T* HWY_RESTRICT inner = job.inner;
  for (std::size_t s = 0; s < job.n_source; ++s) {
    V zr = hn::Load(d, job.middle + 2 * s * lanes), zi = hn::Load(d, job.middle + (2 * s + 1) * lanes);
    multiply(zr, zi, hn::Load(d, outer), hn::Mul(hn::Load(d, outer + lanes), sign));
    tile_amplitudes<Kind>(job, s, a);
#pragma GCC unroll 4
    for (std::size_t k = 0; k < kTilePairs; ++k) {
      V c = hn::Load(d, inner + 2 * k * lanes), sine = hn::Load(d, inner + (2 * k + 1) * lanes);
      keep_in_register(c);
      keep_in_register(sine);
      const V rc = hn::Mul(zr, c), ic = hn::Mul(zi, c), rs = hn::Mul(zr, sine), is = hn::Mul(zi, sine);
      const std::size_t below = kTilePairs - 1 - k, above = kTilePairs + k;
      finish_channel<Kind>(job, s, below, a[below], hn::Add(rc, is), hn::Sub(ic, rs), sum[below]);
      finish_channel<Kind>(job, s, above, a[above], hn::Sub(rc, is), hn::Add(ic, rs), sum[above]);
    }
    outer += 2 * kMaxTilePairs * lanes;
    inner += 2 * kTilePairs * lanes;
  }
  if constexpr (Kind::kSum) {
#pragma GCC unroll 8
    for (std::size_t k = 0; k < kTileChannels; ++k)
#pragma GCC unroll 2
      for (std::size_t c = 0; c < 2; ++c)
        flush(d, sum[k][c], job.scale[k], job.sum + (k * job.sum_channel + c) * lanes);
  }
}

/// Phasors in the middle of the tile.
template <class T>
HWY_NOINLINE void place_tile(const TileJob<T>& job) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  const V sign = hn::Set(d, job.outer_sign);
  const T* outer = job.outer;
  for (std::size_t s = 0; s < job.n_source; ++s, outer += 2 * kMaxTilePairs * lanes) {
    V zr = hn::Load(d, job.middle + 2 * s * lanes), zi = hn::Load(d, job.middle + (2 * s + 1) * lanes);
    multiply(zr, zi, hn::Load(d, outer), hn::Mul(hn::Load(d, outer + lanes), sign));
    hn::Store(zr, d, job.tile_middle + 2 * s * lanes);
    hn::Store(zi, d, job.tile_middle + (2 * s + 1) * lanes);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_SHAPED_INL_H_
