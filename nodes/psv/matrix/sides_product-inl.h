// The innermost loops of the matrix product: a few pairs of ends, whose sums stay in registers while a block of sources
// passes. One for each structure of the sides, with only its own arithmetic. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_MATRIX_SIDES_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_MATRIX_SIDES_PRODUCT_INL_H_
#undef RIMETREE_NODES_PSV_MATRIX_SIDES_PRODUCT_INL_H_
#else
#define RIMETREE_NODES_PSV_MATRIX_SIDES_PRODUCT_INL_H_
#endif

#include <array>

#include "nodes/psv/matrix/sides_fill-inl.h"
#include "nodes/psv/registers-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::matrix {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// A block of pairs at one vector of cells, which gains the product of its sides or, where there is a second product,
/// the sum of both: by the product rule L R changes by dL R + L dR.
struct PairBlock {
  std::size_t n_source;
  std::array<const double*, 2> left, right;  ///< of the first end of each side, of one product or of two
  std::size_t left_end, right_end;           ///< from end to end
  const double* amplitude = nullptr;         ///< [pair of the block][source][lane]
  double* sum;                               ///< of the first pair
  std::size_t sum_left, sum_right;           ///< from end to end
};

/// Complex numbers at the cells.
struct SideNumber {
  SideVector re, im;
};
HWY_INLINE SideNumber load_number(const double* from) {
  const SideTag d;
  return {hn::Load(d, from), hn::Load(d, from + hn::Lanes(d))};
}
HWY_INLINE void add_to(const SideNumber& a, double* sum) {
  const SideTag d;
  const std::size_t lanes = hn::Lanes(d);
  hn::Store(hn::Add(hn::Load(d, sum), a.re), d, sum);
  hn::Store(hn::Add(hn::Load(d, sum + lanes), a.im), d, sum + lanes);
}

/// A product of complex numbers by three of real ones instead of four,
///   x = ar br, y = ai bi, z = (ar + ai) (br + bi):  re = x - y, im = z - x - y,
/// where x, y and z are summed up over sources before they are put together.
struct ThreeParts {
  SideVector re, im, both;
};
HWY_INLINE void add_product(const ThreeParts& a, const ThreeParts& b, ThreeParts& sum) {
  sum.re = hn::MulAdd(a.re, b.re, sum.re);
  sum.im = hn::MulAdd(a.im, b.im, sum.im);
  sum.both = hn::MulAdd(a.both, b.both, sum.both);
}
HWY_INLINE void add_to(const ThreeParts& a, double* sum) {
  add_to(SideNumber{hn::Sub(a.re, a.im), hn::Sub(hn::Sub(a.both, a.re), a.im)}, sum);
}

HWY_INLINE void add_product(const SideNumber& a, const SideNumber& b, SideNumber& sum) {
  sum.re = hn::MulAdd(a.re, b.re, sum.re);
  sum.im = hn::MulAdd(a.re, b.im, sum.im);
  sum.re = hn::NegMulAdd(a.im, b.im, sum.re);
  sum.im = hn::MulAdd(a.im, b.re, sum.im);
}

/// Sums of three parts and what they are made of want more than 16 registers.
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
using Factor = SideNumber;
#else
using Factor = ThreeParts;
#endif
HWY_INLINE void assign(const SideNumber& a, SideNumber& to) { to = a; }
HWY_INLINE void assign(const SideNumber& a, ThreeParts& to) { to = {a.re, a.im, hn::Add(a.re, a.im)}; }
HWY_INLINE Factor factor_of(SideNumber a) {
  keep_in_register(a.re), keep_in_register(a.im);
  Factor factor;
  assign(a, factor);
  return factor;
}
/// The right side of a source, times a factor of the pair.
template <bool kAmplitude>
HWY_INLINE Factor load_right(const double* from, const double* amplitude) {
  SideNumber y = load_number(from);
  if constexpr (kAmplitude) {
    const SideVector a = hn::Load(SideTag(), amplitude);
    y.re = hn::Mul(y.re, a), y.im = hn::Mul(y.im, a);
  }
  return factor_of(y);
}
HWY_INLINE Factor load_left(const double* from) { return factor_of(load_number(from)); }
HWY_INLINE void clear(Factor& sum) { assign({hn::Zero(SideTag()), hn::Zero(SideTag())}, sum); }

