// Tiles of channels with time smearing in a band that is not wide, to full precision. With x and a the argument of the
// sinc at the middle of a tile and its change per channel, the amplitude k channels above and below the middle is, but
// for a factor that all sources share (smear_scale()),
//   sinc(x +- a k) ~ S cos(a k) +- C k sinc(a k),   S = sinc(x), C = cos(x) spacing/nu,
// and with a phasor z (c +- i s) a source adds E + O above and E - O below:
//   E = S z [cos(a k) c] + i C z [k sinc(a k) s],   O = C z [k sinc(a k) c] + i S z [cos(a k) s].
// The brackets are the same for all tiles of a run, and one plane needs two multiply-adds per channel for S and two for
// C, nothing for the amplitude itself. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_DIRECT_SMEARED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_DIRECT_SMEARED_INL_H_
#undef RIMETREE_NODES_PSV_DIRECT_SMEARED_INL_H_
#else
#define RIMETREE_NODES_PSV_DIRECT_SMEARED_INL_H_
#endif

#include "nodes/psv/direct/sighting-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::direct {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// What is kept of the smearing of a source from tile to tile, in vectors; in single precision the first only.
struct SmearState {
  static constexpr std::size_t kChange = 0;  ///< of path over an exposure, over c: singles
  static constexpr std::size_t kSinc = 0, kCosine = 1;
  static constexpr std::size_t kTurn = 2, kSincTurn = 3, kCosineTurn = 4;  ///< how they go on to the next tile
};

/// Frequency at the middle of a tile.
inline double middle_hz(const Run& run, std::size_t tile) {
  return run.first_hz + (double(tile * kTileChannels) + 0.5 * double(kTileChannels - 1)) * run.spacing_hz;
}

/// The brackets, [pair][source][4][row], from the rotations in `inner`.
template <int kTerms, class T>
HWY_NOINLINE void seed_brackets(const Block<T>& block, const Run& run, const Scratch<T>& to) {
  const hn::ScalableTag<double> d;
  for_each_sighting(block, to, [&](const Sighting<T>& at) HWY_ATTR {
    const auto step = hn::Mul(at.change(), hn::Set(d, kPi * run.spacing_hz)), square = hn::Mul(step, step);
#pragma GCC unroll 4
    for (std::size_t pair = 0; pair < kTilePairs; ++pair) {
      const double k = double(pair) + 0.5;
      const auto x2 = hn::Mul(square, hn::Set(d, k * k));
      const auto even = series<kTerms>(kCosTaylor, x2), odd = hn::Mul(series<kTerms>(kSincTaylor, x2), hn::Set(d, k));
      const T* rotation = to.inner + (pair * kPairStride + 2 * at.s) * at.lanes + at.lane;
      const auto c = load_as(d, rotation), s = load_as(d, rotation + at.lanes);
      T* bracket = to.bracket + (2 * pair * kPairStride + 4 * at.s) * at.lanes + at.lane;
      store_as(d, hn::Mul(even, c), bracket);
      store_as(d, hn::Mul(even, s), bracket + at.lanes);
      store_as(d, hn::Mul(odd, c), bracket + 2 * at.lanes);
      store_as(d, hn::Mul(odd, s), bracket + 3 * at.lanes);
    }
  });
}

/// S and C nu/spacing of the first tile, and the rotation that takes them to the next.
template <int kTerms>
HWY_NOINLINE void seed_smear_state(const Block<double>& block, const Run& run, const Scratch<double>& to) {
  const hn::ScalableTag<double> d;
  const double nu = middle_hz(run, 0), tile_hz = double(kTileChannels) * run.spacing_hz;
  for_each_sighting(block, to, [&](const Sighting<double>& at) HWY_ATTR {
    const auto change = at.change();
    const auto sinc = sinc_of<5>(change, kPi * tile_hz);
    const auto turn = hn::Mul(change, hn::Set(d, kPi * tile_hz)), x = hn::Mul(change, hn::Set(d, kPi * nu));
    double* state = to.smearing + at.s * kSmearingState * at.lanes;
    const auto store = [&](std::size_t i, hn::Vec<decltype(d)> v) HWY_ATTR { hn::Store(v, d, state + i * at.lanes); };
    store(SmearState::kSinc, sinc_of<kTerms>(change, kPi * nu));
    store(SmearState::kCosine, cos_of<kTerms>(change, kPi * nu));
    store(SmearState::kTurn, cos_of<5>(change, kPi * tile_hz));
    store(SmearState::kSincTurn, hn::Mul(sinc, hn::Set(d, tile_hz / nu)));
    store(SmearState::kCosineTurn, hn::Mul(hn::Mul(sinc, turn), x));
  });
}

