// 64 products and 48 sums of them in one instruction (AVX-512 VNNI): unsigned times signed bytes, four by four.
#include "nodes/correlator/products.h"
#include "nodes/correlator/vnni_block.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <utility>

// Templates and intrinsics of one instruction set: what is compiled between these lines runs where it is present only.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // of g++ 12 in its own header (its bug 105593)
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")

namespace rimetree::correlator {

namespace {

/// f(0), ..., f(kMany - 1) with numbers that are constants to the compiler: sums that are told apart by them stay in
/// their registers, where g++ 12 copies those of loops from one register to another, at half the speed.
template <int kMany, class F>
inline void each(F&& f) {
  [&]<int... k>(std::integer_sequence<int, k...>) { (f(std::integral_constant<std::size_t, k>()), ...); }
  (std::make_integer_sequence<int, kMany>());
}

/// Adds the first `n` of 16 sums to those of 64 bits.
inline void add_vnni_sums(__m512i sums, std::size_t n, std::int64_t* to) {
  const auto mask = static_cast<__mmask16>((1u << n) - 1);
  const __m512i low = _mm512_cvtepi32_epi64(_mm512_castsi512_si256(sums)),
                high = _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(sums, 1));
  const auto mask_low = static_cast<__mmask8>(mask), mask_high = static_cast<__mmask8>(mask >> 8);
  _mm512_mask_storeu_epi64(to, mask_low, _mm512_add_epi64(low, _mm512_maskz_loadu_epi64(mask_low, to)));
  if (mask_high != 0)
    _mm512_mask_storeu_epi64(to + 8, mask_high, _mm512_add_epi64(high, _mm512_maskz_loadu_epi64(mask_high, to + 8)));
}

/// Products of inputs [first, first + kInputs) with the inputs of groups [group, group + kGroups). Of three inputs and
/// two groups the sums fill 24 of 32 registers, and each number that is loaded takes part in 6 or 4 products.
template <int kInputs, int kGroups>
void vnni_tile(const VnniBlock& block, std::size_t first, std::size_t group, std::int64_t* re, std::int64_t* im) {
  __m512i sum[2 * kInputs][2 * kGroups];
  const std::int8_t* one[kInputs];
  const std::uint8_t* many[kGroups];
  each<kInputs>([&](auto i) {
    one[i] = block.input(first + i);
    each<2>([&](auto part) {
      // What the 128 that was added to every sample of the groups would contribute.
      const __m512i offset = _mm512_set1_epi32(-128 * block.sum(first + i)[part]);
      each<2 * kGroups>([&](auto g) { sum[2 * i + part][g] = offset; });
    });
  });
  each<kGroups>([&](auto g) { many[g] = block.offset_group(group + g); });
  const std::size_t n_step = block.n_step();
  for (std::size_t step = 0; step < n_step; ++step) {
    __m512i x[2 * kGroups];
    each<2 * kGroups>(
        [&](auto g) { x[g] = _mm512_load_si512(many[g / 2] + step * VnniBlock::kStepBytes + 64 * (g % 2)); });
    each<2 * kInputs>([&](auto r) {
      std::int32_t four;
      std::memcpy(&four, one[r / 2] + step * 8 + 4 * (r % 2), 4);
      const __m512i y = _mm512_set1_epi32(four);
      each<2 * kGroups>([&](auto g) { sum[r][g] = _mm512_dpbusd_epi32(sum[r][g], x[g], y); });
    });
  }
  each<kInputs>([&](auto i) {
    each<kGroups>([&](auto g) {
      const std::size_t j = (group + g) * VnniBlock::kGroup, input = first + i;
      if (j > input) return;
      const std::size_t n = std::min(VnniBlock::kGroup, input - j + 1), at = product_of(input, j);
      add_vnni_sums(_mm512_add_epi32(sum[2 * i][2 * g], sum[2 * i + 1][2 * g + 1]), n, re + at);
      add_vnni_sums(_mm512_sub_epi32(sum[2 * i + 1][2 * g], sum[2 * i][2 * g + 1]), n, im + at);
    });
  });
}

template <int kGroups>
void vnni_tiles(const VnniBlock& block, std::size_t first, std::size_t end, std::size_t group, std::int64_t* re,
                std::int64_t* im) {
  std::size_t i = first;
  for (; i + 3 <= end; i += 3) vnni_tile<3, kGroups>(block, i, group, re, im);
  if (end - i == 2) vnni_tile<2, kGroups>(block, i, group, re, im);
  if (end - i == 1) vnni_tile<1, kGroups>(block, i, group, re, im);
}

}  // namespace

void VnniBlock::add_part(std::size_t part, std::int64_t* re, std::int64_t* im) const {
  const std::size_t group = 2 * part, second = std::min(n_input_, (group + 1) * kGroup);
  vnni_tiles<1>(*this, group * kGroup, second, group, re, im);  // the first group needs no products with the second
  if (group + 1 < n_group()) vnni_tiles<2>(*this, second, n_input_, group, re, im);
}

}  // namespace rimetree::correlator

#pragma GCC pop_options
#pragma GCC diagnostic pop

namespace rimetree::correlator {

const ByteProducts* vnni_products() {
  // Long enough that adding 32-bit sums to those of 64 bits costs nothing, short enough for the second-level cache.
  static constexpr ByteProducts products{"AVX-512 VNNI", 4096, make_block<VnniBlock>};
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
