// Visibilities of a window of a tile's cells: block of sources after block of sources, sides are made and multiplied;
// then the sums go to the rows. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_MATRIX_SIDES_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_MATRIX_SIDES_TILE_INL_H_
#undef RIMETREE_NODES_PSV_MATRIX_SIDES_TILE_INL_H_
#else
#define RIMETREE_NODES_PSV_MATRIX_SIDES_TILE_INL_H_
#endif

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
    std::fill_n(to_.sum_slope, n_vector_ * tile.n_pair() * numbers_, 0.0);
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
      return for_each_pairs(block, v, [&](const PairBlock& pairs, std::size_t l, std::size_t r) {
        if (out_.values.row != nullptr) add_block(product_at(v), pairs);
        if (moved) add_slopes(pairs, v, l, r);
      });
    if (out_.values.row != nullptr)
      for_each_pairs(block, v,
                     [&](const PairBlock& pairs, std::size_t, std::size_t) { add_block(product_at(v), pairs); });
    for_each_pairs_with_slopes(
        block, v, [&](const PairBlock& pairs, std::size_t l, std::size_t r) { add_slopes(pairs, v, l, r); });
  }
  /// By the product rule what L R changes by is that of L times R, and L times that of R.
  void add_slopes(PairBlock pairs, std::size_t v, std::size_t l, std::size_t r) const {
    const double *left = pairs.left[0], *right = pairs.right[0];
    const double *of_left = left + (to_.left_slope - to_.left), *of_right = right + (to_.right_slope - to_.right);
    pairs.sum = to_.sum_slope + sum_place(v, l, r);
    if (left_moves_ && right_moves_)
      pairs.left = {of_left, left}, pairs.right = {right, of_right};
    else
      (left_moves_ ? pairs.left : pairs.right)[0] = left_moves_ ? of_left : of_right;
    const bool left_off = (left_moves_ && left_slope_off_[v]) || (right_moves_ && left_off_[v]);
    const bool right_off = (left_moves_ && right_off_[v]) || (right_moves_ && right_slope_off_[v]);
    add_block(product_of(left_off, right_off), pairs);
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
