// Derivatives with respect to one side of a source, taken through its phasor and terms: the reverse of
// matrix/sides_fill-inl.h. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_ADJOINT_SIDES_PULL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_ADJOINT_SIDES_PULL_INL_H_
#undef RIMETREE_NODES_PSV_ADJOINT_SIDES_PULL_INL_H_
#else
#define RIMETREE_NODES_PSV_ADJOINT_SIDES_PULL_INL_H_
#endif

#include "nodes/psv/adjoint/sides_reverse.h"
#include "nodes/psv/adjoint/sides_slopes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::adjoint {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace matrix;
using namespace matrix::HWY_NAMESPACE;

/// to[i] += a at the cells, whose places are `time` and `channel` numbers apart.
HWY_INLINE void add_cells(const SideNumber& a, const CellVector& cells, std::ptrdiff_t time, std::ptrdiff_t channel,
                          Complex<double>* to) {
  const SideTag d;
  if ((cells.one_layer || time == 0) && channel == 0) {
    to += cells.time[0] * time;  // lanes beyond the last cell are zero
    to->re += hn::GetLane(hn::SumOfLanes(d, a.re)), to->im += hn::GetLane(hn::SumOfLanes(d, a.im));
  } else if (cells.in_a_row && channel == 1) {
    double* first = &to[cells.time[0] * time + cells.channel[0]].re;
    SideVector r, i;
    hn::LoadInterleaved2(d, first, r, i);
    hn::StoreInterleaved2(hn::Add(r, a.re), hn::Add(i, a.im), d, first);
  } else {
    HWY_ALIGN double part[2][kMaxLanes];
    hn::Store(a.re, d, part[0]), hn::Store(a.im, d, part[1]);
    for (std::size_t k = 0; k < std::min(cells.n_valid, hn::Lanes(d)); ++k)
      to[cells.time[k] * time + cells.channel[k] * channel] += Complex<double>{part[0][k], part[1][k]};
  }
}
/// The same of real numbers.
HWY_INLINE void add_cells(const SideNumber& a, const CellVector& cells, std::ptrdiff_t time, std::ptrdiff_t channel,
                          double* to) {
  const SideTag d;
  if (cells.in_a_row && channel == 1) {
    double* first = to + cells.time[0] * time + cells.channel[0];
    hn::StoreU(hn::Add(hn::LoadU(d, first), a.re), d, first);
    return;
  }
  HWY_ALIGN double part[kMaxLanes];
  hn::Store(a.re, d, part);
  for (std::size_t k = 0; k < std::min(cells.n_valid, hn::Lanes(d)); ++k)
    to[cells.time[k] * time + cells.channel[k] * channel] += part[k];
}

/// Where the terms of a side gain soon: asked for early, as for terms that are read (SoonNeeded).
struct SoonGaining {
  const ReverseSides& job;
  const JonesChains::Chain* chain = nullptr;
  std::size_t n_cell = 0;  ///< cells in a row

  /// For a source of the packed sky; the elements on the diagonal alone, or all.
  HWY_INLINE void ask(std::size_t source, const CellVector& cells, bool diagonal) const {
    if (chain == nullptr || !job.at_once) return;
    for (const JonesFactor& factor : *chain)
      for (int e = 0; e < (factor.is_matrix ? 4 : 1); e += diagonal ? 3 : 1) {
        const Strided<Complex<double>>& view = factor.view[e];
        if (factor.target < 0 || !view || view.channel != 1) continue;
        const std::ptrdiff_t first = (view.data - factor.view[0].data) +
                                     static_cast<std::ptrdiff_t>(job.of.sky.order[source]) * view.source +
                                     cells.time[0] * view.time + cells.channel[0];
        const TermSlopes& to = factor.slopes;
        for (std::size_t k = 0; k < n_cell; k += kPerLine)
          __builtin_prefetch(to.complex != nullptr ? static_cast<void*>(to.complex + first + k) : to.real + first + k,
                             1);
      }
  }
};

/// A side of one source at a vector of cells, and where what it is made of gains.
struct SidePull {
  const ReverseSides& job;
  const CellVector& cells;
  const JonesChains::Chain& chain;
  bool right;
  std::size_t source;
  /// From derivatives with respect to the side to those without its phasor, which the right has conjugate.
  SideNumber turn;
  SourceAdjoints& to;

