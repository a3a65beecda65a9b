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
    for_each_pairs(block, v, [&](const PairBlock& pairs, std::size_t, std::size_t, bool with_amplitudes) {
      (with_amplitudes ? add_block<true> : add_block<false>)(product_at(v), pairs);
    });
  }

  void store(std::size_t v) const {
    for_each_cell(v, [&](std::int32_t row, std::ptrdiff_t channel, const double* sum) {
      const auto number = [&](std::size_t p) {
        return Complex<double>{sum[2 * p * lanes_], sum[(2 * p + 1) * lanes_]};
      };
      Complex<double> e[4] = {};
      for (std::size_t p = 0; p < shape_.planes.size(); ++p) add_plane(shape_.planes[p], number(p), e);
      if (shape_.planes.empty())
        for (std::size_t p = 0; p < 4; ++p) e[p] = number(p);
      Complex<double>* to = out_.row[row] + channel;
      for (int k = 0; k < 4; ++k) to[k * out_.plane_stride] = e[k];
    });
  }

  const Output& out_;
};

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::matrix
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_MATRIX_SIDES_TILE_INL_H_
