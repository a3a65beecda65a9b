// Sources' places in reverse where Jones terms vary along channels: from dL/dz conj(z) of the phasors z at all channels
// of a span, to directions and shapes. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_ADJOINT_SPAN_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_ADJOINT_SPAN_SUMS_INL_H_
#undef RIMETREE_NODES_PSV_ADJOINT_SPAN_SUMS_INL_H_
#else
#define RIMETREE_NODES_PSV_ADJOINT_SPAN_SUMS_INL_H_
#endif

#include "nodes/psv/adjoint/adjoint-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::adjoint {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Back from what turn_phasors() makes: from [row][source][re, im][channel of the window] to [source][channel of the
/// tile][re, im][row].
inline HWY_NOINLINE void turn_back(const double* HWY_RESTRICT turned, std::size_t count, double* HWY_RESTRICT phasor) {
  const hn::CappedTag<double, kTileChannels> d;
  constexpr std::size_t N = hn::MaxLanes(d);
  const std::size_t rows = hn::Lanes(AdjointTag());
  for (std::size_t s = 0; s < count; ++s, phasor += 2 * kTileChannels * rows)
    for (std::size_t c = 0; c < 2; ++c)
      for (std::size_t k = 0; k < kTileChannels; k += N)
        for (std::size_t row = 0; row < rows; row += N) {
          hn::Vec<decltype(d)> a[N];
#pragma GCC unroll 8
          for (std::size_t i = 0; i < N; ++i)
            a[i] = hn::Load(d, turned + (((row + i) * kJonesSources<double> + s) * 2 + c) * kWindowChannels + k);
          transpose(d, a);
#pragma GCC unroll 8
          for (std::size_t i = 0; i < N; ++i) hn::Store(a[i], d, phasor + (2 * (k + i) + c) * rows + row);
        }
}

/// x / y, or zero.
HWY_INLINE AdjointVec quotient_or_zero(AdjointVec x, AdjointVec y) {
  const AdjointTag d;
  return hn::IfThenElseZero(hn::Ne(y, hn::Zero(d)), hn::Div(x, y));
}

/// Sums over the channels of a span, for a block of sources and the rows that are loaded.
class SpanSums {
 public:
  SpanSums(const HostSum<double>& job, const ChannelCut& cut, const Block<double>& block, const Reach& reach,
           const Span& span, SourceWish wish, const Method& method)
      : job_(job), cut_(cut), block_(block), reach_(reach), span_(span), wish_(wish), method_(method) {
    for (std::size_t s = 0; s < block.count; ++s) clear(sums_[s]);
    if (span.singles || !method.smear || !(wish.positions || wish.shapes)) return;
    const AdjointTag d;
    const TileBand band = tile_band(*span.run, 0);
    const std::size_t lanes = hn::Lanes(d);
    with_terms(method.time_terms, [&](auto terms) HWY_ATTR {
      for (std::size_t s = 0; s < block.count; ++s) {
        const double* state = job.scratch.smearing + s * kSmearingState * lanes;
        sinc_[s] = {hn::Load(d, state), hn::Load(d, state + lanes), hn::Load(d, state + 2 * lanes)};
        const Sighting<double> place(block, job.scratch, s, lanes, 0);
        cosine_[s] = start_cosine<decltype(terms)::value>(place.change(), band, sinc_[s].curvature);
      }
    });
  }

  /// The next tile, whose dL/dz conj(z) are where its phasors were; `sums`: [source][kSourceSums][lane].
  void add_tile(std::size_t number, double* sums) { span_.singles ? add_singles(number, sums) : add_regular(number); }

  void finish(double* sums) {
    if (span_.singles) return;
    for (std::size_t s = 0; s < block_.count; ++s) add(s, *span_.run, method_, sums);
  }

