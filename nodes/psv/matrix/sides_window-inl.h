// The sides of a window of a tile's cells, for a block of sources at a time. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_MATRIX_SIDES_WINDOW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_MATRIX_SIDES_WINDOW_INL_H_
#undef RIMETREE_NODES_PSV_MATRIX_SIDES_WINDOW_INL_H_
#else
#define RIMETREE_NODES_PSV_MATRIX_SIDES_WINDOW_INL_H_
#endif

#include "nodes/psv/matrix/sides_amplitude-inl.h"
#include "nodes/psv/matrix/sides_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::matrix {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Vectors of cells that are computed together, at the most.
inline constexpr std::size_t kMostVectors = 16;

/// Sources whose sides, with what these change by or gain, are in the first-level cache together.
inline constexpr std::size_t kSlopeSources = 8;

class SidesWindow {
 protected:
  /// `parts`: real numbers that stand for a sum.
  SidesWindow(const SidesProblem& job, const SidesTile& tile, std::size_t window, const SidesScratch& scratch,
              std::size_t parts = 2)
      : job_(job), tile_(tile), shape_(job.plan.shape), to_(scratch) {
    const std::size_t first = window * shape_.n_vector() * lanes_, n_cell = job.plan.cells(tile, job.of.channels);
    for (std::size_t cell = first; cell < n_cell && n_vector_ < shape_.n_vector(); cell += lanes_)
      cells_[n_vector_++] = cell_vector(job, tile, cell);
    numbers_ = parts * static_cast<std::size_t>(shape_.n_sum()) * lanes_;
    left_end_ = kEndRoom * static_cast<std::size_t>(2 * shape_.n_left()) * lanes_;
    right_end_ = kEndRoom * static_cast<std::size_t>(2 * shape_.n_right()) * lanes_;
    std::fill_n(to_.sum, n_vector_ * tile.n_pair() * numbers_, 0.0);
    for (std::size_t v = 0; v < n_vector_; ++v) {
      std::fill(left_of(v, tile.left.size()), left_of(v, tile.n_left), 0.0);
      std::fill(right_of(v, tile.right.size()), right_of(v, tile.n_right), 0.0);
    }
    list_tasks();
  }

  std::size_t left_place(std::size_t v, std::size_t end) const { return (v * tile_.n_left + end) * left_end_; }
  std::size_t right_place(std::size_t v, std::size_t end) const { return (v * tile_.n_right + end) * right_end_; }
  double* left_of(std::size_t v, std::size_t end) const { return to_.left + left_place(v, end); }
  double* right_of(std::size_t v, std::size_t end) const { return to_.right + right_place(v, end); }
  std::size_t sum_place(std::size_t v, std::size_t l, std::size_t r) const {
    return (v * tile_.n_pair() + l * tile_.pair_row() + r) * numbers_;
  }

  /// An end whose sides are to be made.
  struct Task {
    bool right;
    std::size_t end;
  };
  /// In the order of antennas, so that each one's phasors are made once.
  void list_tasks() {
    for (const bool right : {false, true}) {
      const std::vector<AntennaEnd>& ends = right ? tile_.right : tile_.left;
      for (std::size_t e = 0; e < ends.size(); ++e) tasks_.push_back({right, e});
    }
    std::stable_sort(tasks_.begin(), tasks_.end(),
                     [this](const Task& a, const Task& b) { return end_of(a).antenna < end_of(b).antenna; });
  }
  const AntennaEnd& end_of(const Task& task) const { return (task.right ? tile_.right : tile_.left)[task.end]; }
  const JonesChains::Chain& chain_of(const Task& task) const {
    return job_.plan.jones.of(task.right).chains[static_cast<std::size_t>(end_of(task).chain)];
  }

