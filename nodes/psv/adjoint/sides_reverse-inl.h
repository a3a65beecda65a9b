// The matrix product over sources in reverse. A visibility is V_pq = sum_s a L_p R_q with the sides of a source and a
// real factor a of the pair. With its adjoint A
//   dL/dL_p = sum_q a A R_q^H,  dL/dR_q = sum_p a L_p^H A,
// which are matrix products, too. They are taken through phasors and terms once for each side, not for each baseline:
// a phase that an antenna's path adds to its sides is worth Im tr(L_p^H dL/dL_p) and -Im tr(R_q^H dL/dR_q).
// Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_ADJOINT_SIDES_REVERSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_ADJOINT_SIDES_REVERSE_INL_H_
#undef RIMETREE_NODES_PSV_ADJOINT_SIDES_REVERSE_INL_H_
#else
#define RIMETREE_NODES_PSV_ADJOINT_SIDES_REVERSE_INL_H_
#endif

#include "nodes/psv/adjoint/sides_reverse.h"
#include "nodes/psv/adjoint/sides_slopes-inl.h"
#include "nodes/psv/matrix/sides_window-inl.h"
#include "nodes/psv/plane_shares.h"

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

class SidesReverse : SidesWindow {
 public:
  SidesReverse(const ReverseSides& job, const SidesTile& tile, std::size_t window, const SidesScratch& scratch)
      : SidesWindow(job, tile, window, scratch), reverse_(job) {}

  void run(std::span<const SideBlock> blocks, const SidesGain& gain) {
    for (std::size_t v = 0; v < n_vector_; ++v) load(v);
    for (const SideBlock& block : blocks) {
      fill(block);
      std::fill_n(to_.left_slope, n_vector_ * tile_.n_left * left_end_, 0.0);
      std::fill_n(to_.right_slope, n_vector_ * tile_.n_right * right_end_, 0.0);
      for (std::size_t v = 0; v < n_vector_; ++v) multiply_vector(block, v);
      pull_sides(block, gain);
    }
  }

 private:
  /// Adjoints of the sums, zero where there is no row.
  void load(std::size_t v) const {
    const ResultAdjoints& adjoints = reverse_.adjoints;
    for (std::size_t l = 0; l < tile_.left.size(); ++l)
      for (std::size_t r = 0; r < tile_.right.size(); ++r)
        for (std::size_t i = 0; i < cells_[v].n_valid; ++i) {
          const std::int32_t row = tile_.row_at(static_cast<std::size_t>(cells_[v].layer[i]), l, r);
          if (row < 0) continue;
          Complex<double> e[4];
          for (int k = 0; k < 4; ++k) e[k] = adjoints.row[row][k * adjoints.plane_stride + cells_[v].channel[i]];
          double* sum = sum_of(v, l, r) + i;
          const auto set = [&](std::size_t p, Complex<double> a) {
            sum[2 * p * lanes_] = a.re, sum[(2 * p + 1) * lanes_] = a.im;
          };
          if (shape_.planes.empty())
            for (std::size_t p = 0; p < 4; ++p) set(p, e[p]);
          for (Complex<double>& a : e) a = conj(a);
          for (std::size_t p = 0; p < shape_.planes.size(); ++p) set(p, conj(plane_adjoint(shape_.planes[p], e, 1)));
        }
  }

  void multiply_vector(const SideBlock& block, std::size_t v) const {
    const SidesProduct kind = product_at(v);
    const bool with_amplitudes = with_amplitude(block);
    for (const auto& [l, r] : tile_.blocks) {
      const PairSlopes pairs{{block.count, left_of(v, l), right_of(v, r), left_end_, right_end_, to_.amplitude,
                              sum_of(v, l, r), tile_.n_right * numbers_, numbers_},
                             to_.left_slope + left_place(v, l),
                             to_.right_slope + right_place(v, r)};
      if (with_amplitudes) make_amplitudes(block, v, l, r);
      with_amplitudes ? pull_block<true>(kind, pairs) : pull_block<false>(kind, pairs);
    }
  }

