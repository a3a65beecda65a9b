// Transposition of square blocks of numbers in vectors. Included once per instruction set.
#if defined(RIMETREE_RUNTIME_MATH_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_RUNTIME_MATH_TRANSPOSE_INL_H_
#undef RIMETREE_RUNTIME_MATH_TRANSPOSE_INL_H_
#else
#define RIMETREE_RUNTIME_MATH_TRANSPOSE_INL_H_
#endif

#include <cstddef>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::vectors {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

template <class D, class V>
HWY_INLINE void transpose(D, V (&)[1]) {}

#else

/// Vectors of one row each to vectors of one column each, within each 128-bit block: of two doubles or four singles.
template <std::size_t kPerBlock, class D, class V>
HWY_INLINE void transpose_within_blocks(D d, V* a) {
  if constexpr (kPerBlock == 2) {
    const V low = hn::InterleaveLower(d, a[0], a[1]);
    a[1] = hn::InterleaveUpper(d, a[0], a[1]);
    a[0] = low;
  } else {
    const V even_low = hn::InterleaveLower(d, a[0], a[2]), odd_low = hn::InterleaveLower(d, a[1], a[3]);
    const V even_high = hn::InterleaveUpper(d, a[0], a[2]), odd_high = hn::InterleaveUpper(d, a[1], a[3]);
    a[0] = hn::InterleaveLower(d, even_low, odd_low);
    a[1] = hn::InterleaveUpper(d, even_low, odd_low);
    a[2] = hn::InterleaveLower(d, even_high, odd_high);
    a[3] = hn::InterleaveUpper(d, even_high, odd_high);
  }
}

/// The same for whole 128-bit blocks, of kBlocks vectors `step` apart.
template <std::size_t kBlocks, class D, class V>
HWY_INLINE void transpose_blocks([[maybe_unused]] D d, [[maybe_unused]] V* a, [[maybe_unused]] std::size_t step) {
  if constexpr (kBlocks == 2) {
    const V low = hn::ConcatLowerLower(d, a[step], a[0]);
    a[step] = hn::ConcatUpperUpper(d, a[step], a[0]);
    a[0] = low;
  } else if constexpr (kBlocks == 4) {
    const V x[4] = {hn::ConcatLowerLower(d, a[2 * step], a[0]), hn::ConcatLowerLower(d, a[3 * step], a[step]),
                    hn::ConcatUpperUpper(d, a[2 * step], a[0]), hn::ConcatUpperUpper(d, a[3 * step], a[step])};
    for (std::size_t i = 0; i < 2; ++i) {
      a[2 * i * step] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(x[2 * i + 1]), x[2 * i]);
      a[(2 * i + 1) * step] = hn::OddEvenBlocks(x[2 * i + 1], hn::SwapAdjacentBlocks(x[2 * i]));
    }
  }
}

/// a[i][j] <-> a[j][i], for as many vectors as they have lanes.
template <std::size_t N, class D, class V>
HWY_INLINE void transpose(D d, V (&a)[N]) {
  constexpr std::size_t kPerBlock = 16 / sizeof(hn::TFromD<D>), kBlocks = N / kPerBlock;
  for (std::size_t i = 0; i < N; i += kPerBlock) transpose_within_blocks<kPerBlock>(d, a + i);
  // Vector i kPerBlock + c now holds columns c, kPerBlock + c .. of rows i kPerBlock and following.
  for (std::size_t c = 0; c < kPerBlock; ++c) transpose_blocks<kBlocks>(d, a + c, kPerBlock);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::vectors
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_RUNTIME_MATH_TRANSPOSE_INL_H_
