// One tile of channels for all planes, by the instances of the innermost loops that the method needs. Included once per
// instruction set.
#if defined(RIMETREE_NODES_PSV_DIRECT_PLANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_DIRECT_PLANES_INL_H_
#undef RIMETREE_NODES_PSV_DIRECT_PLANES_INL_H_
#else
#define RIMETREE_NODES_PSV_DIRECT_PLANES_INL_H_
#endif

#include <algorithm>
#include <type_traits>

#include "nodes/psv/direct/jones-inl.h"
#include "nodes/psv/direct/seed-inl.h"
#include "nodes/psv/direct/shaped-inl.h"
#include "nodes/psv/direct/smeared-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::direct {
namespace HWY_NAMESPACE {

/// Channels of a tile have the same weights and amplitudes.
template <int kPlanes, class T>
void plain_tile(TileArrays<T> t, const Method& m) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>());
  for (int p = 0; p < kPlanes; ++p, ++t.weight, t.sum += 2 * lanes)
    for (t.first_pair = 0; t.first_pair < kTilePairs; t.first_pair += kPlanePairs)
      if (m.weighted)
        plane_tile<Weights::kOne, false>(t);
      else
        p == 0 && t.first_pair == 0 ? plane_tile<Weights::kSource, true>(t) : plane_tile<Weights::kSource, false>(t);
}

/// One plane of two tiles at equal distances from the middle of the run; `upper` is where the sums of the other are.
template <class T>
void mirrored_tiles(TileArrays<T> t, double* upper) {
  for (t.first_pair = 0; t.first_pair < kTilePairs; t.first_pair += kMirroredPairs) mirrored_pairs(t, upper);
}

/// Calls f(terms of the smearing or -1, taper, residual) with the method's switches as compile-time constants.
template <class T, class F>
void with_switches(const Method& m, F&& f) {
  const auto with_residual = [&](auto smear, auto taper) {
    if constexpr (std::is_same_v<T, double>)  // singles never need the residual
      if (m.residual) return f(smear, taper, std::true_type());
    f(smear, taper, std::false_type());
  };
  const auto with_taper = [&](auto smear) {
    m.taper ? with_residual(smear, std::true_type()) : with_residual(smear, std::false_type());
  };
  m.smear ? with_terms(m.time_terms, with_taper) : with_taper(std::integral_constant<int, kNoSmearing>());
}

template <bool kSum, Weights kWeights, class T>
void choose_shaped_tile(const TileArrays<T>& t, const Method& m) {
  with_switches<T>(m, [&t](auto smear, auto taper, auto residual) {
    shaped_tile<ShapedKind<smear.value, taper.value, residual.value, kSum, kWeights>>(t);
  });
}

/// Two planes or more, four at a time.
template <int kPlanes, Weights kWeights, class T>
void choose_pair_tile(TileArrays<T> t, const Method& m) {
  constexpr int P = std::min(kPlanes, 4);
  with_switches<T>(m, [&](auto smear, auto taper, auto residual) {
    place_tile<smear.value, taper.value>(t);
    for (int p = 0; p < kPlanes; p += P, t.weight += P, t.sum += 2 * P * hn::Lanes(hn::ScalableTag<T>()))
      for (t.first_pair = 0; t.first_pair < kTilePairs; t.first_pair += 4 / P)
        pair_tile<PairKind<P, kWeights, smear.value != kNoSmearing || taper.value, residual.value>>(t);
  });
}

/// Phasors that are stored, all planes.
template <int kPlanes, Weights kWeights, class T>
void sum_planes(TileArrays<T> t) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>());
  for (int p = 0; p < kPlanes; p += kSumPlanes) {
    for (t.first_channel = 0; t.first_channel < kTileChannels; t.first_channel += kSumChannels) plane_sums<kWeights>(t);
    t.weight += kSumPlanes * (kWeights == Weights::kVector ? lanes : 1);
    t.sum += 2 * kSumPlanes * lanes;
  }
}

/// All planes of one channel of the tile.
template <int kPlanes, Weights kWeights, class T>
void sum_channel(TileArrays<T> t, const T* phasor, std::size_t stride, double scale, double* to) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>());
  constexpr int P = std::min(kPlanes, 4);
  for (int p = 0; p < kPlanes; p += P) {
    channel_sums<P, kWeights>(t, phasor, stride, scale, to);
    t.weight += P * (kWeights == Weights::kVector ? lanes : 1);
    to += 2 * P * lanes;
  }
}

/// The job for sources [first, first + count) of the block only.
template <class T>
TileArrays<T> some_sources(TileArrays<T> t, std::size_t first, std::size_t count) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>());
  t.n_source = count;
  t.middle += 2 * first * lanes;
  t.outer += 2 * first * lanes;
  t.inner += 2 * first * lanes;
  t.smearing += (sizeof(T) == 8 ? kSmearingState : 1) * first * lanes;
  t.taper += kTaperState * first * lanes;
  t.tile_taper += kTileChannels * first * lanes;
  t.wave_number += first * lanes;
  t.weight += first * t.weight_source;
  return t;
}

/// Weights that depend on the channel, amplitudes, or a grid that is not quite regular.
template <int kPlanes, bool kVector, class T>
void tile_with_shape(const TileArrays<T>& t, const Method& m) {
  if constexpr (kPlanes == 1) {
    m.weighted ? choose_shaped_tile<true, Weights::kOne>(t, m) : choose_shaped_tile<true, Weights::kChannel>(t, m);
  } else if constexpr (!kVector && kManyRegisters) {
    t.weight_channel == 0 ? choose_pair_tile<kPlanes, Weights::kSource>(t, m)
                          : choose_pair_tile<kPlanes, Weights::kChannel>(t, m);
  } else {
    for (std::size_t first = 0; first < t.n_source; first += kStoredSources) {
      const TileArrays<T> some = some_sources(t, first, std::min(kStoredSources, t.n_source - first));
      choose_shaped_tile<false, Weights::kOne>(some, m);
      if (kVector)
        sum_planes<kPlanes, Weights::kVector>(some);
      else if (t.weight_channel == 0)
        sum_planes<kPlanes, Weights::kSource>(some);
      else
        sum_planes<kPlanes, Weights::kChannel>(some);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::direct
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_DIRECT_PLANES_INL_H_