/// N sums whose left sides are numbers of their own, and whose right sides are one.
template <int kProducts, bool kAmplitude, int N, int kRows, int kColumns>
HWY_INLINE void add_scalars(const PairBlock& job) {
  const std::size_t lanes = hn::Lanes(SideTag());
  Factor sum[kRows][kColumns][N];
#pragma GCC unroll 2
  for (int l = 0; l < kRows; ++l)
#pragma GCC unroll 2
    for (int r = 0; r < kColumns; ++r)
#pragma GCC unroll 4
      for (int p = 0; p < N; ++p) clear(sum[l][r][p]);
  for (std::size_t s = 0; s < job.n_source; ++s) {
#pragma GCC unroll 2
    for (int product = 0; product < kProducts; ++product) {
      const double *left = job.left[product] + 2 * N * lanes * s, *right = job.right[product] + 2 * lanes * s;
      Factor y[kColumns];
#pragma GCC unroll 2
      for (int l = 0; l < kRows; ++l) {
        if (l == 0 || kAmplitude)
#pragma GCC unroll 2
          for (int r = 0; r < kColumns; ++r)
            y[r] = load_right<kAmplitude>(
                right + r * job.right_end,
                kAmplitude ? job.amplitude + ((l * kColumns + r) * kSideSources + s) * lanes : nullptr);
#pragma GCC unroll 4
        for (int p = 0; p < N; ++p) {
          const Factor x = load_left(left + l * job.left_end + 2 * p * lanes);
#pragma GCC unroll 2
          for (int r = 0; r < kColumns; ++r) add_product(x, y[r], sum[l][r][p]);
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

/// The pair `r` of a block of one row. Matrices on the left; full ones or, as kDiagonal says, diagonal ones on the
/// right.
template <int kProducts, bool kAmplitude, bool kDiagonal>
HWY_INLINE void add_matrices(const PairBlock& job, std::size_t r) {
  const std::size_t lanes = hn::Lanes(SideTag());
  Factor sum[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) clear(sum[i]);
  for (std::size_t s = 0; s < job.n_source; ++s) {
    const double* amplitude = kAmplitude ? job.amplitude + (r * kSideSources + s) * lanes : nullptr;
#pragma GCC unroll 2
    for (int product = 0; product < kProducts; ++product) {
      const double *left = job.left[product] + 8 * lanes * s,
                   *right = job.right[product] + r * job.right_end + 8 * lanes * s;
#pragma GCC unroll 2
      for (int k = 0; k < 2; ++k) {
        const Factor x[2] = {load_left(left + 2 * k * lanes), load_left(left + (4 + 2 * k) * lanes)};
#pragma GCC unroll 2
        for (int j = 0; j < 2; ++j) {
          if (kDiagonal && j != k) continue;
          const Factor y = load_right<kAmplitude>(right + (4 * k + 2 * j) * lanes, amplitude);
          add_product(x[0], y, sum[j]);
          add_product(x[1], y, sum[2 + j]);
        }
      }
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) add_to(sum[i], job.sum + r * job.sum_right + 2 * i * lanes);
}

/// Two pairs, all matrices diagonal.
template <int kProducts, bool kAmplitude>
HWY_INLINE void add_diagonals(const PairBlock& job) {
  const std::size_t lanes = hn::Lanes(SideTag());
  Factor sum[2][2];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) clear(sum[i / 2][i % 2]);
  for (std::size_t s = 0; s < job.n_source; ++s) {
#pragma GCC unroll 2
    for (int product = 0; product < kProducts; ++product)
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i) {
        const std::size_t at = (8 * s + 6 * static_cast<std::size_t>(i)) * lanes;
        const Factor x = load_left(job.left[product] + at);
#pragma GCC unroll 2
        for (int r = 0; r < 2; ++r)
          add_product(x,
                      load_right<kAmplitude>(job.right[product] + r * job.right_end + at,
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

template <int kProducts, bool kAmplitude>
HWY_NOINLINE void add_products(SidesProduct kind, const PairBlock& job) {
  switch (kind) {
    case SidesProduct::kOnePlane:
      return add_scalars<kProducts, kAmplitude, 1, 2, 2>(job);
    case SidesProduct::kTwoPlanes:
      return add_scalars<kProducts, kAmplitude, 2, 1, 2>(job);
    case SidesProduct::kFour: {
      PairBlock second = job;
      for (const double*& right : second.right) right += job.right_end;
      second.sum += job.sum_right;
      if (kAmplitude) second.amplitude += kSideSources * hn::Lanes(SideTag());
      add_scalars<kProducts, kAmplitude, 4, 1, 1>(job);
      return add_scalars<kProducts, kAmplitude, 4, 1, 1>(second);
    }
    case SidesProduct::kDiagonals:
      return add_diagonals<kProducts, kAmplitude>(job);
    case SidesProduct::kDiagonalRight:
      add_matrices<kProducts, kAmplitude, true>(job, 0);
      return add_matrices<kProducts, kAmplitude, true>(job, 1);
    case SidesProduct::kMatrices:
      add_matrices<kProducts, kAmplitude, false>(job, 0);
      return add_matrices<kProducts, kAmplitude, false>(job, 1);
  }
}

/// One product or two, as the block says.
inline void add_block(SidesProduct kind, const PairBlock& job) {
  const bool two = job.left[1] != nullptr;
  if (job.amplitude != nullptr) return two ? add_products<2, true>(kind, job) : add_products<1, true>(kind, job);
  two ? add_products<2, false>(kind, job) : add_products<1, false>(kind, job);
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::matrix
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_MATRIX_SIDES_PRODUCT_INL_H_
