// The innermost loops of the adjoint kernel (adjoint.h): one source, one vector of rows, one run of channels. Seeds,
// rotations and amplitudes are those of the forward kernel. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_ADJOINT_ADJOINT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_ADJOINT_ADJOINT_INL_H_
#undef RIMETREE_NODES_PSV_ADJOINT_ADJOINT_INL_H_
#else
#define RIMETREE_NODES_PSV_ADJOINT_ADJOINT_INL_H_
#endif

#include "nodes/psv/adjoint/adjoint.h"
#include "nodes/psv/direct/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::adjoint {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace direct;
using namespace direct::HWY_NAMESPACE;
using namespace psv::HWY_NAMESPACE;

using AdjointTag = hn::ScalableTag<double>;
using AdjointVec = hn::Vec<AdjointTag>;

/// Radians of irregularity of channels that derivatives may ignore.
inline constexpr double kIgnoredTurn = 1e-11;
/// Below this argument the slope of a sinc is left out: it is this fraction of the phase's share at most.
inline constexpr double kFlatSinc = 1e-8;

/// What a source collects over rows: derivatives with respect to weights (if they do not vary along channels), then
/// l, m, n, then the components of both axes.
inline constexpr std::size_t kSourceSums = 8 + 3 + 6, kPositionSum = 8, kShapeSum = 11;

/// Arrays of one portion. A component is a plane, or behind Jones terms, where weights are complex, a correlation.
struct AdjointScratch {
  std::size_t lanes = 0, n_component = 0;
  bool correlations = false;
  double* h = nullptr;         ///< [channel of the run][component][re, im][lane]; where plain:
                               ///< [pair of the run][component][sum, difference][re, im][lane]
  double* sums = nullptr;      ///< [source of the portion][kSourceSums][lane]
  double* gathered = nullptr;  ///< [pair][p, q][element][re, im][lane]: Jones terms of a source
  ScratchMemory memory;
  std::vector<double> scale, wave, square_hz2;  ///< [channel of the run]: see smear_scale; nu/c; nu^2
};

/// One source on one run, and what its sums over the run's channels are.
struct SourceOnRun {
  const Scratch<double>& to;
  const AdjointScratch& own;
  const Run& run;
  std::size_t s, lanes;   ///< s: number within the block
  const double* weights;  ///< [weight channel][plane], at the run's first channel; with Jones terms [plane][lane]
  std::size_t weight_stride;
};
struct RunSums {
  AdjointVec weight[8];  ///< sum Re(h K), where weights do not vary along channels
  AdjointVec phase;      ///< sum nu/c Im z
  AdjointVec real;       ///< sum Re z
  AdjointVec cosine;     ///< sum Re z with the cosine in place of the time smearing's sinc
  AdjointVec square;     ///< sum nu^2 Re z times -G'/G of the taper G
};

/// Phasor in the middle of a tile.
HWY_INLINE void tile_phasor(const SourceOnRun& at, std::size_t number, AdjointVec& zr, AdjointVec& zi) {
  const AdjointTag d;
  const bool below = 2 * number + 1 < at.run.n_tile;
  const std::size_t pair = (below ? at.run.n_tile - 1 - 2 * number : 2 * number + 1 - at.run.n_tile) / 2;
  const double* outer = at.to.outer + (pair * kPairStride + 2 * at.s) * at.lanes;
  const double* middle = at.to.middle + 2 * at.s * at.lanes;
  zr = hn::Load(d, middle), zi = hn::Load(d, middle + at.lanes);
  const AdjointVec er = hn::Load(d, outer), sine = hn::Load(d, outer + at.lanes);
  multiply(zr, zi, er, below ? hn::Neg(sine) : sine);
}

/// A source's weight in a component: a real number, or behind Jones terms a complex one that differs from lane to lane.
template <bool kJones>
struct Weight {
  AdjointVec re, im;

