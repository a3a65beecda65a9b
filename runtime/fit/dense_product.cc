// Blocks of both matrices are copied such that they are read in order and stay in caches, and a tile of the result
// stays in registers while it is summed (Goto & van de Geijn 2008, ACM Trans. Math. Softw. 34, 12).
#include "runtime/fit/dense_product.h"

#include <algorithm>
#include <vector>

#include "runtime/math/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/fit/dense_product.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::fit {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::ScalableTag<double>;
using Vector = hn::Vec<Doubles>;

constexpr std::size_t kLanes = hn::MaxLanes(Doubles());
// A tile of the result: 12 sums, 3 numbers of a and one of b fill 16 registers; there are 32 with AVX-512.
constexpr std::size_t kVectors = 3, kColumns = HWY_TARGET <= HWY_AVX3 ? 8 : 4, kRows = kVectors * kLanes;
// What is copied of a and of b: for the second and the third cache.
constexpr std::size_t kDepth = 256, kRowsAtOnce = kRows * 12, kColumnsAtOnce = kColumns * 128;

/// Strips of `width` rows, one after the other: [strip, k, row], filled up with zeros.
void pack(const DenseView& from, std::size_t rows, std::size_t depth, std::size_t width, bool negative, double* to) {
  const double sign = negative ? -1 : 1;
  for (std::size_t first = 0; first < rows; first += width, to += width * depth) {
    const std::size_t some = std::min(width, rows - first);
    const double* begin = from.data + static_cast<std::ptrdiff_t>(first) * from.row;
    if (some < width) std::fill(to, to + width * depth, 0.0);
    if (from.row == 1) {  // numbers are read one after the other, be that rows or columns
      for (std::size_t k = 0; k < depth; ++k, begin += from.column)
        for (std::size_t i = 0; i < some; ++i) to[k * width + i] = sign * begin[i];
      continue;
    }
    for (std::size_t i = 0; i < some; ++i, begin += from.row)
      for (std::size_t k = 0; k < depth; ++k)
        to[k * width + i] = sign * begin[static_cast<std::ptrdiff_t>(k) * from.column];
  }
}

/// The tile [kRows, kColumns], added to `to`.
HWY_INLINE void add_tile(const double* HWY_RESTRICT a, const double* HWY_RESTRICT b, std::size_t depth, double* to,
                         std::size_t stride) {
  const Doubles d;
  Vector sums[kColumns][kVectors];
#pragma GCC unroll 8
  for (std::size_t j = 0; j < kColumns; ++j)
#pragma GCC unroll 3
    for (std::size_t v = 0; v < kVectors; ++v) sums[j][v] = hn::Zero(d);
  for (std::size_t k = 0; k < depth; ++k, a += kRows, b += kColumns) {
    const Vector a0 = hn::LoadU(d, a), a1 = hn::LoadU(d, a + kLanes), a2 = hn::LoadU(d, a + 2 * kLanes);
#pragma GCC unroll 8
    for (std::size_t j = 0; j < kColumns; ++j) {
      const Vector of_b = hn::Set(d, b[j]);
      sums[j][0] = hn::MulAdd(a0, of_b, sums[j][0]);
      sums[j][1] = hn::MulAdd(a1, of_b, sums[j][1]);
      sums[j][2] = hn::MulAdd(a2, of_b, sums[j][2]);
    }
  }
#pragma GCC unroll 8
  for (std::size_t j = 0; j < kColumns; ++j)
#pragma GCC unroll 3
    for (std::size_t v = 0; v < kVectors; ++v) {
      double* at = to + j * stride + v * kLanes;
      hn::StoreU(hn::Add(hn::LoadU(d, at), sums[j][v]), d, at);
    }
}

/// As above, of a tile that the result has not all of: `use(i, j)` says which elements.
template <class Use>
HWY_INLINE void add_part_of_tile(const double* a, const double* b, std::size_t depth, double* to, std::size_t stride,
                                 const Use& use) {
  HWY_ALIGN double tile[kRows * kColumns] = {};
  add_tile(a, b, depth, tile, kRows);
  for (std::size_t j = 0; j < kColumns; ++j)
    for (std::size_t i = 0; i < kRows; ++i)
      if (use(i, j)) to[i + j * stride] += tile[i + j * kRows];
}

/// Packed rows [top, top + rows) and columns [left, left + columns) of the result.
void add_block(const double* a, const double* b, std::size_t depth, std::size_t top, std::size_t rows, std::size_t left,
               std::size_t columns, Triangle triangle, double* c, std::size_t stride) {
  for (std::size_t j = 0; j < columns; j += kColumns)
    for (std::size_t i = 0; i < rows; i += kRows) {
      const std::size_t row = top + i, column = left + j;
      const bool lower = triangle == Triangle::lower;
      if (lower && row + kRows <= column) continue;
      const double *of_a = a + i * depth, *of_b = b + j * depth;
      double* to = c + row + column * stride;
      const bool whole = i + kRows <= rows && j + kColumns <= columns;
      if (whole && (!lower || row + 1 >= column + kColumns))
        add_tile(of_a, of_b, depth, to, stride);
      else
        add_part_of_tile(of_a, of_b, depth, to, stride, [&](std::size_t x, std::size_t y) {
          return i + x < rows && j + y < columns && (!lower || row + x >= column + y);
        });
    }
}

void multiply(const DenseProduct& p, double* c, std::size_t stride) {
  thread_local std::vector<double> of_a, of_b;
  of_a.resize(kRowsAtOnce * kDepth);
  of_b.resize(kColumnsAtOnce * kDepth);
  const auto at = [](const DenseView& view, std::size_t i, std::size_t j) -> DenseView {
    return {view.data + static_cast<std::ptrdiff_t>(i) * view.row + static_cast<std::ptrdiff_t>(j) * view.column,
            view.row, view.column};
  };
  const bool lower = p.triangle == Triangle::lower;
  for (std::size_t left = 0; left < p.n; left += kColumnsAtOnce) {
    const std::size_t columns = std::min(kColumnsAtOnce, p.n - left);
    for (std::size_t k = 0; k < p.k; k += kDepth) {
      const std::size_t depth = std::min(kDepth, p.k - k);
      pack(at(p.b, k, left).transposed(), columns, depth, kColumns, false, of_b.data());
      for (std::size_t top = lower ? left / kRows * kRows : 0; top < p.m; top += kRowsAtOnce) {
        const std::size_t rows = std::min(kRowsAtOnce, p.m - top);
        pack(at(p.a, top, k), rows, depth, kRows, p.subtract, of_a.data());
        add_block(of_a.data(), of_b.data(), depth, top, rows, left, columns, p.triangle, c, stride);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::fit
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rimetree::fit {

HWY_EXPORT(multiply);

void add_product(const DenseProduct& product, double* c, std::size_t stride) {
  HWY_DYNAMIC_DISPATCH(multiply)(product, c, stride);
}

}  // namespace rimetree::fit
#endif  // HWY_ONCE
