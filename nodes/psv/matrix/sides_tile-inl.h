// A window of a tile's cells: block of sources after block of sources, sides are made and multiplied; then the sums go
// to the rows. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_MATRIX_SIDES_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_MATRIX_SIDES_TILE_INL_H_
#undef RIMETREE_NODES_PSV_MATRIX_SIDES_TILE_INL_H_
#else
#define RIMETREE_NODES_PSV_MATRIX_SIDES_TILE_INL_H_
#endif

#include "nodes/psv/matrix/sides_amplitude-inl.h"
#include "nodes/psv/matrix/sides_product-inl.h"
#include "nodes/psv/plane_shares.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::matrix {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Vectors of cells that are computed together, at the most.
inline constexpr std::size_t kMostVectors = 16;

class SidesWindow {
 public:
  SidesWindow(const SidesSum& job, const SidesTile& tile, std::size_t window, const SidesScratch& scratch)
      : job_(job), tile_(tile), shape_(job.plan.shape), to_(scratch) {
    const std::size_t first = window * shape_.n_vector() * lanes_, n_cell = job.plan.cells(tile, job.of.channels);
    for (std::size_t cell = first; cell < n_cell && n_vector_ < shape_.n_vector(); cell += lanes_)
      cells_[n_vector_++] = cell_vector(job, tile, cell);
    numbers_ = 2 * static_cast<std::size_t>(shape_.n_sum()) * lanes_;
    left_end_ = kSideSources * static_cast<std::size_t>(2 * shape_.n_left()) * lanes_;
    right_end_ = kSideSources * static_cast<std::size_t>(2 * shape_.n_right()) * lanes_;
    std::fill_n(to_.sum, n_vector_ * tile.n_left * tile.n_right * numbers_, 0.0);
    for (std::size_t v = 0; v < n_vector_; ++v) {
      std::fill(left_of(v, tile.left.size()), left_of(v, tile.n_left), 0.0);
      std::fill(right_of(v, tile.right.size()), right_of(v, tile.n_right), 0.0);
    }
  }

  void run() {
    list_tasks();
    for (const SourceBlock& sources : job_.of.sky.blocks)
      for (std::size_t s = sources.begin; s < sources.end; s += kSideSources) {
        const SideBlock block{s, std::min(kSideSources, sources.end - s), sources.profile};
        fill(block);
        for (std::size_t v = 0; v < n_vector_; ++v) multiply_vector(block, v);
      }
    for (std::size_t v = 0; v < n_vector_; ++v) store(v);
  }

