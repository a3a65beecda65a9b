// 64 products and 48 sums of them in one instruction (AVX-512 VNNI): unsigned times signed bytes, four by four.
#include "nodes/correlator/byte_products.h"
#include "nodes/correlator/packed_block.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "nodes/correlator/products.h"

// Templates and intrinsics of one instruction set: what is compiled between these lines runs where it is present only.
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")

namespace rimetree::correlator {

namespace {

constexpr std::size_t kGroup = PackedBlock::kGroup;

/// Adds the first `n` of 16 sums to those of 64 bits.
inline void add_sums(__m512i sums, int n, std::int64_t* to) {
  const auto mask = static_cast<__mmask16>((1u << n) - 1);
  // Masked, as g++ 12 takes the plain extraction for a use of something uninitialised.
  const __m512i low = _mm512_maskz_cvtepi32_epi64(0xff, _mm512_maskz_extracti64x4_epi64(0xff, sums, 0)),
                high = _mm512_maskz_cvtepi32_epi64(0xff, _mm512_maskz_extracti64x4_epi64(0xff, sums, 1));
  const auto mask_low = static_cast<__mmask8>(mask), mask_high = static_cast<__mmask8>(mask >> 8);
  _mm512_mask_storeu_epi64(to, mask_low, _mm512_add_epi64(low, _mm512_maskz_loadu_epi64(mask_low, to)));
  if (mask_high != 0)
    _mm512_mask_storeu_epi64(to + 8, mask_high, _mm512_add_epi64(high, _mm512_maskz_loadu_epi64(mask_high, to + 8)));
}

/// Products of inputs [first, first + kInputs) with the inputs of groups [group, group + kGroups). Of three inputs and
/// two groups the sums fill 24 of 32 registers, and each number that is loaded takes part in 6 or 4 products.
template <int kInputs, int kGroups>
void tile(const PackedBlock& block, std::size_t first, std::size_t group, std::int64_t* re, std::int64_t* im) {
  __m512i sum[2 * kInputs][2 * kGroups];
  const std::int8_t* one[kInputs];
  const std::uint8_t* many[kGroups];
  for (int i = 0; i < kInputs; ++i) {
    one[i] = block.input(first + i);
    for (int g = 0; g < 2 * kGroups; ++g) {
      // What the 128 that was added to every sample of the groups would contribute.
      sum[2 * i][g] = _mm512_set1_epi32(-128 * block.sum_re(first + i));
      sum[2 * i + 1][g] = _mm512_set1_epi32(-128 * block.sum_im(first + i));
    }
  }
  for (int g = 0; g < kGroups; ++g) many[g] = block.offset_group(group + g);
  const std::size_t n_step = block.n_step();
  for (std::size_t step = 0; step < n_step; ++step) {
    __m512i x[2 * kGroups];
#pragma GCC unroll 4
    for (int g = 0; g < 2 * kGroups; ++g)
      x[g] = _mm512_load_si512(many[g / 2] + step * 128 + 64 * static_cast<std::size_t>(g % 2));
#pragma GCC unroll 6
    for (int r = 0; r < 2 * kInputs; ++r) {
      std::int32_t four;
      std::memcpy(&four, one[r / 2] + step * 8 + 4 * static_cast<std::size_t>(r % 2), 4);
      const __m512i y = _mm512_set1_epi32(four);
#pragma GCC unroll 4
      for (int g = 0; g < 2 * kGroups; ++g) sum[r][g] = _mm512_dpbusd_epi32(sum[r][g], x[g], y);
    }
  }
  for (int i = 0; i < kInputs; ++i)
    for (int g = 0; g < kGroups; ++g) {
      const std::size_t j = (group + g) * kGroup, input = first + i;
      if (j > input) continue;
      const int n = static_cast<int>(std::min(kGroup, input - j + 1));
      add_sums(_mm512_add_epi32(sum[2 * i][2 * g], sum[2 * i + 1][2 * g + 1]), n, re + product_of(input, j));
      add_sums(_mm512_sub_epi32(sum[2 * i + 1][2 * g], sum[2 * i][2 * g + 1]), n, im + product_of(input, j));
    }
}

template <int kGroups>
void tiles(const PackedBlock& block, std::size_t first, std::size_t end, std::size_t group, std::int64_t* re,
           std::int64_t* im) {
  std::size_t i = first;
  for (; i + 3 <= end; i += 3) tile<3, kGroups>(block, i, group, re, im);
  if (end - i == 2) tile<2, kGroups>(block, i, group, re, im);
  if (end - i == 1) tile<1, kGroups>(block, i, group, re, im);
}

/// A part is two groups and all inputs that are not before them.
void add_part(const PackedBlock& block, std::size_t part, std::int64_t* re, std::int64_t* im) {
  const std::size_t group = 2 * part, n = block.n_input(), second = std::min(n, (group + 1) * kGroup);
  tiles<1>(block, group * kGroup, second, group, re, im);  // inputs of the first group need no products with the second
  if (group + 1 < block.n_group()) tiles<2>(block, second, n, group, re, im);
}

}  // namespace
}  // namespace rimetree::correlator

#pragma GCC pop_options

namespace rimetree::correlator {

namespace {

class VnniProducts final : public BlockProducts {
 public:
  VnniProducts(std::size_t n_input, std::size_t max_time) : block_(n_input, max_time) {}
  void fill(const SampleView& samples, std::size_t channel, std::size_t first, std::size_t n,
            const SampleMask* mask) override {
    block_.fill(samples, channel, first, n, mask);
  }
  std::size_t n_part() const override { return (block_.n_group() + 1) / 2; }
  void add_part(std::size_t part, std::int64_t* re, std::int64_t* im) const override {
    correlator::add_part(block_, part, re, im);
  }

 private:
  PackedBlock block_;
};

}  // namespace

const ByteProducts* vnni_products() {
  // Long enough that adding 32-bit sums to those of 64 bits costs nothing, short enough for the second-level cache.
  static constexpr ByteProducts products{
      "AVX-512 VNNI", 4096, [](std::size_t n_input, std::size_t max_time) -> std::unique_ptr<BlockProducts> {
        return std::make_unique<VnniProducts>(n_input, max_time);
      }};
  return __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512dq") &&
                 __builtin_cpu_supports("avx512bw")
             ? &products
             : nullptr;
}

}  // namespace rimetree::correlator

#else

namespace rimetree::correlator {

const ByteProducts* vnni_products() { return nullptr; }

}  // namespace rimetree::correlator

#endif
