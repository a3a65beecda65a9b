// The adjoint kernel (adjoint.h) where Jones terms, or the brightness behind them, vary along channels: the reverse of
// direct/jones_rows-inl.h. A visibility is V = sum_s z_s P_s Q_s with the phasor z and the two sides P = J_n .. J_1 B
// and Q = J_1^H .. J_n^H of a baseline's ends. With its adjoint A and T = conj(z) A,
//   dL/dP = T Q^H,  dL/dQ = P^H T,  dL/dz conj(z) = tr(T Q^H P^H),
// the first two of which are added up over the rows that share a side, before they are taken through its terms once.
// Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_ADJOINT_VARYING_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_ADJOINT_VARYING_INL_H_
#undef RIMETREE_NODES_PSV_ADJOINT_VARYING_INL_H_
#else
#define RIMETREE_NODES_PSV_ADJOINT_VARYING_INL_H_
#endif

#include "nodes/psv/adjoint/jones_adjoint-inl.h"
#include "nodes/psv/adjoint/span_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::adjoint {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// One portion's way through its rows and sources.
struct VaryingPass {
  const ReverseSum& adjoint;
  const HostSum<double>& rows;
  const AdjointPortion& portion;
  JonesSlopes jones_out;
  double* side_slopes;  ///< as HostSum::scratch.sides
  bool places;          ///< whether positions or shapes are asked for
};

/// Adjoints of the visibilities of a group on a span, as the forward kernel lays out its sums, zero where there are
/// none.
inline void load_span(const VaryingPass& pass, const RowGroup& group, const Span& span) {
  const std::size_t lanes = hn::Lanes(AdjointTag()), n_window = windows_of(span.count);
  double* to = pass.rows.scratch.jones_sum;
  std::fill_n(to, (group.last - group.first) * n_window * 8 * kWindowChannels, 0.0);
  const ResultAdjoints& adjoints = pass.adjoint.adjoints;
  for (std::size_t row = group.first; row < std::min(group.last, pass.portion.row_end); ++row) {
    double* sum = to + (row - group.first) * n_window * 8 * kWindowChannels;
    for (std::size_t i = 0; i < 4; ++i) {
      const Complex<double>* from = adjoints.row[row] + static_cast<std::ptrdiff_t>(i) * adjoints.plane_stride;
      for (std::size_t k = 0; k < span.count; ++k) {
        double* a = sum + k / lanes * 8 * lanes + k % lanes + 2 * i * lanes;
        a[0] = from[span.first + k].re, a[lanes] = from[span.first + k].im;
      }
    }
  }
}

