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
      : SidesWindow(job, tile, window, scratch), out_(job.out) {}

  void run() {
    for (const SourceBlock& sources : job_.of.sky.blocks)
      for (std::size_t s = sources.begin; s < sources.end; s += kSideSources) {
        const SideBlock block{s, std::min(kSideSources, sources.end - s), sources.profile};
        fill(block);
        for (std::size_t v = 0; v < n_vector_; ++v) multiply_vector(block, v);
      }
    for (std::size_t v = 0; v < n_vector_; ++v) store(v);
  }

 private:
  void multiply_vector(const SideBlock& block, std::size_t v) const {
    const SidesProduct kind = product_at(v);
    const bool with_amplitudes = with_amplitude(block);
    for (const auto& [l, r] : tile_.blocks) {
      const PairBlock pairs{block.count,   left_of(v, l),   right_of(v, r),           left_end_, right_end_,
                            to_.amplitude, sum_of(v, l, r), tile_.n_right * numbers_, numbers_};
      if (with_amplitudes) make_amplitudes(block, v, l, r);
      with_amplitudes ? add_block<true>(kind, pairs) : add_block<false>(kind, pairs);
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
          Complex<double>* to = out_.row[row] + cells_[v].channel[i];
          for (int k = 0; k < 4; ++k) to[k * out_.plane_stride] = e[k];
        }
  }

  const Output& out_;
};

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::matrix
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_MATRIX_SIDES_TILE_INL_H_
