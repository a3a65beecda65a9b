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

#include <map>

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
      : SidesWindow(job, tile, window, scratch, kParts), reverse_(job), gained_(gained) {
    find_pairs();
  }

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
  /// A block of pairs of ends.
  struct Pairs {
    std::size_t left, right;  ///< the first ends
    PairSet wanted;
    std::vector<EndGroup> groups[2][2];  ///< [side][numbers of an end that gain, less one]
  };
  void find_pairs() {
    const std::size_t n = reverse_ends(shape_);
    std::map<std::pair<std::size_t, std::size_t>, PairSet> wanted;
    for (const auto& [l, r] : tile_.blocks)
      for (std::size_t i = l; i < l + shape_.block_rows(); ++i)
        for (std::size_t j = r; j < r + SidesShape::kBlockColumns; ++j)
          wanted[{i / n * n, j / n * n}].set(i % n * kReverseEnds + j % n);
    for (const auto& [first, set] : wanted) {
      Pairs& pairs = pairs_.emplace_back(Pairs{first.first, first.second, set, {}});
      for (const std::size_t right : {0, 1})
        for (const std::size_t gain : {1, 2})
          pairs.groups[right][gain - 1] = groups_of(set, right != 0, static_cast<std::size_t>(kGaining) / gain);
    }
  }

  /// Adjoints of the sums, conjugate, zero where there is no row.
  void load(std::size_t v) {
    const ResultAdjoints& adjoints = reverse_.adjoints;
    bool off = false;
    for_each_cell(v, to_.sum, adjoints, [&](std::int32_t row, std::ptrdiff_t channel, double* sum) {
      Complex<double> e[4];
      for (int k = 0; k < 4; ++k) e[k] = adjoints.row[row][k * adjoints.plane_stride + channel];
      off = off || !(e[1] == Complex<double>() && e[2] == Complex<double>());
      const auto set = [&](std::size_t p, Complex<double> a) {
        const double parts[] = {a.re, a.im, a.re + a.im};
        for (std::size_t i = 0; i < kParts; ++i) sum[(kParts * p + i) * lanes_] = parts[i];
      };
      for (Complex<double>& a : e) a = conj(a);
      if (shape_.planes.empty())
        for (std::size_t p = 0; p < 4; ++p) set(p, e[p]);
      for (std::size_t p = 0; p < shape_.planes.size(); ++p) set(p, plane_adjoint(shape_.planes[p], e, 1));
    });
    diagonal_[v] = !off;
  }

  void multiply_vector(const SideBlock& block, std::size_t v) const {
    const SidesProduct kind = product_at(v);
    const int n_plane = static_cast<int>(shape_.right_matrix ? 0 : shape_.n_sum());
    const std::vector<Gain> gains[] = {gains_of(kind, false, diagonal_[v], n_plane),
                                       gains_of(kind, true, diagonal_[v], n_plane)};
    for (const Pairs& pairs : pairs_) {
      const bool extended = with_amplitude(block);
      if (extended) make_amplitudes(block, v, pairs);
      const ReversePairs job{
          block.count,
          {left_of(v, pairs.left), right_of(v, pairs.right)},
          {to_.left_slope + left_place(v, pairs.left), to_.right_slope + right_place(v, pairs.right)},
          {left_end_, right_end_},
          to_.sum + sum_place(v, pairs.left, pairs.right),
          {tile_.pair_row() * numbers_, numbers_},
          to_.amplitude};
      for (const std::size_t right : {0, 1})
        for (const Gain& gain : gains[right])
          for (const EndGroup& group : pairs.groups[right][gain.n - 1])
            extended ? pull_gain<true>(job, right != 0, gain, group) : pull_gain<false>(job, right != 0, gain, group);
    }
  }
  template <bool kAmplitude>
  static void pull_gain(const ReversePairs& job, bool right, const Gain& gain, const EndGroup& group) {
    gain.n == 1 ? add_gain<1, kAmplitude>(job, right, gain, group) : add_gain<2, kAmplitude>(job, right, gain, group);
  }
  /// Zero where groups of ends bring pairs together that nobody wants: of no adjoint, but memory may hold what is no
  /// number.
  void make_amplitudes(const SideBlock& block, std::size_t v, const Pairs& pairs) const {
    for (std::size_t i = 0; i < kReverseEnds * reverse_ends(shape_); ++i) {
      double* to = to_.amplitude + i * kSideSources * lanes_;
      if (pairs.wanted[i])
        fill_amplitudes(job_, tile_, cells_[v], block, pairs.left + i / kReverseEnds, pairs.right + i % kReverseEnds,
                        to);
      else
        std::fill_n(to, block.count * lanes_, 0.0);
    }
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
  std::vector<Pairs> pairs_;
  bool diagonal_[kMostVectors];  ///< all adjoints of the sums
};

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::adjoint
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_ADJOINT_SIDES_REVERSE_INL_H_