  std::ptrdiff_t order() const { return static_cast<std::ptrdiff_t>(job.of.sky.order[source]); }
  HWY_INLINE Matrix<SideVector> matrix(std::size_t k) const {
    return finite_part(load_factor(chain[k], order(), cells));
  }
  HWY_INLINE SideNumber scalar(std::size_t k) const {
    SideNumber z;
    load_scalar(chain[k], order(), cells, z.re, z.im);
    return {finite_part(z.re), finite_part(z.im)};
  }
  HWY_INLINE void add_weight(int element, const SideNumber& slope) const {
    const std::size_t n_channel = job.of.sky.n_weight_channel;
    auto* weights = reinterpret_cast<Complex<double>*>(to.weights.data());  // [source][channel][XX XY YX YY]
    add_cells(slope, cells, 0, n_channel > 1 ? 4 : 0, weights + 4 * source * n_channel + element);
  }
  HWY_INLINE void add_element(std::size_t k, int e, SideNumber slope) const {
    const bool of_original = chain[k].slopes.of_original;
    const bool elsewhere = chain[k].is_transposed && !of_original && (e == 1 || e == 2);
    if (of_original) slope = conj_of(slope);
    const Strided<Complex<double>>& view = chain[k].view[elsewhere ? 3 - e : e];
    const std::ptrdiff_t first = (view.data - chain[k].view[0].data) + order() * view.source;
    const TermSlopes term = job.at_once ? chain[k].slopes : to.of_term(chain[k].target);
    term.complex != nullptr ? add_cells(slope, cells, view.time, view.channel, term.complex + first)
                            : add_cells(slope, cells, view.time, view.channel, term.real + first);
  }
  /// A scalar stands for its multiple of the unit matrix. Zeros change nothing: memory is left alone, and it is what
  /// limits.
  HWY_INLINE void add_term(std::size_t k, Matrix<SideVector> slope) const {
    const bool is_matrix = chain[k].is_matrix;
    if (!is_matrix) slope.re[0] = hn::Add(slope.re[0], slope.re[3]), slope.im[0] = hn::Add(slope.im[0], slope.im[3]);
    const SideVector zero = hn::Zero(SideTag());
    for (int e = 0; e < (is_matrix ? 4 : 1); ++e)
      if (!hn::AllTrue(SideTag(), hn::And(hn::Eq(slope.re[e], zero), hn::Eq(slope.im[e], zero))))
        add_element(k, e, {slope.re[e], slope.im[e]});
  }
};

inline void pull_matrices(const SidePull& at, const double* slopes) {
  Matrix<SideVector> slope = load_elements(slopes);
  scale(slope, at.turn.re, at.turn.im);
  for (std::size_t k = at.chain.size(); k-- > 0;) {
    if (at.chain[k].target >= 0) {
      // The product of what stands between this term and the visibility's other side.
      Matrix<SideVector> of_term = slope;
      if (k == 0 && !at.right && at.job.plan.shape.unpolarised) {
        const Matrix<SideVector> b = load_brightness(at.job, at.source, at.cells);
        scale(of_term, b.re[0], hn::Neg(b.im[0]));
      } else if (k > 0 || !at.right) {
        Matrix<SideVector> inner = at.right ? at.matrix(0) : load_brightness(at.job, at.source, at.cells);
        for (std::size_t j = at.right ? 1 : 0; j < k; ++j)
          inner = at.right ? product(inner, at.matrix(j)) : product(at.matrix(j), inner);
        of_term = at.right ? product(hermitian(inner), slope) : product(slope, hermitian(inner));
      }
      at.add_term(k, of_term);
    }
    if (at.right && k == 0) return;
    const Matrix<SideVector> outer = hermitian(at.matrix(k));
    slope = at.right ? product(slope, outer) : product(outer, slope);
  }
  if (at.to.weights.empty()) return;
  for (int e = 0; e < 4; ++e) at.add_weight(e, {slope.re[e], slope.im[e]});
}

/// Of all scalars of a left side together, from the sums of weighted planes or of the brightness's elements; adds what
/// the latter gains.
HWY_INLINE SideNumber slope_of_left(const SidePull& at, const double* slopes, std::span<const Plane> planes) {
  const SideTag d;
  const std::size_t number = 2 * hn::Lanes(d);
  SideNumber slope = {hn::Zero(d), hn::Zero(d)};
  for (std::size_t p = 0; p < planes.size(); ++p) {
    const SideNumber a = load_number(slopes + p * number);
    const SideVector by = weights_at(at.job, at.source, p, at.cells);
    slope.re = hn::MulAdd(a.re, by, slope.re), slope.im = hn::MulAdd(a.im, by, slope.im);
  }
  if (!planes.empty()) return slope;
  const Matrix<SideVector> b = load_brightness(at.job, at.source, at.cells);
  SideNumber x = {hn::Set(d, 1.0), hn::Zero(d)};
  for (std::size_t k = 0; k < at.chain.size(); ++k) x = product_of(x, at.scalar(k));
  for (int e = 0; e < 4; ++e) {
    const SideNumber a = load_number(slopes + static_cast<std::size_t>(e) * number);
    add_conjugate(a, {b.re[e], b.im[e]}, slope);
    if (at.to.weights.empty()) continue;
    SideNumber of_b = {hn::Zero(d), hn::Zero(d)};
    add_conjugate(product_of(a, at.turn), x, of_b);
    at.add_weight(e, of_b);
  }
  return slope;
}

/// The product of the terms stands on the right alone, on the left with weights or brightness.
inline void pull_scalars(const SidePull& at, const double* slopes, std::span<const Plane> planes) {
  const SideNumber of_product = at.right ? load_number(slopes) : slope_of_left(at, slopes, planes);
  const SideNumber slope = product_of(of_product, at.turn);
  for (std::size_t k = 0; k < at.chain.size(); ++k) {
    if (at.chain[k].target < 0) continue;
    SideNumber of_term = slope;
    for (std::size_t j = 0; j < at.chain.size(); ++j)
      if (j != k) of_term = product_of(of_term, conj_of(at.scalar(j)));
    at.add_element(k, 0, of_term);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::adjoint
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_ADJOINT_SIDES_PULL_INL_H_
