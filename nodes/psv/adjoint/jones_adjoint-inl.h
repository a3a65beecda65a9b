// Jones terms in reverse where they are the same at all channels: what a source's sums over channels are to its Jones
// terms and its brightness, for a vector of rows. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_ADJOINT_JONES_ADJOINT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_ADJOINT_JONES_ADJOINT_INL_H_
#undef RIMETREE_NODES_PSV_ADJOINT_JONES_ADJOINT_INL_H_
#else
#define RIMETREE_NODES_PSV_ADJOINT_JONES_ADJOINT_INL_H_
#endif

#include "nodes/psv/adjoint/adjoint-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::adjoint {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Where a portion's derivatives with respect to Jones terms are (see JonesTargets), and how many rows of a vector add
/// to them.
struct JonesSlopes {
  Complex<double>*moving, *steady;
  std::size_t n_moving, n_row;

  Complex<double>* at(std::ptrdiff_t target) const {
    const auto i = static_cast<std::size_t>(target);
    return i < n_moving ? moving + i : steady + (i - n_moving);
  }
};

using AdjointMatrix = Matrix<AdjointVec>;

/// Whether a side of a pair is a matrix.
inline bool is_matrix(const JonesPair<double>& pair, bool is_q) { return is_q ? pair.q_is_matrix : pair.p_is_matrix; }

/// From the derivatives with respect to a term as a matrix to those with respect to what is stored: a scalar stands for
/// its multiple of the unit matrix, and is element 0.
HWY_INLINE AdjointMatrix as_stored(AdjointMatrix g, bool is_matrix) {
  if (!is_matrix) g.re[0] = hn::Add(g.re[0], g.re[3]), g.im[0] = hn::Add(g.im[0], g.im[3]);
  return g;
}

/// Adds to the derivatives with respect to one term of a source, row by row.
inline HWY_NOINLINE void add_term(const JonesTerms& jones, const LaneRows& rows, int k, bool is_q,
                                  std::ptrdiff_t source, const AdjointMatrix& slope, const JonesSlopes& to) {
  const AdjointTag d;
  HWY_ALIGN double re[4][kMaxLanes], im[4][kMaxLanes];
  for (int e = 0; e < 4; ++e) hn::Store(slope.re[e], d, re[e]), hn::Store(slope.im[e], d, im[e]);
  for (std::size_t lane = 0; lane < to.n_row; ++lane) {
    const JonesPair<double>* pair = jones.pairs + std::ptrdiff_t{rows.baseline[lane]} * jones.n_pair + k;
    const std::ptrdiff_t target = jones.target_of(pair, is_q);
    if (target < 0) continue;
    const auto& views = is_q ? pair->q : pair->p;
    Complex<double>* first = to.at(target) + source * views[0].source + rows.time[lane] * views[0].time;
    for (int e = 0; e < (is_matrix(*pair, is_q) ? 4 : 1); ++e) {
      Complex<double>& z = first[views[e].data - views[0].data];
      z.re += re[e][lane], z.im += im[e][lane];
    }
  }
}

/// From derivatives with respect to the brightness X that a source shows behind its Jones terms to those with respect
/// to these, which are added to `out`, and to its own brightness, which take X's place: pair by pair from the
/// outermost. `planes`: XX XY YX YY, each re, im; `gathered`: as in AdjointScratch.
inline HWY_NOINLINE void pull_through_jones(const Sky<double>& sky, const JonesTerms& jones, const LaneRows& rows,
                                            std::size_t source, const JonesSlopes& out, double* gathered,
                                            AdjointVec* planes) {
  const AdjointTag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto order = static_cast<std::ptrdiff_t>(sky.order[source]);
  for (std::size_t lane = 0; lane < lanes; ++lane)
    for (int k = 0; k < jones.n_pair; ++k) {
      const JonesPair<double>& pair = jones.pairs[std::ptrdiff_t{rows.baseline[lane]} * jones.n_pair + k];
      double* to = gathered + static_cast<std::size_t>(k) * 16 * lanes + lane;
      gather(pair, false, order, rows.time[lane], 0, lanes, to);
      gather(pair, true, order, rows.time[lane], 0, lanes, to + 8 * lanes);
    }
  // Which sides are matrices is the same for all baselines.
  const auto term = [&](int k, bool is_q) HWY_ATTR {
    const double* from = gathered + (static_cast<std::size_t>(2 * k) + (is_q ? 1 : 0)) * 8 * lanes;
    AdjointMatrix a = load_matrix<AdjointVec>(from, lanes, is_matrix(jones.pairs[k], is_q));
    if (!is_matrix(jones.pairs[k], is_q)) a.re[3] = a.re[0], a.im[3] = a.im[0];
    return a;
  };
  AdjointMatrix slope;
  for (int i = 0; i < 4; ++i) slope.re[i] = planes[2 * i], slope.im[i] = planes[2 * i + 1];
  for (int k = jones.n_pair; k-- > 0;) {
    const AdjointMatrix p = term(k, false), q = term(k, true);
    if (jones.targets.any()) {
      AdjointMatrix x;  // what the pair is applied to
      const double* b = &sky.brightness[source * 8];
      for (int i = 0; i < 4; ++i) x.re[i] = hn::Set(d, b[2 * i]), x.im[i] = hn::Set(d, b[2 * i + 1]);
      for (int j = 0; j < k; ++j) x = product(product(term(j, false), x), term(j, true));
      const AdjointMatrix of_p = product(slope, hermitian(product(x, q))),
                          of_q = product(hermitian(product(p, x)), slope);
      add_term(jones, rows, k, false, order, as_stored(of_p, is_matrix(jones.pairs[k], false)), out);
      add_term(jones, rows, k, true, order, as_stored(of_q, is_matrix(jones.pairs[k], true)), out);
    }
    slope = product(product(hermitian(p), slope), hermitian(q));
  }
  for (int i = 0; i < 4; ++i) planes[2 * i] = slope.re[i], planes[2 * i + 1] = slope.im[i];
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::adjoint
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_ADJOINT_JONES_ADJOINT_INL_H_