/// One row with `count` sources at `n_channel` channels of a window. `p`, `q`, `phasor`: as add_row() reads them; of_p,
/// of_q: laid out as p and q; `a`: as add_row() leaves its sums. dL/dz conj(z) takes the place of the phasor.
template <bool kQ, bool kPlaces>
HWY_NOINLINE void pull_row(const double* HWY_RESTRICT p, const double* HWY_RESTRICT q, double* HWY_RESTRICT of_p,
                           double* HWY_RESTRICT of_q, double* HWY_RESTRICT phasor, const double* HWY_RESTRICT a,
                           std::size_t count, std::size_t n_channel) {
  const AdjointTag d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t first = 0; first < n_channel; first += lanes) {
    AdjointVec ar[4], ai[4];
    for (std::size_t e = 0; e < 4; ++e)
      ar[e] = hn::Load(d, a + first * 8 + 2 * e * lanes), ai[e] = hn::Load(d, a + first * 8 + (2 * e + 1) * lanes);
    for (std::size_t s = 0; s < count; ++s) {
      const std::size_t at = (first * kJonesSources<double> + s * lanes) * 8;
      double* z = phasor + 2 * s * kWindowChannels + first;
      const AdjointVec zr = hn::Load(d, z), zi = hn::Load(d, z + kWindowChannels);
      AdjointVec tr[4], ti[4];
#pragma GCC unroll 4
      for (int e = 0; e < 4; ++e) {
        tr[e] = hn::MulAdd(zr, ar[e], hn::Mul(zi, ai[e]));
        ti[e] = hn::MulSub(zr, ai[e], hn::Mul(zi, ar[e]));
      }
      AdjointVec yr = hn::Zero(d), yi = yr;
#pragma GCC unroll 2
      for (int k = 0; k < 2; ++k) {
        // Column k of T Q^H from row k of Q.
        AdjointVec qr[2], qi[2];
        for (int j = 0; j < 2; ++j)
          qr[j] = hn::Load(d, q + at + (4 * k + 2 * j) * lanes),
          qi[j] = hn::Load(d, q + at + (4 * k + 2 * j + 1) * lanes);
        AdjointVec pr[2], pi[2];
#pragma GCC unroll 2
        for (int i = 0; i < 2; ++i) {
          AdjointVec re = hn::Mul(tr[2 * i], qr[0]), im = hn::Mul(ti[2 * i], qr[0]);
          re = hn::MulAdd(ti[2 * i], qi[0], re), im = hn::NegMulAdd(tr[2 * i], qi[0], im);
          re = hn::MulAdd(tr[2 * i + 1], qr[1], re), im = hn::MulAdd(ti[2 * i + 1], qr[1], im);
          re = hn::MulAdd(ti[2 * i + 1], qi[1], re), im = hn::NegMulAdd(tr[2 * i + 1], qi[1], im);
          double* to = of_p + at + (4 * i + 2 * k) * lanes;
          add_to(to, re), add_to(to + lanes, im);
          if constexpr (kQ || kPlaces) {
            pr[i] = hn::Load(d, p + at + (4 * i + 2 * k) * lanes);
            pi[i] = hn::Load(d, p + at + (4 * i + 2 * k + 1) * lanes);
          }
          if constexpr (kPlaces) {
            yr = hn::MulAdd(re, pr[i], yr), yi = hn::MulAdd(im, pr[i], yi);
            yr = hn::MulAdd(im, pi[i], yr), yi = hn::NegMulAdd(re, pi[i], yi);
          }
        }
        // Row k of P^H T from column k of P.
        if constexpr (kQ) {
#pragma GCC unroll 2
          for (int j = 0; j < 2; ++j) {
            AdjointVec re = hn::Mul(pr[0], tr[j]), im = hn::Mul(pr[0], ti[j]);
            re = hn::MulAdd(pi[0], ti[j], re), im = hn::NegMulAdd(pi[0], tr[j], im);
            re = hn::MulAdd(pr[1], tr[2 + j], re), im = hn::MulAdd(pr[1], ti[2 + j], im);
            re = hn::MulAdd(pi[1], ti[2 + j], re), im = hn::NegMulAdd(pi[1], tr[2 + j], im);
            double* to = of_q + at + (4 * k + 2 * j) * lanes;
            add_to(to, re), add_to(to + lanes, im);
          }
        }
      }
      if constexpr (kPlaces) hn::Store(yr, d, z), hn::Store(yi, d, z + kWindowChannels);
    }
  }
}

/// One vector of rows: what its visibilities' adjoints are to both of its sides, and to places of sources.
template <bool kQ, bool kPlaces>
void pull_vector(const VaryingPass& pass, const RowGroup& group, const Block<double>& block, const Extent& extent,
                 const Span& span, std::size_t vector, double* sums) {
  const std::size_t lanes = hn::Lanes(AdjointTag()), n_window = windows_of(span.count);
  constexpr std::size_t kTiles = kWindowChannels / kTileChannels;
  constexpr std::size_t kSide = kJonesSources<double> * 8 * kWindowChannels;
  const Scratch<double>& to = pass.rows.scratch;
  LaneRows lane_rows;
  load_rows(pass.rows, vector, lanes, lane_rows);
  const Reach reach = reach_of(to.rows, lanes, extent);
  SpanPhasors<double> phasors(pass.rows, *group.cut, block, reach, span);
  SpanSums places(pass.rows, *group.cut, block, reach, span, pass.adjoint.wish, phasors.method());
  for (std::size_t window = 0; window < n_window; ++window) {
    const std::size_t n_channel = std::min(kWindowChannels, span.count - window * kWindowChannels);
    const std::size_t n_tile = (n_channel + kTileChannels - 1) / kTileChannels;
    for (std::size_t tile = 0; tile < n_tile; ++tile) {
      double scale[kTileChannels];
      phasors.make_tile(window * kTiles + tile, scale);
      turn_phasors(to.phasor, block.count, scale, to.turned + tile * kTileChannels);
    }
    for (std::size_t i = 0; i < lanes; ++i) {
      const std::size_t row = vector - group.first + i;
      const std::size_t p = (group.row_sides[row].p * n_window + window) * kSide,
                        q = (group.row_sides[row].q * n_window + window) * kSide;
      pull_row<kQ, kPlaces>(to.sides + p, to.sides + q, pass.side_slopes + p, pass.side_slopes + q,
                            to.turned + i * kJonesSources<double> * 2 * kWindowChannels,
                            to.jones_sum + (row * n_window + window) * 8 * kWindowChannels, block.count,
                            n_tile * kTileChannels);
    }
    if constexpr (kPlaces)
      for (std::size_t tile = 0; tile < n_tile; ++tile) {
        turn_back(to.turned + tile * kTileChannels, block.count, to.phasor);
        places.add_tile(window * kTiles + tile, sums);
      }
  }
  if constexpr (kPlaces) places.finish(sums);
}

