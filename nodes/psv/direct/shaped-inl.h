// Phasors of all channels of a tile, where amplitudes or weights depend on the channel or the grid is not quite
// regular: summed at once for a single plane, stored otherwise. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_DIRECT_SHAPED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_DIRECT_SHAPED_INL_H_
#undef RIMETREE_NODES_PSV_DIRECT_SHAPED_INL_H_
#else
#define RIMETREE_NODES_PSV_DIRECT_SHAPED_INL_H_
#endif

#include "nodes/psv/direct/amplitude-inl.h"
#include "nodes/psv/direct/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::direct {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// What distinguishes the instances of shaped_tile().
inline constexpr int kNoSmearing = -1;
template <int kSmearTermsV, bool kTaperV, bool kResidualV, bool kSumV, Weights kWeightsV>
struct ShapedKind {
  static constexpr int kSmearTerms = kSmearTermsV;  ///< see smear_tile()
  static constexpr bool kSmear = kSmearTermsV != kNoSmearing, kTaper = kTaperV;
  static constexpr bool kAmplitude = kSmear || kTaper;
  static constexpr bool kResidual = kResidualV;   ///< turn each channel by its distance from the regular grid
  static constexpr bool kSum = kSumV;             ///< one plane, summed at once
  static constexpr Weights kWeights = kWeightsV;  ///< of that plane
};

/// Amplitudes of source s at the channels of the tile.
template <class Kind, class T, class V>
HWY_INLINE void tile_amplitudes(const TileArrays<T>& job, std::size_t s, V (&a)[kTileChannels]) {
  const hn::DFromV<V> d;
  const std::size_t lanes = hn::Lanes(d);
  if constexpr (Kind::kSmear && sizeof(T) == 8) {
    T* state = job.smearing + s * kSmearingState * lanes;
    Smearing<V> smearing{hn::Load(d, state), hn::Load(d, state + lanes), hn::Load(d, state + 2 * lanes)};
    smear_tile<true>(smearing, a);
    hn::Store(smearing.value, d, state);
    hn::Store(smearing.difference, d, state + lanes);
  } else if constexpr (Kind::kSmear) {
    // The change of path is good enough in single precision for sinc, but the rounding errors of a long recurrence are
    // not: every tile starts anew.
    Smearing<V> smearing = start_smearing<Kind::kSmearTerms>(hn::Load(d, job.smearing + s * lanes), job.band);
    smear_tile<false>(smearing, a);
  }
  if constexpr (Kind::kTaper) {
    if constexpr (sizeof(T) == 8)
      if (!job.stored_tapers) return taper_tile<Kind::kSmear>(lanes, job.taper + s * kTaperState * lanes, a);
#pragma GCC unroll 8
    for (std::size_t k = 0; k < kTileChannels; ++k) {
      const V taper = hn::Load(d, job.tile_taper + (s * kTileChannels + k) * lanes);
      a[k] = Kind::kSmear ? hn::Mul(a[k], taper) : taper;
    }
  }
}

/// Turns the phasor of source s at channel k of the tile by the channel's distance from the regular grid.
template <class T, class V>
HWY_INLINE void turn_by_residual(const TileArrays<T>& job, std::size_t s, std::size_t k, V& re, V& im) {
  const hn::DFromV<V> d;
  const V wave_number = hn::Load(d, job.wave_number + s * hn::Lanes(d));
  const V angle = hn::Mul(wave_number, hn::Set(d, static_cast<T>(job.residual[k])));
  const V turned = hn::NegMulAdd(angle, im, re);
  im = hn::MulAdd(angle, re, im);
  re = turned;
}

/// Turns, scales and then sums or stores the phasor of source s at channel k.
template <class Kind, class T, class V>
HWY_INLINE void finish_channel(const TileArrays<T>& job, std::size_t s, std::size_t k, V a, V re, V im, V (&sum)[2]) {
  const hn::DFromV<V> d;
  const std::size_t lanes = hn::Lanes(d);
  if constexpr (Kind::kResidual) turn_by_residual(job, s, k, re, im);
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
HWY_NOINLINE void shaped_tile(const TileArrays<T>& arrays) {
  const TileArrays<T> job = arrays;  // its own: no store can be to one of these
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
      V c = hn::Load(d, inner + k * kPairStride * lanes), sine = hn::Load(d, inner + (k * kPairStride + 1) * lanes);
      keep_in_register(c);
      keep_in_register(sine);
      const V rc = hn::Mul(zr, c), ic = hn::Mul(zi, c), rs = hn::Mul(zr, sine), is = hn::Mul(zi, sine);
      const std::size_t below = kTilePairs - 1 - k, above = kTilePairs + k;
      finish_channel<Kind>(job, s, below, a[below], hn::Add(rc, is), hn::Sub(ic, rs), sum[below]);
      finish_channel<Kind>(job, s, above, a[above], hn::Sub(rc, is), hn::Add(ic, rs), sum[above]);
    }
    outer += 2 * lanes;
    inner += 2 * lanes;
  }
  if constexpr (Kind::kSum) {
#pragma GCC unroll 8
    for (std::size_t k = 0; k < kTileChannels; ++k)
#pragma GCC unroll 2
      for (std::size_t c = 0; c < 2; ++c)
        flush(d, sum[k][c], job.scale[k], job.sum + (k * job.sum_channel + c) * lanes);
  }
}

