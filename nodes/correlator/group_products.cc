#include "nodes/correlator/group_products.h"

#include <array>

#include "nodes/correlator/one_product.h"
#include "runtime/core/error.h"

namespace rimetree::correlator {

namespace {

constexpr std::size_t kMostGroup = 8;  // beyond it too few threads find registers, says the paper

/// What samples of whole numbers are, and the sums of their products; and those of floats, as the paper has them.
struct OfWholeNumbers {
  using One = Sample;
  using Number = std::int64_t;
  static Sample read(const SampleView& samples, std::size_t time, std::size_t channel, std::size_t input) {
    return samples.sample(time, channel, input);
  }
  static std::int64_t* re(ProductSums& sums) { return sums.re.data(); }
  static std::int64_t* im(ProductSums& sums) { return sums.im.data(); }
};
struct OfFloats {
  using One = Complex<float>;
  using Number = float;
  static Complex<float> read(const SampleView& samples, std::size_t time, std::size_t channel, std::size_t input) {
    return samples.value(time, channel, input);
  }
  static double* re(ProductSums& sums) { return sums.float_re.data(); }
  static double* im(ProductSums& sums) { return sums.float_im.data(); }
};

template <class Of>
struct Sum {
  typename Of::Number re = 0, im = 0;
  void add(const typename Of::One& x, const typename Of::One& y) { add_product(x, y, re, im); }
};

/// One block: inputs [first_i, first_i + G) with [first_j, first_j + G) of a channel, sums in registers.
template <class Of>
struct Block {
  using One = typename Of::One;
  const SampleView& samples;
  const SampleMask* mask;
  std::size_t channel, first_i, first_j, group;
  std::array<std::array<Sum<Of>, kMostGroup>, kMostGroup> sum{};

  One read(std::size_t time, std::size_t input, std::uint64_t& reads) const {
    ++reads;
    return mask != nullptr && !mask->counts(input, time) ? One{} : Of::read(samples, time, channel, input);
  }
  void run(Sharing sharing, std::uint64_t& reads) {
    std::array<One, kMostGroup> x{}, y{};
    for (std::size_t t = 0; t < samples.n_time; ++t) {
      for (std::size_t a = 0; a < group; ++a) x[a] = read(t, first_i + a, reads);
      if (sharing == Sharing::groups)
        for (std::size_t b = 0; b < group; ++b) y[b] = read(t, first_j + b, reads);
      for (std::size_t a = 0; a < group; ++a)
        for (std::size_t b = 0; b < group; ++b)
          sum[a][b].add(x[a], sharing == Sharing::groups ? y[b] : read(t, first_j + b, reads));
    }
  }
};

template <class Of>
std::uint64_t add_blocks(const SampleView& samples, const SampleMask* mask, Sharing sharing, std::size_t group,
                         ProductSums& sums) {
  std::uint64_t reads = 0;
  const std::size_t n_product = n_products(samples.n_input);
  for (std::size_t channel = 0; channel < samples.n_channel; ++channel)
    for (const auto& [block_i, block_j] : pair_table(samples.n_input / group)) {
      Block<Of> block{samples, mask, channel, block_i * group, block_j * group, group};
      block.run(sharing, reads);
      for (std::size_t a = 0; a < group; ++a)
        for (std::size_t b = 0; b < group; ++b) {
          const std::size_t i = block.first_i + a, j = block.first_j + b;
          if (j > i) continue;
          Of::re(sums)[channel * n_product + product_of(i, j)] += block.sum[a][b].re;
          Of::im(sums)[channel * n_product + product_of(i, j)] += block.sum[a][b].im;
        }
    }
  return reads;
}

}  // namespace

std::vector<std::pair<std::uint32_t, std::uint32_t>> pair_table(std::size_t n_input) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> table;
  table.reserve(n_products(n_input));
  for (std::uint32_t i = 0; i < n_input; ++i)
    for (std::uint32_t j = 0; j <= i; ++j) table.emplace_back(i, j);
  return table;
}

std::uint64_t add_by_groups(const SampleView& samples, const SampleMask* mask, Sharing sharing, std::size_t group,
                            ProductSums& sums) {
  if (group < 1 || group > kMostGroup || samples.n_input % group != 0)
    throw Error("groups of " + std::to_string(group) + " inputs do not divide " + std::to_string(samples.n_input) +
                " inputs");
  return samples.format.is_float ? add_blocks<OfFloats>(samples, mask, sharing, group, sums)
                                 : add_blocks<OfWholeNumbers>(samples, mask, sharing, group, sums);
}

}  // namespace rimetree::correlator