/// to[i] += (re, im) for the first `n` channels of a vector, a stride of 0 meaning that they are one place.
HWY_INLINE void add_channels(AdjointVec re, AdjointVec im, std::size_t n, std::ptrdiff_t stride, Complex<double>* to) {
  const AdjointTag d;
  const std::size_t lanes = hn::Lanes(d);
  if (stride == 0) {
    // Those beyond `n` are zero.
    to->re += hn::GetLane(hn::SumOfLanes(d, re)), to->im += hn::GetLane(hn::SumOfLanes(d, im));
  } else if (stride == 1 && n == lanes) {
    AdjointVec r, i;
    hn::LoadInterleaved2(d, &to->re, r, i);
    hn::StoreInterleaved2(hn::Add(r, re), hn::Add(i, im), d, &to->re);
  } else {
    HWY_ALIGN double part[2][kMaxLanes];
    hn::Store(re, d, part[0]), hn::Store(im, d, part[1]);
    for (std::size_t k = 0; k < n; ++k, to += stride) to->re += part[0][k], to->im += part[1][k];
  }
}

/// Takes a side's derivatives at a vector of channels, from `channel` on, through its terms and, if it is p's, to the
/// brightness of the source.
HWY_INLINE void pull_side(const VaryingPass& pass, const JonesSide& side, std::size_t source, std::size_t channel,
                          std::size_t limit, AdjointMatrix slope, SourceAdjoints& out) {
  const AdjointTag d;
  const Sky<double>& sky = pass.rows.sky;
  const JonesTerms& jones = pass.rows.jones;
  const auto order = static_cast<std::ptrdiff_t>(sky.order[source]);
  const std::size_t n = std::min(hn::Lanes(d), limit - channel);
  for (int k = jones.n_pair; k-- > 0;) {
    const std::ptrdiff_t target = jones.target_of(side.pairs + k, side.is_q);
    if (target >= 0) {
      AdjointMatrix of_term = slope;
      if (k > 0 || !side.is_q) {
        const AdjointMatrix x = hermitian(chain(d, sky, k, side, source, channel, limit, true));
        of_term = side.is_q ? product(x, slope) : product(slope, x);
      }
      of_term = as_stored(of_term, side.is_matrix(k));
      const auto& views = side.views(k);
      Complex<double>* first = pass.jones_out.at(target) + order * views[0].source + side.time * views[0].time +
                               static_cast<std::ptrdiff_t>(channel) * views[0].channel;
      for (int e = 0; e < (side.is_matrix(k) ? 4 : 1); ++e)
        add_channels(of_term.re[e], of_term.im[e], n, views[e].channel, first + (views[e].data - views[0].data));
    }
    if (side.is_q && k == 0) return;
    const AdjointMatrix term = hermitian(finite_part(load_term(d, side, k, order, channel, limit)));
    slope = side.is_q ? product(slope, term) : product(term, slope);
  }
  if (!pass.adjoint.wish.weights) return;
  const bool spectra = sky.n_weight_channel > 1;
  auto* weight = reinterpret_cast<Complex<double>*>(&out.weights[source * sky.n_weight_channel * 8]);
  if (spectra) weight += 4 * channel;
  for (int e = 0; e < 4; ++e) add_channels(slope.re[e], slope.im[e], n, spectra ? 4 : 0, weight + e);
}

