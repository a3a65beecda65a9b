// Samples widened to 16 bits, whose products are added in pairs: what every machine has (SSE, AVX2, AVX-512, NEON).
#include <vector>

#include "nodes/correlator/byte_products.h"
#include "nodes/correlator/products.h"
#include "runtime/core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nodes/correlator/wide_products.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::correlator {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Products of one input with all that are not after it. A register holds some inputs' samples at four times; two of
/// real and two of imaginary parts at a time, with the real and the imaginary part of the one input: eight sums.
void add_input(const PackedBlock& block, std::size_t input, std::int64_t* re, std::int64_t* im) {
  const hn::ScalableTag<std::int16_t> d16;
  const hn::Repartition<std::int32_t, decltype(d16)> d32;
  const hn::Repartition<std::int64_t, decltype(d16)> d64;
  const hn::Rebind<std::uint8_t, decltype(d16)> d8;
  using V = hn::Vec<decltype(d32)>;
  constexpr std::size_t kGroup = PackedBlock::kGroup;
  const std::size_t lanes = hn::Lanes(d16), inputs = std::min(kGroup / 2, lanes / 4), n_step = block.n_step();

  // The one input's samples, widened: four times of a part fill 64 bits.
  static thread_local std::vector<std::int16_t> one;
  one.resize(8 * n_step);
  const std::int8_t* narrow = block.input(input);
  for (std::size_t k = 0; k < one.size(); ++k) one[k] = narrow[k];
  const auto* parts = reinterpret_cast<const std::int64_t*>(one.data());
  const std::int32_t offset[2] = {-128 * block.sum_re(input), -128 * block.sum_im(input)};
  HWY_ALIGN std::int32_t lane[2][4][hn::MaxLanes(d32)];

  for (std::size_t j = 0; j <= input; j += 2 * inputs) {
    const std::uint8_t* many = block.offset_group(j / kGroup) + 4 * (j % kGroup);
    V sum[2][4], rest[2][4];
    for (auto* sums : {sum, rest})
      for (int part = 0; part < 2; ++part)
        for (int k = 0; k < 4; ++k) sums[part][k] = hn::Zero(d32);
    for (std::size_t step = 0; step < n_step; ++step, many += 128) {
      const hn::Vec<decltype(d16)> x[4] = {
          hn::PromoteTo(d16, hn::LoadU(d8, many)), hn::PromoteTo(d16, hn::LoadU(d8, many + 4 * inputs)),
          hn::PromoteTo(d16, hn::LoadU(d8, many + 64)), hn::PromoteTo(d16, hn::LoadU(d8, many + 64 + 4 * inputs))};
#pragma GCC unroll 2
      for (int part = 0; part < 2; ++part) {
        const auto y = hn::BitCast(d16, hn::Set(d64, parts[2 * step + static_cast<std::size_t>(part)]));
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k)
          sum[part][k] = hn::ReorderWidenMulAccumulate(d32, x[k], y, sum[part][k], rest[part][k]);
      }
    }
    for (int part = 0; part < 2; ++part)
      for (int k = 0; k < 4; ++k)
        hn::Store(hn::RearrangeToOddPlusEven(sum[part][k], rest[part][k]), d32, lane[part][k]);
    // Two sums for each input: of its first two and its last two times of four.
    for (std::size_t k = 0; k < 2 * inputs && j + k <= input; ++k) {
      const std::size_t v = k / inputs, at = 2 * (k % inputs);
      const auto total = [&](int part, std::size_t vector) {
        return lane[part][vector][at] + lane[part][vector][at + 1] + offset[part];
      };
      re[product_of(input, j + k)] += total(0, v) + total(1, v + 2);
      im[product_of(input, j + k)] += total(1, v) - total(0, v + 2);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::correlator
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rimetree::correlator {

HWY_EXPORT(add_input);

const ByteProducts& wide_products() {
  static constexpr ByteProducts products{
      "16-bit products", [](const PackedBlock& block) { return block.n_input(); },
      [](const PackedBlock& block, std::size_t part, std::int64_t* re, std::int64_t* im) {
        HWY_DYNAMIC_DISPATCH(add_input)(block, part, re, im);
      }};
  return products;
}

const ByteProducts& byte_products() {
  const ByteProducts* vnni = vnni_products();
  return vnni != nullptr ? *vnni : wide_products();
}

}  // namespace rimetree::correlator
#endif  // HWY_ONCE
