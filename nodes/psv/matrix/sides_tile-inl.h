// Visibilities of a window of a tile's cells: block of sources after block of sources, sides are made and multiplied;
// then the sums go to the rows. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_MATRIX_SIDES_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_MATRIX_SIDES_TILE_INL_H_
#undef RIMETREE_NODES_PSV_MATRIX_SIDES_TILE_INL_H_
#else
#define RIMETREE_NODES_PSV_MATRIX_SIDES_TILE_INL_H_
#endif

#include "nodes/psv/matrix/sides_moved-inl.h"
#include "nodes/psv/matrix/sides_window-inl.h"
#include "nodes/psv/plane_shares.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::matrix {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

class SidesForward : SidesWindow {
 public:
  SidesForward(const SidesSum& job, const SidesTile& tile, std::size_t window, const SidesScratch& scratch)
      : SidesWindow(job, tile, window, scratch), out_(job.out) {
    if (out_.slopes.row == nullptr) return;
    left_moves_ = job.plan.left_moves, right_moves_ = job.plan.right_moves;
    std::fill_n(to_.sum_slope, n_vector_ * tile.n_left * tile.n_right * numbers_, 0.0);
    for (std::size_t v = 0; v < n_vector_; ++v) {
      std::fill(to_.left_slope + left_place(v, tile.left.size()), to_.left_slope + left_place(v, tile.n_left), 0.0);
      std::fill(to_.right_slope + right_place(v, tile.right.size()), to_.right_slope + right_place(v, tile.n_right),
                0.0);
    }
  }

  void run() {
    for (const SideBlock& block : side_blocks(job_.of.sky)) {
      fill(block);
      for (std::size_t v = 0; v < n_vector_; ++v) multiply_vector(block, v);
    }
    for (std::size_t v = 0; v < n_vector_; ++v) {
      if (out_.values.row != nullptr) store(v, to_.sum, out_.values);
      if (out_.slopes.row != nullptr) store(v, to_.sum_slope, out_.slopes);
    }
  }

 private:
  void multiply_vector(const SideBlock& block, std::size_t v) const {
    const bool moved = left_moves_ || right_moves_;
    // Factors of pairs are made once. Else values and slopes pass one after the other, as their sides together would
    // not stay in the first-level cache.
    if (with_amplitude(block) || !moved)
      return for_each_pairs(block, v, [&](const PairBlock& pairs, std::size_t l, std::size_t r, bool with_amplitudes) {
        if (out_.values.row != nullptr) add_values(pairs, v, with_amplitudes);
        if (moved) add_slopes(pairs, v, l, r, with_amplitudes);
      });
    if (out_.values.row != nullptr)
      for_each_pairs(block, v,
                     [&](const PairBlock& pairs, std::size_t, std::size_t, bool) { add_values(pairs, v, false); });
    for_each_pairs_with_slopes(block, v, [&](const PairBlock& pairs, std::size_t l, std::size_t r, bool) {
      add_slopes(pairs, v, l, r, false);
    });
  }
  void add_values(const PairBlock& pairs, std::size_t v, bool with_amplitudes) const {
    (with_amplitudes ? add_block<true> : add_block<false>)(product_at(v), pairs);
  }
  /// By the product rule what L R changes by is that of L times R, and L times that of R.
  void add_slopes(const PairBlock& pairs, std::size_t v, std::size_t l, std::size_t r, bool with_amplitudes) const {
    MovedBlock moved{pairs, pairs.left + (to_.left_slope - to_.left), pairs.right + (to_.right_slope - to_.right)};
    moved.sum = to_.sum_slope + sum_place(v, l, r);
    if (left_moves_ && right_moves_)
      return (with_amplitudes ? add_moved_block<true> : add_moved_block<false>)(moved_product_at(v), moved);
    (left_moves_ ? moved.left : moved.right) = left_moves_ ? moved.left_slope : moved.right_slope;
    (with_amplitudes ? add_block<true> : add_block<false>)(left_moves_ ? product_of(left_slope_off_[v], right_off_[v])
                                                                       : product_of(left_off_[v], right_slope_off_[v]),
                                                           moved);
  }
  SidesProduct moved_product_at(std::size_t v) const {
    return product_of(left_off_[v] || left_slope_off_[v], right_off_[v] || right_slope_off_[v]);
  }

  void store(std::size_t v, double* sums, const Output& out) const {
    for_each_cell(v, sums, out, [&](std::int32_t row, std::ptrdiff_t channel, const double* sum) {
      const auto number = [&](std::size_t p) {
        return Complex<double>{sum[2 * p * lanes_], sum[(2 * p + 1) * lanes_]};
      };
      Complex<double> e[4] = {};
      for (std::size_t p = 0; p < shape_.planes.size(); ++p) add_plane(shape_.planes[p], number(p), e);
      if (shape_.planes.empty())
        for (std::size_t p = 0; p < 4; ++p) e[p] = number(p);
      Complex<double>* to = out.row[row] + channel;
      for (int k = 0; k < 4; ++k) to[k * out.plane_stride] = e[k];
    });
  }

  const SidesOutput& out_;
};

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::matrix
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_MATRIX_SIDES_TILE_INL_H_