  void pull_sides(const SideBlock& block, const SidesGain& gain) const {
    std::int32_t antenna = -1;
    for (const Task& task : tasks_) {
      if (end_of(task).antenna != antenna) make_phasors(block, antenna = end_of(task).antenna);
      for (std::size_t v = 0; v < n_vector_; ++v) pull_end(block, task, v, gain);
    }
  }
  void pull_end(const SideBlock& block, const Task& task, std::size_t v, const SidesGain& gain) const {
    const bool right = task.right;
    const double* side = right ? right_of(v, task.end) : left_of(v, task.end);
    const double* slope = right ? to_.right_slope + right_place(v, task.end) : to_.left_slope + left_place(v, task.end);
    const std::size_t numbers = static_cast<std::size_t>(2 * (right ? shape_.n_right() : shape_.n_left())) * lanes_;
    const bool matrices = right ? shape_.right_matrix : shape_.left_has_elements();
    for (std::size_t s = 0; s < block.count; ++s, side += numbers, slope += numbers) {
      const std::size_t source = block.begin + s;
      if (gain.positions != nullptr) pull_path(v, right, side, slope, numbers, gain.positions + 3 * source);
      const double* phasor = phasors_at(v) + 2 * s * lanes_;
      const SideNumber k = {hn::Load(SideTag(), phasor), hn::Load(SideTag(), phasor + lanes_)};
      // From the derivatives with respect to the side to those without its phasor, which the right has conjugate.
      const SideNumber turn = right ? k : conj_of(k);
      matrices ? pull_matrices(chain_of(task), right, source, v, slope, turn, gain)
               : pull_scalars(chain_of(task), right, source, v, slope, turn, gain);
    }
  }

  /// What the direction of a source gains by the path of an end.
  HWY_INLINE void pull_path(std::size_t v, bool right, const double* side, const double* slope, std::size_t numbers,
                            double* position) const {
    const SideTag d;
    SideVector turned = hn::Zero(d);
    for (std::size_t i = 0; i < numbers; i += 2 * lanes_) {
      const SideNumber z = load_number(side + i), a = load_number(slope + i);
      turned = hn::MulAdd(a.im, z.re, hn::NegMulAdd(a.re, z.im, turned));
    }
    for (std::size_t i = 0; i < 3; ++i) {
      const double sum = hn::GetLane(hn::SumOfLanes(d, hn::Mul(turned, hn::Load(d, scaled_at(v) + 2 * i * lanes_))));
      position[i] += (right ? -2 : 2) * kPi * sum;
    }
  }

  HWY_INLINE Matrix<SideVector> term(const JonesFactor& factor, std::ptrdiff_t order, std::size_t v) const {
    return finite_part(load_factor(factor, order, cells_[v]));
  }
  HWY_INLINE SideNumber scalar(const JonesFactor& factor, std::ptrdiff_t order, std::size_t v) const {
    SideNumber z;
    load_scalar(factor, order, cells_[v], z.re, z.im);
    return {finite_part(z.re), finite_part(z.im)};
  }

  void pull_matrices(const JonesChains::Chain& chain, bool right, std::size_t source, std::size_t v,
                     const double* slopes, const SideNumber& turn, const SidesGain& gain) const {
    const auto order = static_cast<std::ptrdiff_t>(job_.of.sky.order[source]);
    Matrix<SideVector> slope = load_elements(slopes);
    scale(slope, turn.re, turn.im);
    for (std::size_t k = chain.size(); k-- > 0;) {
      const JonesFactor& factor = chain[k];
      if (factor.target >= 0) {
        // The product of what stands between this term and the visibility's other side.
        Matrix<SideVector> of_term = slope;
        if (k > 0 || !right) {
          Matrix<SideVector> inner = right ? term(chain[0], order, v) : load_brightness(job_, source, cells_[v]);
          for (std::size_t j = right ? 1 : 0; j < k; ++j)
            inner = right ? product(inner, term(chain[j], order, v)) : product(term(chain[j], order, v), inner);
          of_term = right ? product(hermitian(inner), slope) : product(slope, hermitian(inner));
        }
        add_term(factor, order, v, of_term, gain);
      }
      if (right && k == 0) return;
      const Matrix<SideVector> outer = hermitian(term(factor, order, v));
      slope = right ? product(slope, outer) : product(outer, slope);
    }
    if (gain.weights == nullptr) return;
    for (int e = 0; e < 4; ++e) add_weight(source, v, e, {slope.re[e], slope.im[e]}, gain);
  }