/// S z and C z of all sources for one tile, to `phasor`: [source][4][row].
template <int kTerms, class T>
HWY_NOINLINE void place_smeared(const TileArrays<T>& job, const Run& run, std::size_t tile, T* HWY_RESTRICT to) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  const V sign = hn::Set(d, job.outer_sign);
  const double nu = middle_hz(run, sizeof(T) == 8 ? 0 : tile);
  const V spacing = hn::Set(d, static_cast<T>(run.spacing_hz / nu));
  const T* HWY_RESTRICT outer = job.outer;
  T* HWY_RESTRICT state = job.smearing;
  for (std::size_t s = 0; s < job.n_source; ++s, outer += 2 * lanes, to += 4 * lanes) {
    V zr = hn::Load(d, job.middle + 2 * s * lanes), zi = hn::Load(d, job.middle + (2 * s + 1) * lanes);
    multiply(zr, zi, hn::Load(d, outer), hn::Mul(hn::Load(d, outer + lanes), sign));
    V sinc, cosine;
    if constexpr (sizeof(T) == 8) {
      const auto at = [&](std::size_t i) HWY_ATTR { return hn::Load(d, state + i * lanes); };
      sinc = at(SmearState::kSinc);
      cosine = at(SmearState::kCosine);
      const V turn = at(SmearState::kTurn);
      hn::Store(hn::MulAdd(sinc, turn, hn::Mul(cosine, at(SmearState::kSincTurn))), d,
                state + SmearState::kSinc * lanes);
      hn::Store(hn::MulSub(cosine, turn, hn::Mul(sinc, at(SmearState::kCosineTurn))), d,
                state + SmearState::kCosine * lanes);
      state += kSmearingState * lanes;
    } else {
      const V change = hn::Load(d, state);
      sinc = sinc_of<kTerms>(change, kPi * nu);
      cosine = cos_of<kTerms>(change, kPi * nu);
      state += lanes;
    }
    cosine = hn::Mul(cosine, spacing);
    hn::Store(hn::Mul(sinc, zr), d, to);
    hn::Store(hn::Mul(sinc, zi), d, to + lanes);
    hn::Store(hn::Mul(cosine, zr), d, to + 2 * lanes);
    hn::Store(hn::Mul(cosine, zi), d, to + 3 * lanes);
  }
}

/// E and O of a source at one pair of channels, added to `sum`: re, im of E, re, im of O.
template <class D, class V>
HWY_INLINE void add_smeared(D d, const V (&z)[4], const hn::TFromD<D>* bracket, V (&sum)[4]) {
  const std::size_t lanes = hn::Lanes(d);
  V even_c = hn::Load(d, bracket), even_s = hn::Load(d, bracket + lanes);
  V odd_c = hn::Load(d, bracket + 2 * lanes), odd_s = hn::Load(d, bracket + 3 * lanes);
  keep_in_register(even_c), keep_in_register(even_s), keep_in_register(odd_c), keep_in_register(odd_s);
  sum[0] = hn::NegMulAdd(z[3], odd_s, hn::MulAdd(z[0], even_c, sum[0]));
  sum[1] = hn::MulAdd(z[2], odd_s, hn::MulAdd(z[1], even_c, sum[1]));
  sum[2] = hn::NegMulAdd(z[1], even_s, hn::MulAdd(z[2], odd_c, sum[2]));
  sum[3] = hn::MulAdd(z[0], even_s, hn::MulAdd(z[3], odd_c, sum[3]));
}

/// P planes of as many pairs of channels as there are registers for, from job.first_pair on. The first plane's weights
/// may be one: it then takes additions only.
template <int P, bool kUnit, class T>
HWY_NOINLINE void smeared_sums(const TileArrays<T>& job, const T* HWY_RESTRICT placed) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  constexpr int K = kSmearedPairs<P>;
  V sum[K][P][4];
