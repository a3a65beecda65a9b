// The innermost loops of what the matrix product changes by along an unknown, dL R + L dR: both products at once, and
// each product of complex numbers by three of real ones instead of four,
//   x = ar br, y = ai bi, z = (ar + ai) (br + bi):  re = x - y, im = z - x - y,
// where x, y and z are summed up over sources before they are put together. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_MATRIX_SIDES_MOVED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_MATRIX_SIDES_MOVED_INL_H_
#undef RIMETREE_NODES_PSV_MATRIX_SIDES_MOVED_INL_H_
#else
#define RIMETREE_NODES_PSV_MATRIX_SIDES_MOVED_INL_H_
#endif

#include "nodes/psv/matrix/sides_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::matrix {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// What the sides of a block of pairs change by lies as these do.
struct MovedBlock : PairBlock {
  const double *left_slope, *right_slope;
};

/// Of a complex number, or of sums of products.
struct ThreeParts {
  SideVector re, im, both;
};
/// Keeps a number in a register: compilers would rather read it again for each product, and reading is what limits.
HWY_INLINE void hold(SideVector& x) {
#if HWY_ARCH_X86 && (HWY_COMPILER_GCC || HWY_COMPILER_CLANG)
  asm("" : "+v"(x.raw));
#else
  (void)x;
#endif
}
HWY_INLINE ThreeParts parts_of(const SideNumber& a) {
  ThreeParts parts{a.re, a.im, a.re};
  hold(parts.re), hold(parts.im);
  parts.both = hn::Add(parts.re, parts.im);
  return parts;
}
HWY_INLINE ThreeParts no_parts() {
  const SideVector zero = hn::Zero(SideTag());
  return {zero, zero, zero};
}
HWY_INLINE void add_product(const ThreeParts& a, const ThreeParts& b, ThreeParts& sum) {
  sum.re = hn::MulAdd(a.re, b.re, sum.re);
  sum.im = hn::MulAdd(a.im, b.im, sum.im);
  sum.both = hn::MulAdd(a.both, b.both, sum.both);
}
HWY_INLINE void add_to(const ThreeParts& a, double* sum) {
  add_to(SideNumber{hn::Sub(a.re, a.im), hn::Sub(hn::Sub(a.both, a.re), a.im)}, sum);
}

