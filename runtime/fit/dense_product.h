// Products of dense matrices with the machine's vectors; one thread, always in the same order.
#pragma once

#include <cstddef>

namespace rimetree::fit {

/// A matrix of which element (i, j) is at data[i row + j column].
struct DenseView {
  const double* data;
  std::ptrdiff_t row, column;
  DenseView transposed() const { return {data, column, row}; }
};

enum class Triangle { all, lower };  ///< lower: with the diagonal

/// c += a b, or c -= a b, with a [m, k] and b [k, n]. `c`: column by column, `stride` numbers apart; of a lower
/// triangle nothing above its diagonal is touched.
struct DenseProduct {
  DenseView a, b;
  std::size_t m, n, k;
  bool subtract = false;
  Triangle triangle = Triangle::all;
};
void add_product(const DenseProduct& product, double* c, std::size_t stride);

}  // namespace rimetree::fit
