// The innermost loops of the PSV kernel: a block of sources passes over a tile of channels whose accumulators stay in
// registers. Included once per instruction set.
//
// A source's phasors at distance +-x from the middle of a tile are z (c +- i s), with z its phasor at the middle and
// c + i s the rotation over x. Two channels thus share the four products zr c, zi c, zr s, zi s; where weights do not
// depend on the channel, the sums over sources of these products are all that is needed, two multiply-adds per channel
// instead of four for the rotation and two for the sum.
#if defined(RIMETREE_NODES_PSV_DIRECT_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_DIRECT_TILE_INL_H_
#undef RIMETREE_NODES_PSV_DIRECT_TILE_INL_H_
#else
#define RIMETREE_NODES_PSV_DIRECT_TILE_INL_H_
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "nodes/psv/blocks.h"
#include "nodes/psv/registers-inl.h"
#include "nodes/psv/turns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::direct {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace psv::HWY_NAMESPACE;

// Where weights or amplitudes do depend on the channel, the phasors of all channels are formed once per source and, if
// there are several planes, stored for them.

/// 32 registers hold 16 accumulators and what they are made from, 16 registers hold 8.
#if HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64
inline constexpr bool kManyRegisters = true;
#else
inline constexpr bool kManyRegisters = false;
#endif

/// In the phasors already; one per source; one per source and channel; different from row to row.
enum class Weights { kOne, kSource, kChannel, kVector };

/// Where a tile lies in frequency.
struct TileBand {
  double third_hz = 0;    ///< the channel below the middle
  double spacing_hz = 0;  ///< from channel to channel
};

template <class T>
struct TileArrays {
  std::size_t n_source = 0;
  const T* middle = nullptr;      ///< [source][re, im][row], of the run
  const T* outer = nullptr;       ///< [source][re, im][row]: from there to the tile
  T outer_sign = T(1);            ///< of its imaginary part
  const T* inner = nullptr;       ///< [pair][source][re, im][row]
  T* tile_middle = nullptr;       ///< [source][re, im][row]
  T* smearing = nullptr;          ///< as in Layout
  double* taper = nullptr;        ///< [source][kTaperState][row]
  const T* tile_taper = nullptr;  ///< [source][channel of the tile][row], if they are stored
  bool stored_tapers = false;     ///< see stores_tapers()
  TileBand band;
  T* placed_amplitude = nullptr;                      ///< [source][channel of the tile][row]
  const T* wave_number = nullptr;                     ///< [source][row]: 2 pi path
  T* phasor = nullptr;                                ///< [source][channel of the tile][re, im][row]
  const T* weight = nullptr;                          ///< [source][channel][plane], or [source][plane][row]
  std::size_t weight_source = 0, weight_channel = 0;  ///< strides of weight
  const double* residual = nullptr;                   ///< [channel of the tile]
  const double* scale = nullptr;                      ///< [channel of the tile]: factor of the sums
  double* sum = nullptr;                              ///< [channel of the tile][plane][re, im][row]
  std::size_t sum_channel = 0;                        ///< stride of sum, in vectors
  std::size_t first_pair = 0, first_channel = 0;      ///< what a call starts with
};

/// sum += scale a, for the accumulator of one plane; singles are widened here, so that only a block's sum is formed in
/// single.
template <class D>
HWY_INLINE void flush(D d, hn::Vec<D> a, double scale, double* sum) {
  using T = hn::TFromD<D>;
  const hn::ScalableTag<double> dd;
  const auto by = hn::Set(dd, scale);
  if constexpr (sizeof(T) == 8) {
    hn::Store(hn::MulAdd(a, by, hn::Load(dd, sum)), dd, sum);
  } else {
    const hn::Rebind<float, decltype(dd)> dh;
    alignas(128) float part[kMaxLanes];
    hn::Store(a, d, part);
    for (std::size_t i = 0; i < hn::Lanes(d); i += hn::Lanes(dd))
      hn::Store(hn::MulAdd(hn::PromoteTo(dd, hn::Load(dh, part + i)), by, hn::Load(dd, sum + i)), dd, sum + i);
  }
}

/// Pairs that a call of plane_tile() takes, and of smeared_sums().
inline constexpr std::size_t kPlanePairs = kManyRegisters ? 4 : 2;
template <int P>
inline constexpr std::size_t kSmearedPairs = kPlanePairs / P;