  void fill(const SideBlock& block) {
    for (std::size_t v = 0; v < n_vector_; ++v)
      left_off_[v] = right_off_[v] = left_slope_off_[v] = right_slope_off_[v] = false;
    std::int32_t antenna = -1;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (end_of(tasks_[i]).antenna != antenna) make_phasors(block, antenna = end_of(tasks_[i]).antenna);
      SoonNeeded soon{nullptr, block.begin, block.count, n_vector_ * lanes_};
      if (i + 1 < tasks_.size()) soon.chain = &chain_of(tasks_[i + 1]);
      for (std::size_t v = 0; v < n_vector_; ++v, soon.chain = nullptr) fill_end(block, tasks_[i], v, soon);
    }
  }
  double* scaled_at(std::size_t v) const { return to_.scaled + 6 * v * lanes_; }
  double* phasors_at(std::size_t v) const { return to_.phasor + 2 * kSideSources * v * lanes_; }
  void make_phasors(const SideBlock& block, std::int32_t antenna) const {
    for (std::size_t v = 0; v < n_vector_; ++v) {
      scale_antenna(job_, tile_, tile_.antenna[static_cast<std::size_t>(antenna)], cells_[v], scaled_at(v));
      fill_phasors(job_.of.sky, block.begin, block.count, scaled_at(v), phasors_at(v));
    }
  }
  void fill_end(const SideBlock& block, const Task& task, std::size_t v, const SoonNeeded& soon) {
    SideFill f{job_, cells_[v], block.begin, block.count, phasors_at(v), soon};
    const bool right = task.right;
    fill_side(f, task, right ? right_of(v, task.end) : left_of(v, task.end), right ? right_off_[v] : left_off_[v]);
    if (!(right ? right_moves_ : left_moves_)) return;
    f.tangent = true, f.soon.chain = nullptr;
    fill_side(f, task, right ? to_.right_slope + right_place(v, task.end) : to_.left_slope + left_place(v, task.end),
              right ? right_slope_off_[v] : left_slope_off_[v]);
  }
  void fill_side(const SideFill& f, const Task& task, double* to, bool& any_off) const {
    if (!(task.right ? shape_.right_matrix : shape_.left_has_elements()))
      return fill_scalars(f, chain_of(task), task.right, to);
    const SideVector off = fill_matrices(f, chain_of(task), task.right, to);
    any_off = any_off || !hn::AllTrue(SideTag(), hn::Eq(off, hn::Zero(SideTag())));
  }

  SidesProduct product_at(std::size_t v) const { return product_of(left_off_[v], right_off_[v]); }
  /// Of sides some of which are not diagonal.
  SidesProduct product_of(bool left_off, bool right_off) const {
    if (!shape_.right_matrix)
      return shape_.n_sum() == 1   ? SidesProduct::kOnePlane
             : shape_.n_sum() == 2 ? SidesProduct::kTwoPlanes
                                   : SidesProduct::kFour;
    if (right_off) return SidesProduct::kMatrices;
    return left_off || !shape_.diagonal_brightness ? SidesProduct::kDiagonalRight : SidesProduct::kDiagonals;
  }

  bool with_amplitude(const SideBlock& block) const {
    return job_.plan.smear_time || job_.plan.smear_frequency || block.profile != kPoint;
  }
  /// Those of the pairs of a block, one after the other.
  void make_amplitudes(const SideBlock& block, std::size_t v, std::size_t l, std::size_t r) const {
    double* to = to_.amplitude;
    for (std::size_t i = l; i < l + shape_.block_rows(); ++i)
      for (std::size_t j = r; j < r + SidesShape::kBlockColumns; ++j, to += kSideSources * lanes_)
        fill_amplitudes(job_, tile_, cells_[v], block, i, j, to);
  }

  /// Calls f(pairs, first left end, first right end) for each block of pairs at a vector of cells.
  template <class F>
  HWY_INLINE void for_each_pairs(const SideBlock& block, std::size_t v, const F& f) const {
    const double* amplitude = with_amplitude(block) ? to_.amplitude : nullptr;
    for (const auto& [l, r] : tile_.blocks) {
      if (amplitude != nullptr) make_amplitudes(block, v, l, r);
      f(PairBlock{block.count,
                  {left_of(v, l)},
                  {right_of(v, r)},
                  left_end_,
                  right_end_,
                  amplitude,
                  to_.sum + sum_place(v, l, r),
                  tile_.pair_row() * numbers_,
                  numbers_},
        l, r);
    }
  }
  /// The same for a few sources after the other, such that their sides and as much again stay in the caches.
  template <class F>
  HWY_INLINE void for_each_pairs_with_slopes(const SideBlock& block, std::size_t v, const F& f) const {
    for (std::size_t s = 0; s < block.count; s += kSlopeSources) {
      const SideBlock some{block.begin + s, std::min(kSlopeSources, block.count - s), block.profile};
      for_each_pairs(some, v, [&](PairBlock pairs, std::size_t l, std::size_t r) {
        pairs.left[0] += s * static_cast<std::size_t>(2 * shape_.n_left()) * lanes_;
        pairs.right[0] += s * static_cast<std::size_t>(2 * shape_.n_right()) * lanes_;
        f(pairs, l, r);
      });
    }
  }
  /// Calls f(row, channel, sums of the lane) for each cell of a vector at which pairs have a row. `of_rows` are these
  /// rows' planes, asked for a few rows early: each is a place of its own in memory.
  template <class Planes, class F>
  HWY_INLINE void for_each_cell(std::size_t v, double* sums, const Planes& of_rows, const F& f) const {
    constexpr std::size_t kRowsEarly = 4;
    const CellVector& cells = cells_[v];
    const auto layer = static_cast<std::size_t>(cells.layer[0]);
    for (std::size_t l = 0; l < tile_.left.size(); ++l)
      for (std::size_t r = 0; r < tile_.right.size(); ++r) {
        if (const std::int32_t row = tile_.row_at(layer, l, r + kRowsEarly); row >= 0)
          for (std::size_t i = 0; i < 4 * lanes_; i += kPerLine)
            __builtin_prefetch(of_rows.row[row] + static_cast<std::ptrdiff_t>(i / lanes_) * of_rows.plane_stride +
                               cells.channel[i % lanes_]);
        for (std::size_t i = 0; i < cells.n_valid; ++i)
          if (const std::int32_t row = tile_.row_at(static_cast<std::size_t>(cells.layer[i]), l, r); row >= 0)
            f(row, cells.channel[i], sums + sum_place(v, l, r) + i);
      }
  }

  const SidesProblem& job_;
  const SidesTile& tile_;
  const SidesShape& shape_;
  const SidesScratch& to_;
  const std::size_t lanes_ = hn::Lanes(SideTag());
  std::vector<Task> tasks_;
  std::size_t n_vector_ = 0, numbers_ = 0, left_end_ = 0, right_end_ = 0;
  CellVector cells_[kMostVectors];
  bool left_off_[kMostVectors], right_off_[kMostVectors];
  bool left_moves_ = false, right_moves_ = false;  ///< what sides change by is made, too
  bool left_slope_off_[kMostVectors], right_slope_off_[kMostVectors];
};

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::matrix
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_MATRIX_SIDES_WINDOW_INL_H_
