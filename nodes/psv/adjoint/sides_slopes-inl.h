// The innermost loops of the matrix product in reverse (sides_reverse-inl.h): a few pairs of ends whose adjoints stay
// in registers while a block of sources passes. One for each structure of the sides. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_ADJOINT_SIDES_SLOPES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_ADJOINT_SIDES_SLOPES_INL_H_
#undef RIMETREE_NODES_PSV_ADJOINT_SIDES_SLOPES_INL_H_
#else
#define RIMETREE_NODES_PSV_ADJOINT_SIDES_SLOPES_INL_H_
#endif

#include "nodes/psv/matrix/sides_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::adjoint {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace matrix;
using namespace matrix::HWY_NAMESPACE;

/// `sum` holds the adjoints of the sums; derivatives with respect to the sides are laid out as these.
struct PairSlopes : PairBlock {
  double *left_slope, *right_slope;
};

HWY_INLINE SideNumber conj_of(const SideNumber& a) { return {a.re, hn::Neg(a.im)}; }
HWY_INLINE SideNumber product_of(SideNumber a, const SideNumber& b) {
  multiply(a.re, a.im, b.re, b.im);
  return a;
}
/// sum += a b^*.
HWY_INLINE void add_conjugate(const SideNumber& a, const SideNumber& b, SideNumber& sum) {
  sum.re = hn::MulAdd(a.re, b.re, sum.re);
  sum.im = hn::MulAdd(a.im, b.re, sum.im);
  sum.re = hn::MulAdd(a.im, b.im, sum.re);
  sum.im = hn::NegMulAdd(a.re, b.im, sum.im);
}
HWY_INLINE void store_number(const SideNumber& a, double* to) {
  const SideTag d;
  hn::Store(a.re, d, to);
  hn::Store(a.im, d, to + hn::Lanes(d));
}
HWY_INLINE Matrix<SideVector> load_elements(const double* from) {
  Matrix<SideVector> a;
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const SideNumber z = load_number(from + 2 * static_cast<std::size_t>(i) * hn::Lanes(SideTag()));
    a.re[i] = z.re, a.im[i] = z.im;
  }
  return a;
}
/// An adjoint times the factor of a source and pair.
template <bool kAmplitude>
HWY_INLINE SideNumber scaled_number(const SideNumber& a, const double* amplitude) {
  if constexpr (!kAmplitude) return a;
  const SideVector by = hn::Load(SideTag(), amplitude);
  return {hn::Mul(a.re, by), hn::Mul(a.im, by)};
}

/// Left sides of N numbers, right sides of one; see add_scalars().
template <int N, int kRows, int kColumns, bool kAmplitude>
HWY_INLINE void pull_scalar_pairs(const PairSlopes& job) {
  const std::size_t lanes = hn::Lanes(SideTag());
  SideNumber a[kRows][kColumns][N];
#pragma GCC unroll 2
  for (int l = 0; l < kRows; ++l)
#pragma GCC unroll 2
    for (int r = 0; r < kColumns; ++r)
#pragma GCC unroll 4
      for (int p = 0; p < N; ++p)
        a[l][r][p] = load_number(job.sum + l * job.sum_left + r * job.sum_right + 2 * p * lanes);
  const double *HWY_RESTRICT left = job.left[0], *HWY_RESTRICT right = job.right[0],
                             *HWY_RESTRICT amplitude = job.amplitude;
  double *HWY_RESTRICT left_slope = job.left_slope, *HWY_RESTRICT right_slope = job.right_slope;
  for (std::size_t s = 0; s < job.n_source; ++s) {
    SideNumber y[kColumns], of_y[kColumns];
#pragma GCC unroll 2
    for (int r = 0; r < kColumns; ++r) {
      y[r] = load_number(right + r * job.right_end);
      of_y[r] = load_number(right_slope + r * job.right_end);
    }
#pragma GCC unroll 2
    for (int l = 0; l < kRows; ++l)
#pragma GCC unroll 4
      for (int p = 0; p < N; ++p) {
        const std::size_t at = l * job.left_end + 2 * p * lanes;
        const SideNumber x = load_number(left + at);
        SideNumber of_x = load_number(left_slope + at);
#pragma GCC unroll 2
        for (int r = 0; r < kColumns; ++r) {
          const SideNumber t =
              scaled_number<kAmplitude>(a[l][r][p], amplitude + ((l * kColumns + r) * kSideSources + s) * lanes);
          add_conjugate(t, y[r], of_x);
          add_conjugate(t, x, of_y[r]);
        }
        store_number(of_x, left_slope + at);
      }
#pragma GCC unroll 2
    for (int r = 0; r < kColumns; ++r) store_number(of_y[r], right_slope + r * job.right_end);
    left += 2 * N * lanes, left_slope += 2 * N * lanes;
    right += 2 * lanes, right_slope += 2 * lanes;
  }
}