/// One plane whose weights depend on the source only. The first call for a tile moves the phasors to its middle, and
/// keeps them there for the others; where weights are one, a plane is all there is, and each call does so for itself.
template <Weights kWeights, bool kFirst, class T>
HWY_NOINLINE void plane_tile(const TileArrays<T>& job) {
  constexpr bool kPlace = kFirst || kWeights == Weights::kOne;
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  constexpr int K = kPlanePairs;

  V even[K][2], odd[K][2];  // sums of z c and of z s
#pragma GCC unroll 4
  for (int k = 0; k < K; ++k) even[k][0] = even[k][1] = odd[k][0] = odd[k][1] = hn::Zero(d);

  const T* HWY_RESTRICT inner = job.inner + job.first_pair * kPairStride * lanes;
  const T* HWY_RESTRICT middle = kPlace ? job.middle : job.tile_middle;
  T* HWY_RESTRICT placed = job.tile_middle;
  const T* HWY_RESTRICT outer = job.outer;
  const T* HWY_RESTRICT weight = job.weight;
  const V sign = hn::Set(d, job.outer_sign);
  for (std::size_t s = 0; s < job.n_source; ++s) {
    V zr = hn::Load(d, middle), zi = hn::Load(d, middle + lanes);
    if constexpr (kPlace) {
      multiply(zr, zi, hn::Load(d, outer), hn::Mul(hn::Load(d, outer + lanes), sign));
      outer += 2 * lanes;
    }
    if constexpr (kWeights == Weights::kSource) {
      if constexpr (kFirst) {
        hn::Store(zr, d, placed);
        hn::Store(zi, d, placed + lanes);
        placed += 2 * lanes;
      }
      const V w = hn::Set(d, *weight);
      zr = hn::Mul(zr, w);
      zi = hn::Mul(zi, w);
    }
#pragma GCC unroll 4
    for (int k = 0; k < K; ++k) {
      V c = hn::Load(d, inner + k * kPairStride * lanes), sine = hn::Load(d, inner + (k * kPairStride + 1) * lanes);
      keep_in_register(c);
      keep_in_register(sine);
      even[k][0] = hn::MulAdd(zr, c, even[k][0]);
      even[k][1] = hn::MulAdd(zi, c, even[k][1]);
      odd[k][0] = hn::MulAdd(zr, sine, odd[k][0]);
      odd[k][1] = hn::MulAdd(zi, sine, odd[k][1]);
    }
    inner += 2 * lanes;
    middle += 2 * lanes;
    weight += job.weight_source;
  }

#pragma GCC unroll 4
  for (int k = 0; k < K; ++k) {
    const std::size_t above = kTilePairs + job.first_pair + k, below = kTilePairs - 1 - job.first_pair - k;
    double *to_above = job.sum + above * job.sum_channel * lanes, *to_below = job.sum + below * job.sum_channel * lanes;
    flush(d, hn::Sub(even[k][0], odd[k][1]), job.scale[above], to_above);
    flush(d, hn::Add(even[k][1], odd[k][0]), job.scale[above], to_above + lanes);
    flush(d, hn::Add(even[k][0], odd[k][1]), job.scale[below], to_below);
    flush(d, hn::Sub(even[k][1], odd[k][0]), job.scale[below], to_below + lanes);
  }
}

/// Pairs of channels that a call of mirrored_pairs() takes.
inline constexpr std::size_t kMirroredPairs = kManyRegisters ? 2 : 1;

/// One plane, weights one, in two tiles at equal distances from the middle of the run: job.sum is the lower one's,
/// `upper` the other's. With cos y +- i sin y the rotations to the tiles, four channels share the products of z with
/// cos y and sin y, and then with c and s: two multiply-adds per channel as in plane_tile(), from fewer operands.
template <class T>
HWY_NOINLINE void mirrored_pairs(const TileArrays<T>& job, double* upper) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  constexpr int K = kMirroredPairs;
  enum { kReCos, kReSin, kImCos, kImSin };

  V even[K][4], odd[K][4];  // sums of those products times c and times s
#pragma GCC unroll 2
  for (int k = 0; k < K; ++k)
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) even[k][i] = odd[k][i] = hn::Zero(d);

  const T* HWY_RESTRICT inner = job.inner + job.first_pair * kPairStride * lanes;
  const T* HWY_RESTRICT middle = job.middle;
  const T* HWY_RESTRICT outer = job.outer;
  for (std::size_t source = 0; source < job.n_source; ++source) {
    const V zr = hn::Load(d, middle), zi = hn::Load(d, middle + lanes);
    const V cosine = hn::Load(d, outer), sine = hn::Load(d, outer + lanes);
    const V z[4] = {hn::Mul(zr, cosine), hn::Mul(zr, sine), hn::Mul(zi, cosine), hn::Mul(zi, sine)};
#pragma GCC unroll 2
    for (int k = 0; k < K; ++k) {
      V c = hn::Load(d, inner + k * kPairStride * lanes), s = hn::Load(d, inner + (k * kPairStride + 1) * lanes);
      keep_in_register(c);
      keep_in_register(s);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        even[k][i] = hn::MulAdd(z[i], c, even[k][i]);
        odd[k][i] = hn::MulAdd(z[i], s, odd[k][i]);
      }
    }
    inner += 2 * lanes;
    middle += 2 * lanes;
    outer += 2 * lanes;
  }

