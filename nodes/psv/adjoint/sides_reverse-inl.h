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

#include "nodes/psv/adjoint/sides_pull-inl.h"
#include "nodes/psv/matrix/sides_window-inl.h"
#include "nodes/psv/plane_shares.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::adjoint {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace matrix;
using namespace matrix::HWY_NAMESPACE;

class SidesReverse : SidesWindow {
 public:
  SidesReverse(const ReverseSides& job, const SidesTile& tile, std::size_t window, const SidesScratch& scratch,
               SourceAdjoints& gained)
      : SidesWindow(job, tile, window, scratch), reverse_(job), gained_(gained) {}

  void run(std::span<const SideBlock> blocks) {
    for (std::size_t v = 0; v < n_vector_; ++v) load(v);
    for (const SideBlock& block : blocks) {
      fill(block);
      std::fill_n(to_.left_slope, n_vector_ * tile_.n_left * left_end_, 0.0);
      std::fill_n(to_.right_slope, n_vector_ * tile_.n_right * right_end_, 0.0);
      for (std::size_t v = 0; v < n_vector_; ++v) multiply_vector(block, v);
      pull_sides(block);
    }
  }

 private:
  /// Adjoints of the sums, zero where there is no row.
  void load(std::size_t v) {
    const ResultAdjoints& adjoints = reverse_.adjoints;
    bool off = false;
    for_each_cell(v, to_.sum, adjoints, [&](std::int32_t row, std::ptrdiff_t channel, double* sum) {
      Complex<double> e[4];
      for (int k = 0; k < 4; ++k) e[k] = adjoints.row[row][k * adjoints.plane_stride + channel];
      off = off || !(e[1] == Complex<double>() && e[2] == Complex<double>());
      const auto set = [&](std::size_t p, Complex<double> a) {
        sum[2 * p * lanes_] = a.re, sum[(2 * p + 1) * lanes_] = a.im;
      };
      if (shape_.planes.empty())
        for (std::size_t p = 0; p < 4; ++p) set(p, e[p]);
      for (Complex<double>& a : e) a = conj(a);
      for (std::size_t p = 0; p < shape_.planes.size(); ++p) set(p, conj(plane_adjoint(shape_.planes[p], e, 1)));
    });
    diagonal_[v] = !off;
  }

  void multiply_vector(const SideBlock& block, std::size_t v) const {
    for_each_pairs_with_slopes(block, v, [&](const PairBlock& pairs, std::size_t, std::size_t) {
      const PairSlopes slopes{pairs, to_.left_slope + (pairs.left[0] - to_.left),
                              to_.right_slope + (pairs.right[0] - to_.right)};
      (pairs.amplitude != nullptr ? pull_block<true> : pull_block<false>)(product_at(v), diagonal_[v], slopes);
    });
  }

  void pull_sides(const SideBlock& block) const {
    std::int32_t antenna = -1;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      const Task& task = tasks_[i];
      if (end_of(task).antenna != antenna) make_phasors(block, antenna = end_of(task).antenna);
      const SoonGaining soon{reverse_, i + 1 < tasks_.size() ? &chain_of(tasks_[i + 1]) : nullptr, n_vector_ * lanes_};
      for (std::size_t v = 0; v < n_vector_; ++v) pull_end(block, task, v, v == 0 ? soon : SoonGaining{reverse_});
    }
  }
  void pull_end(const SideBlock& block, const Task& task, std::size_t v, const SoonGaining& soon) const {
    const bool right = task.right;
    const double* side = right ? right_of(v, task.end) : left_of(v, task.end);
    const double* slope = right ? to_.right_slope + right_place(v, task.end) : to_.left_slope + left_place(v, task.end);
    const std::size_t numbers = static_cast<std::size_t>(2 * (right ? shape_.n_right() : shape_.n_left())) * lanes_;
    const bool matrices = right ? shape_.right_matrix : shape_.left_has_elements();
    for (std::size_t s = 0; s < block.count; ++s, side += numbers, slope += numbers) {
      const std::size_t source = block.begin + s;
      soon.ask(source, cells_[v], diagonal_[v] && product_at(v) == SidesProduct::kDiagonals);
      if (!gained_.positions.empty()) pull_path(v, right, side, slope, numbers, &gained_.positions[3 * source]);
      const SideNumber k = load_number(phasors_at(v) + 2 * s * lanes_);
      const SidePull at{reverse_, cells_[v], chain_of(task), right, source, right ? k : conj_of(k), gained_};
      matrices ? pull_matrices(at, slope) : pull_scalars(at, slope, shape_.planes);
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

  const ReverseSides& reverse_;
  SourceAdjoints& gained_;
  bool diagonal_[kMostVectors];  ///< all adjoints of the sums
};

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::adjoint
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_ADJOINT_SIDES_REVERSE_INL_H_