  HWY_INLINE Weight(const double* weights, std::size_t component, std::size_t lanes) {
    const AdjointTag d;
    re = kJones ? hn::Load(d, weights + 2 * component * lanes) : hn::Set(d, weights[component]);
    im = kJones ? hn::Load(d, weights + (2 * component + 1) * lanes) : hn::Zero(d);
  }
  /// z += weight x.
  HWY_INLINE void add_product(AdjointVec xr, AdjointVec xi, AdjointVec& zr, AdjointVec& zi) const {
    zr = hn::MulAdd(re, xr, zr), zi = hn::MulAdd(re, xi, zi);
    if constexpr (kJones) zr = hn::NegMulAdd(im, xi, zr), zi = hn::MulAdd(im, xr, zi);
  }
  /// What h K times `factor` is to the derivatives with respect to it.
  static HWY_INLINE void add_slope(std::size_t component, AdjointVec hk_re, AdjointVec hk_im, AdjointVec factor,
                                   RunSums& sums) {
    if constexpr (kJones) {
      sums.weight[2 * component] = hn::MulAdd(hk_re, factor, sums.weight[2 * component]);
      sums.weight[2 * component + 1] = hn::NegMulAdd(hk_im, factor, sums.weight[2 * component + 1]);
    } else {
      sums.weight[component] = hn::MulAdd(hk_re, factor, sums.weight[component]);
    }
  }
};

/// Weights and amplitudes that do not vary along the run. The two channels at equal distances x from the middle of a
/// tile, of phasors z (c +- i s), need the sum and the difference of their adjoints only: one product by each of c and
/// s, and by c x and s x for the phase.
template <int P, bool kJones>
HWY_INLINE void pull_plain(const SourceOnRun& at, RunSums& sums) {
  const AdjointTag d;
  const std::size_t lanes = at.lanes;
  AdjointVec c[kTilePairs], s[kTilePairs];
  for (std::size_t k = 0; k < kTilePairs; ++k) {
    const double* inner = at.to.inner + (k * kPairStride + 2 * at.s) * lanes;
    c[k] = hn::Load(d, inner), s[k] = hn::Load(d, inner + lanes);
  }
  const double* h = at.own.h;
  for (std::size_t number = 0; number < at.run.n_tile; ++number) {
    AdjointVec xr[P], xi[P], yr[P], yi[P];
    for (int p = 0; p < P; ++p) xr[p] = xi[p] = yr[p] = yi[p] = hn::Zero(d);
#pragma GCC unroll 4
    for (std::size_t k = 0; k < kTilePairs; ++k) {
      const AdjointVec x = hn::Set(d, double(k) + 0.5), cx = hn::Mul(c[k], x), sx = hn::Mul(s[k], x);
#pragma GCC unroll 4
      for (int p = 0; p < P; ++p, h += 4 * lanes) {
        const AdjointVec plus_re = hn::Load(d, h), plus_im = hn::Load(d, h + lanes),
                         minus_re = hn::Load(d, h + 2 * lanes), minus_im = hn::Load(d, h + 3 * lanes);
        xr[p] = hn::NegMulAdd(s[k], minus_im, hn::MulAdd(c[k], plus_re, xr[p]));
        xi[p] = hn::MulAdd(s[k], minus_re, hn::MulAdd(c[k], plus_im, xi[p]));
        yr[p] = hn::NegMulAdd(sx, plus_im, hn::MulAdd(cx, minus_re, yr[p]));
        yi[p] = hn::MulAdd(sx, plus_re, hn::MulAdd(cx, minus_im, yi[p]));
      }
    }
    AdjointVec zr, zi;
    tile_phasor(at, number, zr, zi);
    AdjointVec ar = hn::Zero(d), ai = ar, br = ar, bi = ar;
    for (std::size_t p = 0; p < P; ++p) {
      const Weight<kJones> w(at.weights, p, lanes);
      w.add_slope(p, hn::MulSub(zr, xr[p], hn::Mul(zi, xi[p])), hn::MulAdd(zr, xi[p], hn::Mul(zi, xr[p])),
                  hn::Set(d, 1.0), sums);
      w.add_product(xr[p], xi[p], ar, ai);
      w.add_product(yr[p], yi[p], br, bi);
    }
    const double middle =
        at.own.wave[number * kTileChannels] + 0.5 * (kTileChannels - 1) * at.run.spacing_hz / kSpeedOfLight_m_s;
    sums.phase = hn::MulAdd(hn::Set(d, middle), hn::MulAdd(zr, ai, hn::Mul(zi, ar)), sums.phase);
    sums.phase =
        hn::MulAdd(hn::Set(d, at.run.spacing_hz / kSpeedOfLight_m_s), hn::MulAdd(zr, bi, hn::Mul(zi, br)), sums.phase);
    sums.real = hn::Add(sums.real, hn::MulSub(zr, ar, hn::Mul(zi, ai)));
  }
}