 private:
  static void clear(RunSums& sums) { sums.phase = sums.real = sums.cosine = sums.square = hn::Zero(AdjointTag()); }
  void add(std::size_t s, const Run& run, const Method& m, double* sums) {
    const std::size_t lanes = hn::Lanes(AdjointTag());
    const Sighting<double> place(block_, job_.scratch, s, lanes, 0);
    add_source(place, run, m, wish_, 0, sums_[s], sums + s * kSourceSums * lanes);
  }
  /// dL/dz conj(z) of a source at a channel of the tile, its imaginary part negated, as RunSums wants it.
  HWY_INLINE void load(std::size_t s, std::size_t k, AdjointVec& re, AdjointVec& im) const {
    const AdjointTag d;
    const double* from = job_.scratch.phasor + (s * kTileChannels + k) * 2 * hn::Lanes(d);
    re = hn::Load(d, from), im = hn::Neg(hn::Load(d, from + hn::Lanes(d)));
  }
  HWY_INLINE void add_channel(std::size_t s, const Run& run, AdjointVec re, AdjointVec im, double nu,
                              RunSums& sums) const {
    const AdjointTag d;
    AdjointVec square = hn::Set(d, nu * nu);
    if (block_.profile != kPoint && wish_.shapes && !is_exponential(block_.profile)) {
      const Sighting<double> place(block_, job_.scratch, s, hn::Lanes(d), 0);
      square = hn::Mul(square, falls_of(block_.profile,
                                        hn::Mul(place.taper_argument(taper_on<double>(block_.profile, run)), square)));
    }
    sums.phase = hn::MulAdd(im, hn::Set(d, nu / kSpeedOfLight_m_s), sums.phase);
    sums.real = hn::Add(re, sums.real);
    sums.square = hn::MulAdd(re, square, sums.square);
  }

  HWY_NOINLINE void add_regular(std::size_t number) {
    const AdjointTag d;
    const Run& run = *span_.run;
    double scale[kTileChannels];
    if (method_.smear) smear_scale(run, number, tile_band(run, 0).third_hz, scale);
    for (std::size_t s = 0; s < block_.count; ++s) {
      AdjointVec amplitude[kTileChannels], cos_x[kTileChannels];
      if (method_.smear) smear_tile<true>(sinc_[s], amplitude), smear_tile<true>(cosine_[s], cos_x);
      for (std::size_t k = 0; k < kTileChannels; ++k) {
        AdjointVec re, im;
        load(s, k, re, im);
        const double nu = run.first_hz + double(number * kTileChannels + k) * run.spacing_hz;
        add_channel(s, run, re, im, nu, sums_[s]);
        // The phasor has the amplitude in it, which the cosine is to replace.
        if (method_.smear)
          sums_[s].cosine =
              hn::MulAdd(re, quotient_or_zero(cos_x[k], hn::Mul(amplitude[k], hn::Set(d, scale[k]))), sums_[s].cosine);
      }
    }
  }

  void add_singles(std::size_t number, double* sums) {
    const AdjointTag d;
    for (std::size_t k = 0; k < kTileChannels && number * kTileChannels + k < span_.count; ++k) {
      const Run& run = span_.run[number * kTileChannels + k];
      const Method m = choose_method(job_, run, cut_, reach_, block_.profile);
      for (std::size_t s = 0; s < block_.count; ++s) {
        AdjointVec re, im;
        load(s, k, re, im);
        clear(sums_[s]);
        add_channel(s, run, re, im, run.first_hz, sums_[s]);
        if (m.smear) {
          const AdjointVec change = Sighting<double>(block_, job_.scratch, s, hn::Lanes(d), 0).change();
          const double scale = kPi * run.first_hz;
          sums_[s].cosine = hn::Mul(re, quotient_or_zero(cos_of<0>(change, scale), sinc_of<0>(change, scale)));
        }
        add(s, run, m, sums);
      }
    }
  }

  const HostSum<double>& job_;
  const ChannelCut& cut_;
  const Block<double>& block_;
  Reach reach_;
  const Span& span_;
  SourceWish wish_;
  Method method_;
  RunSums sums_[kJonesSources<double>];
  Smearing<AdjointVec> sinc_[kJonesSources<double>], cosine_[kJonesSources<double>];
};

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::adjoint
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_ADJOINT_SPAN_SUMS_INL_H_