 private:
  double* left_of(std::size_t v, std::size_t end) const { return to_.left + (v * tile_.n_left + end) * left_end_; }
  double* right_of(std::size_t v, std::size_t end) const { return to_.right + (v * tile_.n_right + end) * right_end_; }
  double* sum_of(std::size_t v, std::size_t l, std::size_t r) const {
    return to_.sum + ((v * tile_.n_left + l) * tile_.n_right + r) * numbers_;
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
    for (std::size_t v = 0; v < n_vector_; ++v) left_off_[v] = right_off_[v] = false;
    std::int32_t antenna = -1;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (end_of(tasks_[i]).antenna != antenna) make_phasors(block, antenna = end_of(tasks_[i]).antenna);
      SoonNeeded soon{nullptr, block.begin, block.count, n_vector_ * lanes_};
      if (i + 1 < tasks_.size()) soon.chain = &chain_of(tasks_[i + 1]);
      for (std::size_t v = 0; v < n_vector_; ++v, soon.chain = nullptr) fill_end(block, tasks_[i], v, soon);
    }
  }
  void make_phasors(const SideBlock& block, std::int32_t antenna) {
    for (std::size_t v = 0; v < n_vector_; ++v) {
      scale_antenna(job_, tile_, tile_.antenna[static_cast<std::size_t>(antenna)], cells_[v], to_.scaled);
      fill_phasors(job_.of.sky, block.begin, block.count, to_.scaled, to_.phasor + v * kPhasors * lanes_);
    }
  }
  void fill_end(const SideBlock& block, const Task& task, std::size_t v, const SoonNeeded& soon) {
    const SideFill f{job_, cells_[v], block.begin, block.count, to_.phasor + v * kPhasors * lanes_, soon};
    const bool right = task.right;
    double* to = right ? right_of(v, task.end) : left_of(v, task.end);
    if (!(right ? shape_.right_matrix : shape_.left_matrix || shape_.right_matrix))
      return fill_scalars(f, chain_of(task), right, to);
    const SideVector off = fill_matrices(f, chain_of(task), right, to);
    bool& any = right ? right_off_[v] : left_off_[v];
    any = any || !hn::AllTrue(SideTag(), hn::Eq(off, hn::Zero(SideTag())));
  }

  SidesProduct product_at(std::size_t v) const {
    if (!shape_.right_matrix)
      return shape_.n_sum() == 1   ? SidesProduct::kOnePlane
             : shape_.n_sum() == 2 ? SidesProduct::kTwoPlanes
                                   : SidesProduct::kFour;
    if (right_off_[v]) return SidesProduct::kMatrices;
    return left_off_[v] || !shape_.diagonal_brightness ? SidesProduct::kDiagonalRight : SidesProduct::kDiagonals;
  }

  void multiply_vector(const SideBlock& block, std::size_t v) const {
    const SidesProduct kind = product_at(v);
    const bool with_amplitude = job_.plan.smear_time || job_.plan.smear_frequency || block.profile != kPoint;
    for (const auto& [l, r] : tile_.blocks) {
      PairBlock job{block.count,   left_of(v, l),   right_of(v, r),           left_end_, right_end_,
                    to_.amplitude, sum_of(v, l, r), tile_.n_right * numbers_, numbers_};
      if (!with_amplitude) {
        add_block<false>(kind, job);
        continue;
      }
      double* amplitude = to_.amplitude;
      for (std::size_t i = l; i < l + shape_.block_rows(); ++i)
        for (std::size_t j = r; j < r + SidesShape::kBlockColumns; ++j, amplitude += kSideSources * lanes_)
          fill_amplitudes(job_, tile_, cells_[v], block, i, j, amplitude);
      add_block<true>(kind, job);
    }
  }

  void store(std::size_t v) const {
    for (std::size_t l = 0; l < tile_.left.size(); ++l)
      for (std::size_t r = 0; r < tile_.right.size(); ++r)
        for (std::size_t i = 0; i < cells_[v].n_valid; ++i) {
          const std::int32_t row = tile_.row_at(static_cast<std::size_t>(cells_[v].layer[i]), l, r);
          if (row < 0) continue;
          Complex<double> e[4] = {};
          const double* sum = sum_of(v, l, r) + i;
          const auto number = [&](std::size_t p) {
            return Complex<double>{sum[2 * p * lanes_], sum[(2 * p + 1) * lanes_]};
          };
          for (std::size_t p = 0; p < shape_.planes.size(); ++p) add_plane(shape_.planes[p], number(p), e);
          if (shape_.planes.empty())
            for (std::size_t p = 0; p < 4; ++p) e[p] = number(p);
          Complex<double>* to = job_.out.row[row] + cells_[v].channel[i];
          for (int k = 0; k < 4; ++k) to[k * job_.out.plane_stride] = e[k];
        }
  }

  static constexpr std::size_t kPhasors = 2 * kSideSources;

  const SidesSum& job_;
  const SidesTile& tile_;
  const SidesShape& shape_;
  const SidesScratch& to_;
  const std::size_t lanes_ = hn::Lanes(SideTag());
  std::vector<Task> tasks_;
  std::size_t n_vector_ = 0, numbers_ = 0, left_end_ = 0, right_end_ = 0;
  CellVector cells_[kMostVectors];
  bool left_off_[kMostVectors], right_off_[kMostVectors];
};

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::matrix
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_MATRIX_SIDES_TILE_INL_H_