#pragma GCC unroll 4
  for (int k = 0; k < K; ++k)
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p) sum[k][p][0] = sum[k][p][1] = sum[k][p][2] = sum[k][p][3] = hn::Zero(d);

  const T* HWY_RESTRICT bracket = job.inner + 2 * job.first_pair * kPairStride * lanes;
  const T* HWY_RESTRICT weight = job.weight;
  for (std::size_t s = 0; s < job.n_source;
       ++s, placed += 4 * lanes, bracket += 4 * lanes, weight += job.weight_source) {
    const V z[4] = {hn::Load(d, placed), hn::Load(d, placed + lanes), hn::Load(d, placed + 2 * lanes),
                    hn::Load(d, placed + 3 * lanes)};
#pragma GCC unroll 4
    for (int k = 0; k < K; ++k) {
      const T* at = bracket + 2 * k * kPairStride * lanes;
      if constexpr (P == 1 && kUnit) {
        add_smeared(d, z, at, sum[k][0]);
        continue;
      }
      V x[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
      add_smeared(d, z, at, x);
#pragma GCC unroll 4
      for (int p = 0; p < P; ++p) {
        const V w = hn::Set(d, weight[p]);
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i)
          sum[k][p][i] = kUnit && p == 0 ? hn::Add(sum[k][p][i], x[i]) : hn::MulAdd(w, x[i], sum[k][p][i]);
      }
    }
  }

#pragma GCC unroll 4
  for (int k = 0; k < K; ++k) {
    const std::size_t above = kTilePairs + job.first_pair + k, below = kTilePairs - 1 - job.first_pair - k;
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p) {
      const V(&e)[4] = sum[k][p];
      double *to_above = job.sum + (above * job.sum_channel + 2 * p) * lanes,
             *to_below = job.sum + (below * job.sum_channel + 2 * p) * lanes;
      flush(d, hn::Add(e[0], e[2]), job.scale[above], to_above);
      flush(d, hn::Add(e[1], e[3]), job.scale[above], to_above + lanes);
      flush(d, hn::Sub(e[0], e[2]), job.scale[below], to_below);
      flush(d, hn::Sub(e[1], e[3]), job.scale[below], to_below + lanes);
    }
  }
}

/// What all sources' smearing shares at the channels of a tile.
inline void smear_scale(const Run& run, std::size_t tile, double reference_hz, double* scale) {
  for (std::size_t k = 0; k < kTileChannels; ++k) {
    const double nu = run.first_hz + double(tile * kTileChannels + k) * run.spacing_hz;
    scale[k] = nu != 0 ? reference_hz / nu : 1.0;
  }
}

template <class T>
void seed_smeared(const Block<T>& block, const Run& run, const Method& method, const Scratch<T>& to) {
  const hn::ScalableTag<double> d;
  method.narrow_terms == 3 ? seed_brackets<3>(block, run, to) : seed_brackets<5>(block, run, to);
  if constexpr (sizeof(T) == 8)
    with_terms(method.time_terms, [&](auto terms) { seed_smear_state<decltype(terms)::value>(block, run, to); });
  else
    for_each_sighting(block, to, [&](const Sighting<T>& at) HWY_ATTR {
      store_as(d, at.change(), to.smearing + at.s * at.lanes + at.lane);
    });
}

/// All planes of a tile. Weights of the first plane are one if `unit`.
template <int kPlanes, class T>
void smeared_tile(TileArrays<T> t, const Run& run, const Method& m, std::size_t tile, bool unit, const Scratch<T>& to) {
  constexpr int P = std::min(kPlanes, kManyRegisters ? 4 : 2);
  double scale[kTileChannels];
  smear_scale(run, tile, middle_hz(run, sizeof(T) == 8 ? 0 : tile), scale);
  t.scale = scale;
  t.inner = to.bracket;
  if constexpr (sizeof(T) == 8)
    place_smeared<0>(t, run, tile, to.phasor);
  else
    with_terms(m.time_terms, [&](auto terms) { place_smeared<decltype(terms)::value>(t, run, tile, to.phasor); });
  for (int p = 0; p < kPlanes; p += P, t.weight += P, t.sum += 2 * P * hn::Lanes(hn::ScalableTag<T>()))
    for (t.first_pair = 0; t.first_pair < kTilePairs; t.first_pair += kSmearedPairs<P>)
      unit&& p == 0 ? smeared_sums<P, true>(t, to.phasor) : smeared_sums<P, false>(t, to.phasor);
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::direct
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_DIRECT_SMEARED_INL_H_
