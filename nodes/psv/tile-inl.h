// The innermost loops of the PSV kernel: a block of sources passes over a tile of channels whose accumulators stay in
// registers. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_TILE_INL_H_
#undef RIMETREE_NODES_PSV_TILE_INL_H_
#else
#define RIMETREE_NODES_PSV_TILE_INL_H_
#endif

#include <algorithm>
#include <cstddef>

#include "hwy/highway.h"
#include "nodes/psv/layout.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Channels per tile: as many as leave room in the registers for the accumulators of all planes and the phasor.
template <int kPlanes>
constexpr std::size_t tile_channels() {
#if HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64
  return kPlanes >= 8 ? 1 : 8 / kPlanes;  // 32 registers: 16 accumulators
#else
  return kPlanes >= 4 ? 1 : 4 / kPlanes;  // 16 registers: 8 accumulators (16, some in the cache, for 8 planes)
#endif
}

/// What distinguishes the instances of the tile.
template <int kPlanesV, bool kVectorWeightsV, int kDegreeV, bool kGaussianV, bool kResidualV, bool kSingleV = false>
struct TileKind {
  static constexpr int kPlanes = kPlanesV;                 ///< real-weighted planes per channel
  static constexpr bool kVectorWeights = kVectorWeightsV;  ///< weights differ from row to row (Jones terms)
  static constexpr int kDegree = kDegreeV;                 ///< of the time smearing's polynomial; 0: none
  static constexpr bool kGaussian = kGaussianV;            ///< the step shrinks from channel to channel
  static constexpr bool kResidual = kResidualV;            ///< turn each channel by its distance from the regular grid
  static constexpr bool kSingle = kSingleV;                ///< one channel only: nothing advances
  static constexpr std::size_t kChannels = kSingleV ? 1
                                           : kGaussianV
                                               ? std::min<std::size_t>(kGaussianChunk, tile_channels<kPlanesV>())
                                               : tile_channels<kPlanesV>();
};

template <class T>
struct TileJob {
  std::size_t n_source = 0;
  T* state = nullptr;                                 ///< [source][z.re, z.im, step.re, step.im][row]
  const T* coefficient = nullptr;                     ///< [source][degree + 1][row]
  const T* shrink = nullptr;                          ///< [source][row]: relative change of the step per channel
  const T* wave_number = nullptr;                     ///< [source][row]: 2 pi path
  const T* weight = nullptr;                          ///< [source][channel][plane], or [source][plane][row]
  std::size_t weight_source = 0, weight_channel = 0;  ///< strides of weight
  const T* position = nullptr;                        ///< [channel of the tile]
  const double* residual = nullptr;                   ///< [channel of the tile]
  double* sum = nullptr;                              ///< [channel of the tile][plane][re, im][row]
};

/// sum += a, the accumulator of one plane; singles are widened here, so that only a block's sum is formed in single.
template <class D>
HWY_INLINE void flush(D d, hn::Vec<D> a, double* sum) {
  using T = hn::TFromD<D>;
  const hn::ScalableTag<double> dd;
  if constexpr (sizeof(T) == 8) {
    hn::Store(hn::Add(hn::Load(dd, sum), a), dd, sum);
  } else {
    const hn::Rebind<float, decltype(dd)> dh;
    alignas(128) float part[kMaxLanes];
    hn::Store(a, d, part);
    for (std::size_t i = 0; i < hn::Lanes(d); i += hn::Lanes(dd))
      hn::Store(hn::Add(hn::Load(dd, sum + i), hn::PromoteTo(dd, hn::Load(dh, part + i))), dd, sum + i);
  }
}

template <class Kind, class T>
HWY_NOINLINE void tile(const TileJob<T>& job) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  constexpr int K = Kind::kChannels, P = Kind::kPlanes, kDegree = Kind::kDegree;

  V sum[K][P][2];
#pragma GCC unroll 8
  for (int k = 0; k < K; ++k)
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) sum[k][p][0] = sum[k][p][1] = hn::Zero(d);

  T* HWY_RESTRICT state = job.state;
  const T* HWY_RESTRICT weight = job.weight;
  for (std::size_t s = 0; s < job.n_source; ++s, state += 4 * lanes, weight += job.weight_source) {
    V zr = hn::Load(d, state), zi = hn::Load(d, state + lanes);
    V sr = hn::Load(d, state + 2 * lanes), si = hn::Load(d, state + 3 * lanes);
#pragma GCC unroll 8
    for (int k = 0; k < K; ++k) {
      V fr = zr, fi = zi;
      if constexpr (Kind::kResidual) {
        const V e = hn::Mul(hn::Load(d, job.wave_number + s * lanes), hn::Set(d, static_cast<T>(job.residual[k])));
        fr = hn::NegMulAdd(e, zi, zr);
        fi = hn::MulAdd(e, zr, zi);
      }
      V factor = hn::Zero(d);
      if constexpr (kDegree > 0) {
        const T* c = job.coefficient + s * (kDegree + 1) * lanes;
        const V x = hn::Set(d, job.position[k]);
        factor = hn::Load(d, c + kDegree * lanes);
#pragma GCC unroll 8
        for (int i = kDegree - 1; i >= 0; --i) factor = hn::MulAdd(factor, x, hn::Load(d, c + i * lanes));
        if constexpr (P > 1) {
          fr = hn::Mul(fr, factor);
          fi = hn::Mul(fi, factor);
        }
      }
#pragma GCC unroll 8
      for (int p = 0; p < P; ++p) {
        V b = Kind::kVectorWeights ? hn::Load(d, weight + p * lanes) : hn::Set(d, weight[k * job.weight_channel + p]);
        if constexpr (kDegree > 0 && P == 1) b = hn::Mul(b, factor);
        sum[k][p][0] = hn::MulAdd(b, fr, sum[k][p][0]);
        sum[k][p][1] = hn::MulAdd(b, fi, sum[k][p][1]);
      }
      if constexpr (!Kind::kSingle) {
        const V next = hn::MulSub(zr, sr, hn::Mul(zi, si));
        zi = hn::MulAdd(zr, si, hn::Mul(zi, sr));
        zr = next;
        if constexpr (Kind::kGaussian) {
          const V g = hn::Load(d, job.shrink + s * lanes);
          sr = hn::MulAdd(sr, g, sr);
          si = hn::MulAdd(si, g, si);
        }
      }
    }
    if constexpr (!Kind::kSingle) {
      hn::Store(zr, d, state);
      hn::Store(zi, d, state + lanes);
      if constexpr (Kind::kGaussian) {
        hn::Store(sr, d, state + 2 * lanes);
        hn::Store(si, d, state + 3 * lanes);
      }
    }
  }

#pragma GCC unroll 8
  for (int k = 0; k < K; ++k)
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p)
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i) flush(d, sum[k][p][i], job.sum + ((k * P + p) * 2 + i) * lanes);
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_TILE_INL_H_