/// cos(x_k) of the time smearing's arguments x_k = pi change nu_k, by the recurrence of its sine (see Smearing).
template <int kTerms>
HWY_INLINE Smearing<AdjointVec> start_cosine(AdjointVec change, const TileBand& band, AdjointVec curvature) {
  const AdjointTag d;
  const double step = kPi * band.spacing_hz, between = kPi * band.third_hz + 0.5 * step;
  // cos(x_4) - cos(x_3) = -2 sin((x_3 + x_4)/2) sin((x_4 - x_3)/2)
  const AdjointVec sine = hn::Mul(sinc_of<kTerms>(change, between), hn::Mul(change, hn::Set(d, between)));
  const AdjointVec half = hn::Mul(sinc_of<kTerms>(change, 0.5 * step), hn::Mul(change, hn::Set(d, 0.5 * step)));
  return {cos_of<kTerms>(change, kPi * band.third_hz), hn::Mul(hn::Set(d, -2.0), hn::Mul(sine, half)), curvature};
}

/// Tapers at the channels of a tile, and what takes part in the sum `square` there.
HWY_INLINE void tile_tapers(const SourceOnRun& at, const Method& m, std::size_t number,
                            AdjointVec (&taper)[kTileChannels], AdjointVec (&of_square)[kTileChannels]) {
  const AdjointTag d;
  double* state = at.to.taper + at.s * kTaperState * at.lanes;
  if (!stores_tapers<double>(m.shape.profile)) taper_tile<false>(at.lanes, state, taper);
  for (std::size_t k = 0; k < kTileChannels; ++k) {
    const AdjointVec square = hn::Set(d, at.own.square_hz2[number * kTileChannels + k]);
    of_square[k] = square;
    if (!stores_tapers<double>(m.shape.profile)) continue;
    const AdjointVec x = hn::Mul(hn::Load(d, state + TaperState::kArgument * at.lanes), square);
    taper[k] = tapers_of(m.shape.profile, x);
    of_square[k] = hn::Mul(square, falls_of(m.shape.profile, x));
  }
}

/// Time smearing, tapers, or weights that vary along channels: channel by channel.
template <int P, bool kVary, bool kJones>
HWY_INLINE void pull_shaped(const SourceOnRun& at, const Method& m, AdjointVec change, RunSums& sums,
                            double* HWY_RESTRICT channel_sums) {
  const AdjointTag d;
  const std::size_t lanes = at.lanes;
  Smearing<AdjointVec> sinc{hn::Zero(d), hn::Zero(d), hn::Zero(d)}, cosine = sinc;
  if (m.smear) {
    const double* state = at.to.smearing + at.s * kSmearingState * lanes;
    sinc = {hn::Load(d, state), hn::Load(d, state + lanes), hn::Load(d, state + 2 * lanes)};
    with_terms(m.time_terms, [&](auto terms) HWY_ATTR {
      cosine = start_cosine<decltype(terms)::value>(change, tile_band(at.run, 0), sinc.curvature);
    });
  }
  for (std::size_t number = 0; number < at.run.n_tile; ++number) {
    AdjointVec zr, zi, amplitude[kTileChannels], cos_x[kTileChannels], taper[kTileChannels], of_square[kTileChannels];
    tile_phasor(at, number, zr, zi);
    if (m.smear) smear_tile<true>(sinc, amplitude), smear_tile<true>(cosine, cos_x);
    if (m.taper) tile_tapers(at, m, number, taper, of_square);
    for (std::size_t k = 0; k < kTileChannels; ++k) {
      const std::size_t pair = k < kTilePairs ? kTilePairs - 1 - k : k - kTilePairs;
      const std::size_t channel = number * kTileChannels + k;
      const double* inner = at.to.inner + (pair * kPairStride + 2 * at.s) * lanes;
      AdjointVec kr = zr, ki = zi;
      const AdjointVec sine = hn::Load(d, inner + lanes);
      multiply(kr, ki, hn::Load(d, inner), k < kTilePairs ? hn::Neg(sine) : sine);
      if (m.taper) kr = hn::Mul(kr, taper[k]), ki = hn::Mul(ki, taper[k]);
      const AdjointVec a = m.smear ? hn::Mul(amplitude[k], hn::Set(d, at.own.scale[channel])) : hn::Set(d, 1.0);
      const double* h = at.own.h + channel * 2 * P * lanes;
      const double* w = at.weights + (kVary ? channel * at.weight_stride : 0);
      AdjointVec re = hn::Zero(d), im = re;
      for (std::size_t p = 0; p < P; ++p, h += 2 * lanes) {
        const AdjointVec hr = hn::Load(d, h), hi = hn::Load(d, h + lanes);
        const Weight<kJones> weight(w, p, lanes);
        const AdjointVec hk_re = hn::MulSub(hr, kr, hn::Mul(hi, ki)), hk_im = hn::MulAdd(hr, ki, hn::Mul(hi, kr));
        if constexpr (kVary) {
          if (channel < at.run.count)
            channel_sums[channel * P + p] += hn::GetLane(hn::SumOfLanes(d, hn::Mul(hk_re, a)));
        } else {
          weight.add_slope(p, hk_re, hk_im, a, sums);
        }
        weight.add_product(hk_re, hk_im, re, im);
      }
      const AdjointVec seen = hn::Mul(re, a);
      sums.phase = hn::MulAdd(hn::Mul(im, a), hn::Set(d, at.own.wave[channel]), sums.phase);
      sums.real = hn::Add(sums.real, seen);
      if (m.smear) sums.cosine = hn::MulAdd(re, cos_x[k], sums.cosine);
      if (m.taper) sums.square = hn::MulAdd(seen, of_square[k], sums.square);
    }
  }
}