/// See add_scalars().
template <int N, int kRows, int kColumns, bool kAmplitude>
HWY_INLINE void add_moved_scalars(const MovedBlock& job) {
  const std::size_t lanes = hn::Lanes(SideTag());
  ThreeParts sum[kRows][kColumns][N];
#pragma GCC unroll 2
  for (int l = 0; l < kRows; ++l)
#pragma GCC unroll 2
    for (int r = 0; r < kColumns; ++r)
#pragma GCC unroll 4
      for (int p = 0; p < N; ++p) sum[l][r][p] = no_parts();
  for (std::size_t s = 0; s < job.n_source; ++s) {
    const std::size_t left = 2 * N * lanes * s, right = 2 * lanes * s;
    ThreeParts y[kColumns], of_y[kColumns];
#pragma GCC unroll 2
    for (int l = 0; l < kRows; ++l) {
      if (l == 0 || kAmplitude)
#pragma GCC unroll 2
        for (int r = 0; r < kColumns; ++r) {
          const double* amplitude =
              kAmplitude ? job.amplitude + ((l * kColumns + r) * kSideSources + s) * lanes : nullptr;
          y[r] = parts_of(load_right<kAmplitude>(job.right + right + r * job.right_end, amplitude));
          of_y[r] = parts_of(load_right<kAmplitude>(job.right_slope + right + r * job.right_end, amplitude));
        }
#pragma GCC unroll 4
      for (int p = 0; p < N; ++p) {
        const std::size_t at = left + l * job.left_end + 2 * p * lanes;
        const ThreeParts x = parts_of(load_number(job.left + at)), of_x = parts_of(load_number(job.left_slope + at));
#pragma GCC unroll 2
        for (int r = 0; r < kColumns; ++r) {
          add_product(of_x, y[r], sum[l][r][p]);
          add_product(x, of_y[r], sum[l][r][p]);
        }
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

/// The pair `r` of a block of one row, full matrices on either side.
template <bool kAmplitude>
HWY_INLINE void add_moved_matrices(const MovedBlock& job, std::size_t r) {
  const std::size_t lanes = hn::Lanes(SideTag());
  ThreeParts sum[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) sum[i] = no_parts();
  for (std::size_t s = 0; s < job.n_source; ++s) {
    const std::size_t at = 8 * lanes * s, right_at = at + r * job.right_end;
    const double* amplitude = kAmplitude ? job.amplitude + (r * kSideSources + s) * lanes : nullptr;
#pragma GCC unroll 2
    for (int k = 0; k < 2; ++k)
#pragma GCC unroll 2
      for (int slope_of_right = 0; slope_of_right < 2; ++slope_of_right) {
        const double* left = (slope_of_right ? job.left : job.left_slope) + at;
        const double* right = (slope_of_right ? job.right_slope : job.right) + right_at;
        const ThreeParts x[2] = {parts_of(load_number(left + 2 * k * lanes)),
                                 parts_of(load_number(left + (4 + 2 * k) * lanes))};
#pragma GCC unroll 2
        for (int j = 0; j < 2; ++j) {
          const ThreeParts y = parts_of(load_right<kAmplitude>(right + (4 * k + 2 * j) * lanes, amplitude));
          add_product(x[0], y, sum[j]);
          add_product(x[1], y, sum[2 + j]);
        }
      }
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) add_to(sum[i], job.sum + r * job.sum_right + 2 * i * lanes);
}

/// The element `i` on the diagonal of two pairs.
template <bool kAmplitude>
HWY_INLINE void add_moved_diagonals(const MovedBlock& job) {
  const std::size_t lanes = hn::Lanes(SideTag());
  ThreeParts sum[2][2];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) sum[i / 2][i % 2] = no_parts();
  for (std::size_t s = 0; s < job.n_source; ++s)
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      const std::size_t at = (8 * s + 6 * static_cast<std::size_t>(i)) * lanes;
      const ThreeParts x = parts_of(load_number(job.left + at)), of_x = parts_of(load_number(job.left_slope + at));
#pragma GCC unroll 2
      for (int r = 0; r < 2; ++r) {
        const double* amplitude = kAmplitude ? job.amplitude + (r * kSideSources + s) * lanes : nullptr;
        const std::size_t right = at + r * job.right_end;
        add_product(of_x, parts_of(load_right<kAmplitude>(job.right + right, amplitude)), sum[r][i]);
        add_product(x, parts_of(load_right<kAmplitude>(job.right_slope + right, amplitude)), sum[r][i]);
      }
    }
#pragma GCC unroll 2
  for (int r = 0; r < 2; ++r)
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) add_to(sum[r][i], job.sum + r * job.sum_right + 6 * i * lanes);
}

/// What the products of a block change by, where both sides do.
template <bool kAmplitude>
HWY_NOINLINE void add_moved_block(SidesProduct kind, const MovedBlock& job) {
  switch (kind) {
    case SidesProduct::kOnePlane:
      return add_moved_scalars<1, 2, 2, kAmplitude>(job);
    case SidesProduct::kTwoPlanes:
      return add_moved_scalars<2, 1, 2, kAmplitude>(job);
    case SidesProduct::kFour: {
      MovedBlock second = job;
      second.right += job.right_end, second.right_slope += job.right_end, second.sum += job.sum_right;
      if (kAmplitude) second.amplitude += kSideSources * hn::Lanes(SideTag());
      add_moved_scalars<4, 1, 1, kAmplitude>(job);
      return add_moved_scalars<4, 1, 1, kAmplitude>(second);
    }
    case SidesProduct::kDiagonals:
      return add_moved_diagonals<kAmplitude>(job);
    case SidesProduct::kDiagonalRight:
    case SidesProduct::kMatrices:
      add_moved_matrices<kAmplitude>(job, 0);
      return add_moved_matrices<kAmplitude>(job, 1);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::matrix
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_MATRIX_SIDES_MOVED_INL_H_