/// Phasors in the middle of the tile and, if it has any, the amplitudes at its channels.
template <int kSmearTerms, bool kTaper, class T>
HWY_NOINLINE void place_tile(const TileArrays<T>& arrays) {
  const TileArrays<T> job = arrays;
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  using Kind = ShapedKind<kSmearTerms, kTaper, false, false, Weights::kOne>;
  const std::size_t lanes = hn::Lanes(d);
  const V sign = hn::Set(d, job.outer_sign);
  const T* outer = job.outer;
  for (std::size_t s = 0; s < job.n_source; ++s, outer += 2 * lanes) {
    V zr = hn::Load(d, job.middle + 2 * s * lanes), zi = hn::Load(d, job.middle + (2 * s + 1) * lanes);
    multiply(zr, zi, hn::Load(d, outer), hn::Mul(hn::Load(d, outer + lanes), sign));
    hn::Store(zr, d, job.tile_middle + 2 * s * lanes);
    hn::Store(zi, d, job.tile_middle + (2 * s + 1) * lanes);
    if constexpr (Kind::kAmplitude) {
      V a[kTileChannels];
      tile_amplitudes<Kind>(job, s, a);
#pragma GCC unroll 8
      for (std::size_t k = 0; k < kTileChannels; ++k)
        hn::Store(a[k], d, job.placed_amplitude + (s * kTileChannels + k) * lanes);
    }
  }
}

/// What distinguishes the instances of pair_tile().
template <int kPlanesV, Weights kWeightsV, bool kAmplitudeV, bool kResidualV>
struct PairKind {
  static constexpr int kPlanes = kPlanesV;
  static constexpr Weights kWeights = kWeightsV;
  static constexpr bool kAmplitude = kAmplitudeV, kResidual = kResidualV;
};

/// Adds the phasor of source s at channel k to all planes.
template <class Kind, class T, class V>
HWY_INLINE void add_channel(const TileArrays<T>& job, std::size_t s, std::size_t k, V re, V im,
                            V (&sum)[Kind::kPlanes][2]) {
  const hn::DFromV<V> d;
  const std::size_t lanes = hn::Lanes(d);
  if constexpr (Kind::kResidual) turn_by_residual(job, s, k, re, im);
  if constexpr (Kind::kAmplitude) {
    const V a = hn::Load(d, job.placed_amplitude + (s * kTileChannels + k) * lanes);
    re = hn::Mul(re, a);
    im = hn::Mul(im, a);
  }
  const T* weight = job.weight + s * job.weight_source;
  if constexpr (Kind::kWeights == Weights::kChannel) weight += k * job.weight_channel;
#pragma GCC unroll 4
  for (int p = 0; p < Kind::kPlanes; ++p) {
    const V w = hn::Set(d, weight[p]);
    sum[p][0] = hn::MulAdd(w, re, sum[p][0]);
    sum[p][1] = hn::MulAdd(w, im, sum[p][1]);
  }
}

/// Two planes or four: as many pairs of channels as there are registers for, from job.first_pair on.
template <class Kind, class T>
HWY_NOINLINE void pair_tile(const TileArrays<T>& job) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  constexpr int P = Kind::kPlanes, K = 4 / P;
  V sum[K][2][P][2];
#pragma GCC unroll 2
  for (int k = 0; k < K; ++k)
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p)
#pragma GCC unroll 2
      for (int c = 0; c < 2; ++c) sum[k][0][p][c] = sum[k][1][p][c] = hn::Zero(d);

  const T* HWY_RESTRICT inner = job.inner + job.first_pair * kPairStride * lanes;
  for (std::size_t s = 0; s < job.n_source; ++s, inner += 2 * lanes) {
    const V zr = hn::Load(d, job.tile_middle + 2 * s * lanes), zi = hn::Load(d, job.tile_middle + (2 * s + 1) * lanes);
#pragma GCC unroll 2
    for (int k = 0; k < K; ++k) {
      V c = hn::Load(d, inner + k * kPairStride * lanes), sine = hn::Load(d, inner + (k * kPairStride + 1) * lanes);
      keep_in_register(c);
      keep_in_register(sine);
      const V rc = hn::Mul(zr, c), ic = hn::Mul(zi, c), rs = hn::Mul(zr, sine), is = hn::Mul(zi, sine);
      const std::size_t pair = job.first_pair + k;
      add_channel<Kind>(job, s, kTilePairs - 1 - pair, hn::Add(rc, is), hn::Sub(ic, rs), sum[k][0]);
      add_channel<Kind>(job, s, kTilePairs + pair, hn::Sub(rc, is), hn::Add(ic, rs), sum[k][1]);
    }
  }
#pragma GCC unroll 2
  for (int k = 0; k < K; ++k)
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      const std::size_t pair = job.first_pair + k, channel = i == 0 ? kTilePairs - 1 - pair : kTilePairs + pair;
#pragma GCC unroll 4
      for (int p = 0; p < P; ++p)
#pragma GCC unroll 2
        for (int c = 0; c < 2; ++c)
          flush(d, sum[k][i][p][c], job.scale[channel], job.sum + (channel * job.sum_channel + 2 * p + c) * lanes);
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::direct
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_DIRECT_SHAPED_INL_H_