/// x / y where that is large enough to matter, else 0.
HWY_INLINE AdjointVec quotient_where(AdjointVec x, AdjointVec y, AdjointVec size) {
  const AdjointTag d;
  const auto matters = hn::And(hn::Gt(size, hn::Set(d, kFlatSinc)), hn::Ne(y, hn::Zero(d)));
  return hn::IfThenElseZero(matters, hn::Div(x, hn::IfThenElse(matters, y, hn::Set(d, 1.0))));
}

HWY_INLINE void add_to(double* sum, AdjointVec x) {
  const AdjointTag d;
  hn::Store(hn::Add(hn::Load(d, sum), x), d, sum);
}

/// From sums over channels to derivatives with respect to direction and shape, lane by lane.
HWY_INLINE void add_source(const Sighting<double>& at, const Run& run, const Method& m, SourceWish wish, int n_plane,
                           const RunSums& of_run, double* sums) {
  const AdjointTag d;
  const std::size_t lanes = at.lanes;
  for (int p = 0; p < n_plane; ++p) add_to(sums + static_cast<std::size_t>(p) * lanes, of_run.weight[p]);
  if (wish.positions) {
    AdjointVec of_path = hn::Mul(of_run.phase, hn::Set(d, -2 * kPi)), of_change = hn::Zero(d);
    if (m.bandwidth) {
      // d/dx sinc(b x) = (cos(b x) - sinc(b x))/x; the sums have the sinc in them already.
      const double b = kPi * run.width_hz / kSpeedOfLight_m_s;
      const AdjointVec path = at.path();
      const AdjointVec sinc = sinc_of<0>(path, b), slope = hn::Sub(cos_of<0>(path, b), sinc);
      const AdjointVec size = hn::Abs(hn::Mul(path, hn::Set(d, b)));
      of_path = hn::MulAdd(quotient_where(of_run.real, sinc, size), quotient_where(slope, path, size), of_path);
    }
    if (m.smear) {
      const AdjointVec change = at.change(), size = hn::Abs(hn::Mul(change, hn::Set(d, kPi * run.first_hz)));
      of_change = hn::Mul(quotient_where(hn::Sub(of_run.cosine, of_run.real), change, size), at.row(6));
    }
    for (int i = 0; i < 3; ++i)
      add_to(sums + (kPositionSum + static_cast<std::size_t>(i)) * lanes,
             hn::MulAdd(at.row(i), of_path, hn::Mul(at.row(3 + i), of_change)));
  }
  if (wish.shapes && m.taper) {
    const ShapeAxes<double>& axes = at.block.sky->axes[at.number() - at.block.sky->n_point];
    const AdjointVec of_exponent = hn::Mul(of_run.square, hn::Set(d, -2 * m.shape.scale));
    const AdjointVec along = hn::Mul(of_exponent, times_axis(axes.major, at.row(0), at.row(1), at.row(2)));
    const AdjointVec across = hn::Mul(of_exponent, times_axis(axes.minor, at.row(0), at.row(1), at.row(2)));
    for (int i = 0; i < 3; ++i) {
      double* sum = sums + (kShapeSum + static_cast<std::size_t>(i)) * lanes;
      add_to(sum, hn::Mul(along, at.row(i)));
      add_to(sum + 3 * lanes, hn::Mul(across, at.row(i)));
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::adjoint
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_ADJOINT_ADJOINT_INL_H_
