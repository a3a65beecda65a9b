// The one order of products: V_ij = sum_t x_i(t) x_j(t)*, i >= j, number i (i + 1) / 2 + j. Other systems have other
// orders, and some the conjugate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rimetree::correlator {

constexpr std::size_t n_products(std::size_t n_input) { return n_input * (n_input + 1) / 2; }
constexpr std::size_t product_of(std::size_t i, std::size_t j) { return i * (i + 1) / 2 + j; }

/// Sums over time, [channel][product], in units of the format's least significant bit squared; exact.
struct ProductSums {
  std::size_t n_channel = 0, n_input = 0;
  std::vector<std::int64_t> re, im;
  /// Samples in each sum, [product]: all of them, or those that both inputs' masks leave.
  std::vector<std::int64_t> count;

  ProductSums(std::size_t channels, std::size_t inputs)
      : n_channel(channels),
        n_input(inputs),
        re(channels * n_products(inputs)),
        im(channels * n_products(inputs)),
        count(n_products(inputs)) {}
};

}  // namespace rimetree::correlator
