// The innermost loops of the matrix product: a few pairs of ends, whose sums stay in registers while a block of sources
// passes. One for each structure of the sides, with only its own arithmetic. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_MATRIX_SIDES_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_MATRIX_SIDES_PRODUCT_INL_H_
#undef RIMETREE_NODES_PSV_MATRIX_SIDES_PRODUCT_INL_H_
#else
#define RIMETREE_NODES_PSV_MATRIX_SIDES_PRODUCT_INL_H_
#endif

#include "nodes/psv/matrix/sides_fill-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::matrix {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// A block of pairs at one vector of cells.
struct PairBlock {
  std::size_t n_source;
  const double *left, *right;         ///< of the first end of each side
  std::size_t left_end, right_end;    ///< from end to end
  const double* amplitude = nullptr;  ///< [pair of the block][source][lane]
  double* sum;                        ///< of the first pair
  std::size_t sum_left, sum_right;    ///< from end to end
};

/// Complex numbers at the cells.
struct SideNumber {
  SideVector re, im;
};
HWY_INLINE SideNumber load_number(const double* from) {
  const SideTag d;
  return {hn::Load(d, from), hn::Load(d, from + hn::Lanes(d))};
}
HWY_INLINE void add_product(const SideNumber& a, const SideNumber& b, SideNumber& sum) {
  sum.re = hn::MulAdd(a.re, b.re, sum.re);
  sum.im = hn::MulAdd(a.re, b.im, sum.im);
  sum.re = hn::NegMulAdd(a.im, b.im, sum.re);
  sum.im = hn::MulAdd(a.im, b.re, sum.im);
}
HWY_INLINE void add_to(const SideNumber& a, double* sum) {
  const SideTag d;
  const std::size_t lanes = hn::Lanes(d);
  hn::Store(hn::Add(hn::Load(d, sum), a.re), d, sum);
  hn::Store(hn::Add(hn::Load(d, sum + lanes), a.im), d, sum + lanes);
}
/// The right side of a source, times a factor of the pair.
template <bool kAmplitude>
HWY_INLINE SideNumber load_right(const double* from, const double* amplitude) {
  SideNumber y = load_number(from);
  if constexpr (kAmplitude) {
    const SideVector a = hn::Load(SideTag(), amplitude);
    y.re = hn::Mul(y.re, a), y.im = hn::Mul(y.im, a);
  }
  return y;
}

/// N sums whose left sides are numbers of their own, and whose right sides are one.
template <int N, int kRows, int kColumns, bool kAmplitude>
HWY_INLINE void add_scalars(const PairBlock& job) {
  const std::size_t lanes = hn::Lanes(SideTag());
  SideNumber sum[kRows][kColumns][N];
#pragma GCC unroll 2
  for (int l = 0; l < kRows; ++l)
#pragma GCC unroll 2
    for (int r = 0; r < kColumns; ++r)
#pragma GCC unroll 4
      for (int p = 0; p < N; ++p) sum[l][r][p] = {hn::Zero(SideTag()), hn::Zero(SideTag())};
  const double *HWY_RESTRICT left = job.left, *HWY_RESTRICT right = job.right, *HWY_RESTRICT amplitude = job.amplitude;
  for (std::size_t s = 0; s < job.n_source; ++s, left += 2 * N * lanes, right += 2 * lanes) {
    SideNumber y[kColumns];
    if constexpr (!kAmplitude)
#pragma GCC unroll 2
      for (int r = 0; r < kColumns; ++r) y[r] = load_number(right + r * job.right_end);
#pragma GCC unroll 2
    for (int l = 0; l < kRows; ++l) {
      if constexpr (kAmplitude)
#pragma GCC unroll 2
        for (int r = 0; r < kColumns; ++r)
          y[r] =
              load_right<true>(right + r * job.right_end, amplitude + ((l * kColumns + r) * kSideSources + s) * lanes);
#pragma GCC unroll 4
      for (int p = 0; p < N; ++p) {
        const SideNumber x = load_number(left + l * job.left_end + 2 * p * lanes);
#pragma GCC unroll 2
        for (int r = 0; r < kColumns; ++r) add_product(x, y[r], sum[l][r][p]);
      }
    }
  }
#pragma GCC unroll 2
  for (int l = 0; l < kRows; ++l)
#pragma GCC unroll 2
    for (int r = 0; r < kColumns; ++r)
#pragma GCC unroll 4
      for (int p = 0; p < N; ++p) add_to(sum[l][r][p], job.sum + l * job.sum_left + r * job.sum_right + 2 * p * lanes);
}