/// All sides of a group.
inline void pull_sides(const VaryingPass& pass, const RowGroup& group, const Block<double>& block, const Span& span,
                       SourceAdjoints& out) {
  const AdjointTag d;
  const std::size_t lanes = hn::Lanes(d), n_channel = windows_of(span.count) * kWindowChannels;
  const bool terms = pass.rows.jones.targets.any();
  for (std::size_t i = 0; i < group.sides.size(); ++i) {
    const JonesSide& side = group.sides[i];
    if (!terms && (side.is_q || !pass.adjoint.wish.weights)) continue;
    for (std::size_t s = 0; s < block.count; ++s)
      for (std::size_t k = 0; k < span.count; k += lanes) {
        const double* from = pass.side_slopes + kJonesSources<double> * 8 * (i * n_channel + k) + s * 8 * lanes;
        AdjointMatrix slope;
        for (std::size_t e = 0; e < 4; ++e)
          slope.re[e] = hn::Load(d, from + 2 * e * lanes), slope.im[e] = hn::Load(d, from + (2 * e + 1) * lanes);
        pull_side(pass, side, block.begin + s, span.first + k, span.first + span.count, slope, out);
      }
  }
}

/// All sources of the portion on one span.
inline void pull_span(const VaryingPass& pass, const RowGroup& group, const Span& span, double* sums,
                      SourceAdjoints& out) {
  const std::size_t lanes = hn::Lanes(AdjointTag()), n_channel = windows_of(span.count) * kWindowChannels;
  const Sky<double>& sky = pass.rows.sky;
  load_span(pass, group, span);
  for (std::size_t number = pass.portion.block_begin; number < pass.portion.block_end; ++number) {
    const SourceBlock& sources = sky.blocks[number];
    for (std::size_t s = sources.begin; s < sources.end; s += kJonesSources<double>) {
      const Block<double> block{&sky, s, std::min(kJonesSources<double>, sources.end - s), sources.profile};
      fill_sides(pass.rows, group, block, span, true);
      std::fill_n(pass.side_slopes, group.sides.size() * kJonesSources<double> * 8 * n_channel, 0.0);
      const auto pull = pass.rows.jones.targets.any()
                            ? (pass.places ? pull_vector<true, true> : pull_vector<true, false>)
                            : (pass.places ? pull_vector<false, true> : pull_vector<false, false>);
      for (std::size_t i = 0; i < group.n_vector; ++i)
        pull(pass, group, block, sources.extent, span, group.first + group.order[i] * lanes, sums);
      pull_sides(pass, group, block, span, out);
      sums += block.count * kSourceSums * lanes;
    }
  }
}

/// All of a portion. `own.sums` takes what positions and shapes gain.
inline void pull_varying(const ReverseSum& adjoint, const HostSum<double>& rows, const AdjointPortion& portion,
                         AdjointScratch& own, SourceAdjoints& out) {
  const std::size_t lanes = own.lanes;
  const Scratch<double>& to = rows.scratch;
  std::fill_n(to.turned, kMaxLanes * kJonesSources<double> * 2 * kWindowChannels, 0.0);
  std::size_t longest = 1;
  for (const ChannelCut& cut : rows.channels.cut)
    for (const Run& run : cut.runs) longest = std::max(longest, run.count);
  const std::size_t n_side = std::min(kJonesSides, 2 * (portion.row_end - portion.row_begin + lanes));
  ScratchMemory memory;
  double* slopes = nullptr;
  memory.allocate([&](ScratchMemory& cut) {
    cut(slopes, n_side * windows_of(longest) * kWindowChannels * kJonesSources<double> * 8);
  });
  const VaryingPass pass{adjoint, rows,
                         portion, {portion.moving_jones, out.steady_jones.data(), rows.jones.targets.n_moving, 0},
                         slopes,  adjoint.wish.positions || adjoint.wish.shapes};
  RowGroup group;
  for (std::size_t first = portion.row_begin; first < portion.row_end; first = group.last) {
    collect_group(rows, first, portion.row_end, group);
    group.set_order(lanes);
    for_each_span(*group.cut, [&](const Span& span) { pull_span(pass, group, span, own.sums, out); });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::adjoint
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_ADJOINT_VARYING_INL_H_
