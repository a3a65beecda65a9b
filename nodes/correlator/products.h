// The one order of products: V_ij = sum_t x_i(t) x_j(t)*, i >= j, number i (i + 1) / 2 + j. Other systems have other
// orders, and some the conjugate.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rimetree::correlator {

constexpr std::size_t n_products(std::size_t n_input) { return n_input * (n_input + 1) / 2; }
constexpr std::size_t product_of(std::size_t i, std::size_t j) { return i * (i + 1) / 2 + j; }

/// Sums over time, [channel][product], in units of the format's least significant bit squared; exact, or of floats.
struct ProductSums {
  std::size_t n_channel = 0, n_input = 0;
  std::vector<std::int64_t> re, im;        ///< of whole numbers
  std::vector<double> float_re, float_im;  ///< of floats, whose other sums are empty
  /// Samples in each sum, [product]: all of them, or those that both inputs' masks leave.
  std::vector<std::int64_t> count;

  ProductSums(std::size_t channels, std::size_t inputs, bool of_floats = false)
      : n_channel(channels), n_input(inputs), count(n_products(inputs)) {
    const std::size_t n = channels * n_products(inputs);
    if (of_floats)
      float_re.resize(n), float_im.resize(n);
    else
      re.resize(n), im.resize(n);
  }
  bool are_of_floats() const { return !float_re.empty(); }
  double real(std::size_t k) const { return are_of_floats() ? float_re[k] : double(re[k]); }
  double imaginary(std::size_t k) const { return are_of_floats() ? float_im[k] : double(im[k]); }
  void clear() {
    for (auto* sums : {&re, &im, &count}) std::fill(sums->begin(), sums->end(), 0);
    for (auto* sums : {&float_re, &float_im}) std::fill(sums->begin(), sums->end(), 0.0);
  }
};

}  // namespace rimetree::correlator