#pragma GCC unroll 2
  for (int k = 0; k < K; ++k) {
    const std::size_t pair = job.first_pair + k, stride = job.sum_channel * lanes;
    // A tile's phasors at its middle times c and times s, summed: channels at +-s are even +- i odd.
    const auto store = [&](V even_re, V even_im, V odd_re, V odd_im, double* sum) HWY_ATTR {
      double *above = sum + (kTilePairs + pair) * stride, *below = sum + (kTilePairs - 1 - pair) * stride;
      flush(d, hn::Sub(even_re, odd_im), 1.0, above);
      flush(d, hn::Add(even_im, odd_re), 1.0, above + lanes);
      flush(d, hn::Add(even_re, odd_im), 1.0, below);
      flush(d, hn::Sub(even_im, odd_re), 1.0, below + lanes);
    };
    const V(&e)[4] = even[k], (&o)[4] = odd[k];
    store(hn::Sub(e[kReCos], e[kImSin]), hn::Add(e[kImCos], e[kReSin]), hn::Sub(o[kReCos], o[kImSin]),
          hn::Add(o[kImCos], o[kReSin]), upper);
    store(hn::Add(e[kReCos], e[kImSin]), hn::Sub(e[kImCos], e[kReSin]), hn::Add(o[kReCos], o[kImSin]),
          hn::Sub(o[kImCos], o[kReSin]), job.sum);
  }
}

/// Planes and channels that a call of plane_sums() takes.
inline constexpr int kSumPlanes = 2, kSumChannels = kManyRegisters ? 4 : 2;

/// Sums of stored phasors: channels job.first_channel.. of the tile, two planes.
template <Weights kWeights, class T>
HWY_NOINLINE void plane_sums(const TileArrays<T>& job) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  constexpr int P = kSumPlanes, K = kSumChannels;
  V sum[K][P][2], w[P];
#pragma GCC unroll 8
  for (int k = 0; k < K; ++k)
#pragma GCC unroll 2
    for (int p = 0; p < P; ++p) sum[k][p][0] = sum[k][p][1] = hn::Zero(d);

  const T* HWY_RESTRICT phasor = job.phasor + 2 * job.first_channel * lanes;
  const T* HWY_RESTRICT weight = job.weight + job.first_channel * job.weight_channel;
  for (std::size_t s = 0; s < job.n_source; ++s, phasor += 2 * kTileChannels * lanes, weight += job.weight_source) {
#pragma GCC unroll 2
    for (int p = 0; p < P; ++p) {
      if constexpr (kWeights == Weights::kSource) w[p] = hn::Set(d, weight[p]);
      if constexpr (kWeights == Weights::kVector) w[p] = hn::Load(d, weight + p * lanes);
    }
#pragma GCC unroll 8
    for (int k = 0; k < K; ++k) {
      V re = hn::Load(d, phasor + 2 * k * lanes), im = hn::Load(d, phasor + (2 * k + 1) * lanes);
      keep_in_register(re);
      keep_in_register(im);
#pragma GCC unroll 2
      for (int p = 0; p < P; ++p) {
        if constexpr (kWeights == Weights::kChannel) w[p] = hn::Set(d, weight[k * job.weight_channel + p]);
        sum[k][p][0] = hn::MulAdd(w[p], re, sum[k][p][0]);
        sum[k][p][1] = hn::MulAdd(w[p], im, sum[k][p][1]);
      }
    }
  }
#pragma GCC unroll 8
  for (int k = 0; k < K; ++k)
#pragma GCC unroll 2
    for (int p = 0; p < P; ++p)
#pragma GCC unroll 2
      for (int c = 0; c < 2; ++c) {
        const std::size_t channel = job.first_channel + k;
        flush(d, sum[k][p][c], job.scale[channel], job.sum + (channel * job.sum_channel + 2 * p + c) * lanes);
      }
}

/// Sums of the phasors of one channel, P planes: of a run that is one channel, or where weights of different rows
/// differ from channel to channel.
template <int P, Weights kWeights, class T>
HWY_NOINLINE void channel_sums(const TileArrays<T>& job, const T* HWY_RESTRICT phasor, std::size_t stride, double scale,
                               double* to) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  V sum[P][2];
#pragma GCC unroll 4
  for (int p = 0; p < P; ++p) sum[p][0] = sum[p][1] = hn::Zero(d);
  const T* HWY_RESTRICT weight = job.weight;
  for (std::size_t s = 0; s < job.n_source; ++s, phasor += stride * lanes, weight += job.weight_source) {
    const V re = hn::Load(d, phasor), im = hn::Load(d, phasor + lanes);
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p) {
      const V w = kWeights == Weights::kVector   ? hn::Load(d, weight + p * lanes)
                  : kWeights == Weights::kSource ? hn::Set(d, weight[p])
                                                 : hn::Set(d, T(1));
      sum[p][0] = hn::MulAdd(w, re, sum[p][0]);
      sum[p][1] = hn::MulAdd(w, im, sum[p][1]);
    }
  }
#pragma GCC unroll 4
  for (int p = 0; p < P; ++p)
#pragma GCC unroll 2
    for (int c = 0; c < 2; ++c) flush(d, sum[p][c], scale, to + (2 * p + c) * lanes);
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::direct
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_DIRECT_TILE_INL_H_