/// The pair `r` of a block of one row, matrices on either side; those that are diagonal take no part off the diagonal.
/// Their derivatives there are wanted all the same.
template <bool kDiagonalLeft, bool kDiagonalRight, bool kAmplitude>
HWY_INLINE void pull_matrix_pair(const PairSlopes& job, std::size_t r) {
  const std::size_t lanes = hn::Lanes(SideTag());
  SideNumber a[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) a[i] = load_number(job.sum + r * job.sum_right + 2 * i * lanes);
  const double *HWY_RESTRICT left = job.left[0], *HWY_RESTRICT right = job.right[0] + r * job.right_end;
  double *HWY_RESTRICT left_slope = job.left_slope, *HWY_RESTRICT right_slope = job.right_slope + r * job.right_end;
  const double* HWY_RESTRICT amplitude = kAmplitude ? job.amplitude + r * kSideSources * lanes : nullptr;
  for (std::size_t s = 0; s < job.n_source; ++s) {
    SideNumber t[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) t[i] = scaled_number<kAmplitude>(a[i], amplitude);
#pragma GCC unroll 2
    for (int k = 0; k < 2; ++k) {
      // Column k of A R^H from row k of R.
      SideNumber of_x[2] = {load_number(left_slope + 2 * k * lanes), load_number(left_slope + (4 + 2 * k) * lanes)};
#pragma GCC unroll 2
      for (int j = 0; j < 2; ++j) {
        if (kDiagonalRight && j != k) continue;
        const SideNumber y = load_number(right + (4 * k + 2 * j) * lanes);
        add_conjugate(t[j], y, of_x[0]);
        add_conjugate(t[2 + j], y, of_x[1]);
      }
      store_number(of_x[0], left_slope + 2 * k * lanes);
      store_number(of_x[1], left_slope + (4 + 2 * k) * lanes);
      // Row k of L^H A from column k of L.
      SideNumber of_y[2] = {load_number(right_slope + 4 * k * lanes), load_number(right_slope + (4 * k + 2) * lanes)};
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i) {
        if (kDiagonalLeft && i != k) continue;
        const SideNumber x = load_number(left + (4 * i + 2 * k) * lanes);
        add_conjugate(t[2 * i], x, of_y[0]);
        add_conjugate(t[2 * i + 1], x, of_y[1]);
      }
      store_number(of_y[0], right_slope + 4 * k * lanes);
      store_number(of_y[1], right_slope + (4 * k + 2) * lanes);
    }
    left += 8 * lanes, left_slope += 8 * lanes;
    right += 8 * lanes, right_slope += 8 * lanes;
    if constexpr (kAmplitude) amplitude += lanes;
  }
}

/// Two pairs, all matrices and adjoints diagonal: nothing off the diagonal gains.
template <bool kAmplitude>
HWY_INLINE void pull_diagonal_pairs(const PairSlopes& job) {
  const std::size_t lanes = hn::Lanes(SideTag());
  SideNumber a[2][2];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) a[i / 2][i % 2] = load_number(job.sum + i / 2 * job.sum_right + 6 * (i % 2) * lanes);
  const double *HWY_RESTRICT left = job.left[0], *HWY_RESTRICT right = job.right[0];
  double *HWY_RESTRICT left_slope = job.left_slope, *HWY_RESTRICT right_slope = job.right_slope;
  for (std::size_t s = 0; s < job.n_source; ++s) {
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      const std::size_t at = (8 * s + 6 * static_cast<std::size_t>(i)) * lanes;
      const SideNumber x = load_number(left + at);
      SideNumber of_x = load_number(left_slope + at);
#pragma GCC unroll 2
      for (int r = 0; r < 2; ++r) {
        const std::size_t right_at = at + r * job.right_end;
        const SideNumber t =
            scaled_number<kAmplitude>(a[r][i], kAmplitude ? job.amplitude + (r * kSideSources + s) * lanes : nullptr);
        SideNumber of_y = load_number(right_slope + right_at);
        add_conjugate(t, load_number(right + right_at), of_x);
        add_conjugate(t, x, of_y);
        store_number(of_y, right_slope + right_at);
      }
      store_number(of_x, left_slope + at);
    }
  }
}

template <bool kDiagonalLeft, bool kDiagonalRight, bool kAmplitude>
HWY_INLINE void pull_matrix_pairs(const PairSlopes& job) {
  for (std::size_t r = 0; r < SidesShape::kBlockColumns; ++r)
    pull_matrix_pair<kDiagonalLeft, kDiagonalRight, kAmplitude>(job, r);
}

/// `diagonal`: so are the adjoints.
template <bool kAmplitude>
HWY_NOINLINE void pull_block(SidesProduct kind, bool diagonal, const PairSlopes& job) {
  switch (kind) {
    case SidesProduct::kOnePlane:
      return pull_scalar_pairs<1, 2, 2, kAmplitude>(job);
    case SidesProduct::kTwoPlanes:
      return pull_scalar_pairs<2, 1, 2, kAmplitude>(job);
    case SidesProduct::kFour: {
      PairSlopes second = job;
      second.right[0] += job.right_end, second.right_slope += job.right_end, second.sum += job.sum_right;
      if (kAmplitude) second.amplitude += kSideSources * hn::Lanes(SideTag());
      pull_scalar_pairs<4, 1, 1, kAmplitude>(job);
      return pull_scalar_pairs<4, 1, 1, kAmplitude>(second);
    }
    case SidesProduct::kDiagonals:
      return diagonal ? pull_diagonal_pairs<kAmplitude>(job) : pull_matrix_pairs<true, true, kAmplitude>(job);
    case SidesProduct::kDiagonalRight:
      return pull_matrix_pairs<false, true, kAmplitude>(job);
    case SidesProduct::kMatrices:
      return pull_matrix_pairs<false, false, kAmplitude>(job);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::adjoint
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_ADJOINT_SIDES_SLOPES_INL_H_