/// The pair `r` of a block of one row. Matrices on the left; full ones or, as kDiagonal says, diagonal ones on the
/// right.
template <bool kDiagonal, bool kAmplitude>
HWY_INLINE void add_matrices(const PairBlock& job, std::size_t r) {
  const std::size_t lanes = hn::Lanes(SideTag());
  SideNumber sum[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) sum[i] = {hn::Zero(SideTag()), hn::Zero(SideTag())};
  const double *HWY_RESTRICT left = job.left, *HWY_RESTRICT right = job.right + r * job.right_end;
  const double* HWY_RESTRICT amplitude = kAmplitude ? job.amplitude + r * kSideSources * lanes : nullptr;
  for (std::size_t s = 0; s < job.n_source; ++s, left += 8 * lanes, right += 8 * lanes) {
#pragma GCC unroll 2
    for (int k = 0; k < 2; ++k) {
      const SideNumber x[2] = {load_number(left + 2 * k * lanes), load_number(left + (4 + 2 * k) * lanes)};
#pragma GCC unroll 2
      for (int j = 0; j < 2; ++j) {
        if (kDiagonal && j != k) continue;
        const SideNumber y = load_right<kAmplitude>(right + (4 * k + 2 * j) * lanes, amplitude);
        add_product(x[0], y, sum[j]);
        add_product(x[1], y, sum[2 + j]);
      }
    }
    if constexpr (kAmplitude) amplitude += lanes;
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) add_to(sum[i], job.sum + r * job.sum_right + 2 * i * lanes);
}

/// Two pairs, all matrices diagonal.
template <bool kAmplitude>
HWY_INLINE void add_diagonals(const PairBlock& job) {
  const std::size_t lanes = hn::Lanes(SideTag());
  SideNumber sum[2][2];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) sum[i / 2][i % 2] = {hn::Zero(SideTag()), hn::Zero(SideTag())};
  const double *HWY_RESTRICT left = job.left, *HWY_RESTRICT right = job.right;
  for (std::size_t s = 0; s < job.n_source; ++s, left += 8 * lanes, right += 8 * lanes) {
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      const SideNumber x = load_number(left + 6 * i * lanes);
#pragma GCC unroll 2
      for (int r = 0; r < 2; ++r)
        add_product(x,
                    load_right<kAmplitude>(right + r * job.right_end + 6 * i * lanes,
                                           kAmplitude ? job.amplitude + (r * kSideSources + s) * lanes : nullptr),
                    sum[r][i]);
    }
  }
#pragma GCC unroll 2
  for (int r = 0; r < 2; ++r)
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) add_to(sum[r][i], job.sum + r * job.sum_right + 6 * i * lanes);
}

/// How the pairs of a block of sources are multiplied.
enum class SidesProduct { kOnePlane, kTwoPlanes, kFour, kDiagonals, kDiagonalRight, kMatrices };

template <bool kAmplitude>
HWY_NOINLINE void add_block(SidesProduct kind, const PairBlock& job) {
  switch (kind) {
    case SidesProduct::kOnePlane:
      return add_scalars<1, 2, 2, kAmplitude>(job);
    case SidesProduct::kTwoPlanes:
      return add_scalars<2, 1, 2, kAmplitude>(job);
    case SidesProduct::kFour: {
      PairBlock second = job;
      second.right += job.right_end, second.sum += job.sum_right;
      if (kAmplitude) second.amplitude += kSideSources * hn::Lanes(SideTag());
      add_scalars<4, 1, 1, kAmplitude>(job);
      return add_scalars<4, 1, 1, kAmplitude>(second);
    }
    case SidesProduct::kDiagonals:
      return add_diagonals<kAmplitude>(job);
    case SidesProduct::kDiagonalRight:
      add_matrices<true, kAmplitude>(job, 0);
      return add_matrices<true, kAmplitude>(job, 1);
    case SidesProduct::kMatrices:
      add_matrices<false, kAmplitude>(job, 0);
      return add_matrices<false, kAmplitude>(job, 1);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::matrix
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_MATRIX_SIDES_PRODUCT_INL_H_