  /// A scalar stands for its multiple of the unit matrix.
  HWY_INLINE void add_term(const JonesFactor& factor, std::ptrdiff_t order, std::size_t v, Matrix<SideVector> slope,
                           const SidesGain& gain) const {
    if (!factor.is_matrix)
      slope.re[0] = hn::Add(slope.re[0], slope.re[3]), slope.im[0] = hn::Add(slope.im[0], slope.im[3]);
    for (int e = 0; e < (factor.is_matrix ? 4 : 1); ++e)
      add_element(factor, order, v, e, {slope.re[e], slope.im[e]}, gain);
  }
  HWY_INLINE void add_element(const JonesFactor& factor, std::ptrdiff_t order, std::size_t v, int e,
                              const SideNumber& slope, const SidesGain& gain) const {
    const Strided<Complex<double>>& view = factor.view[e];
    const std::ptrdiff_t first = (view.data - factor.view[0].data) + order * view.source;
    const TermSlopes to = gain.of(factor);
    to.complex != nullptr ? add_cells(slope, cells_[v], view.time, view.channel, to.complex + first)
                          : add_cells(slope, cells_[v], view.time, view.channel, to.real + first);
  }
  HWY_INLINE void add_weight(std::size_t source, std::size_t v, int element, const SideNumber& slope,
                             const SidesGain& gain) const {
    const std::size_t n_channel = job_.of.sky.n_weight_channel;
    add_cells(slope, cells_[v], 0, n_channel > 1 ? 4 : 0, gain.weights + 4 * source * n_channel + element);
  }

  void pull_scalars(const JonesChains::Chain& chain, bool right, std::size_t source, std::size_t v,
                    const double* slopes, const SideNumber& turn, const SidesGain& gain) const {
    const SideTag d;
    const auto order = static_cast<std::ptrdiff_t>(job_.of.sky.order[source]);
    // Of all terms together: their product x stands on the right alone, on the left with weights or brightness.
    SideNumber slope = {hn::Zero(d), hn::Zero(d)};
    if (right) {
      slope = load_number(slopes);
    } else if (const std::size_t n_plane = shape_.planes.size(); n_plane > 0) {
      for (std::size_t p = 0; p < n_plane; ++p) {
        const SideNumber a = load_number(slopes + 2 * p * lanes_);
        const SideVector by = weights_at(job_, source, p, cells_[v]);
        slope.re = hn::MulAdd(a.re, by, slope.re), slope.im = hn::MulAdd(a.im, by, slope.im);
      }
    } else {
      const Matrix<SideVector> b = load_brightness(job_, source, cells_[v]);
      SideNumber x = {hn::Set(d, 1.0), hn::Zero(d)};
      for (const JonesFactor& factor : chain) x = product_of(x, scalar(factor, order, v));
      for (int e = 0; e < 4; ++e) {
        const SideNumber a = load_number(slopes + 2 * e * lanes_);
        add_conjugate(a, {b.re[e], b.im[e]}, slope);
        if (gain.weights == nullptr) continue;
        SideNumber of_b = {hn::Zero(d), hn::Zero(d)};
        add_conjugate(product_of(a, turn), x, of_b);
        add_weight(source, v, e, of_b, gain);
      }
    }
    slope = product_of(slope, turn);
    for (std::size_t k = 0; k < chain.size(); ++k) {
      if (chain[k].target < 0) continue;
      SideNumber of_term = slope;
      for (std::size_t j = 0; j < chain.size(); ++j)
        if (j != k) of_term = product_of(of_term, conj_of(scalar(chain[j], order, v)));
      add_element(chain[k], order, v, 0, of_term, gain);
    }
  }

  const ReverseSides& reverse_;
};

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::adjoint
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_ADJOINT_SIDES_REVERSE_INL_H_
