// Multiply-adds of pairs of 16-bit numbers with the widest vectors of this machine (SSE, AVX2, AVX-512, NEON).
#include <cstring>

#include "nodes/correlator/products.h"
#include "nodes/correlator/wide_block.h"
#include "runtime/math/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nodes/correlator/wide_products.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::correlator {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kGroup = WideBlock::kGroup;

#if HWY_TARGET == HWY_SCALAR

void add_group(const WideBlock& block, std::size_t group, std::int64_t* re, std::int64_t* im) {
  for (std::size_t i = group * kGroup; i < std::min(block.n_input(), (group + 1) * kGroup); ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      const std::int16_t *x = block.line(j / kGroup) + 2 * (j % kGroup), *y = block.pair(i / 2) + i % 2 * 4;
      std::int64_t sum_re = 0, sum_im = 0;
      for (std::size_t t = 0; t < block.n_time(); ++t, x += 2 * kGroup, y += 8) {
        sum_re += x[0] * y[0] + x[1] * y[1];
        sum_im += x[0] * y[2] + x[1] * y[3];
      }
      re[product_of(i, j)] += sum_re;
      im[product_of(i, j)] += sum_im;
    }
}

#else

using Shorts = hn::ScalableTag<std::int16_t>;
using Words = hn::Repartition<std::int32_t, Shorts>;
using V = hn::Vec<Words>;
constexpr std::size_t kOfVector = hn::MaxLanes(Words());  ///< inputs
/// Vectors of inputs j and pairs of inputs i of a tile: eight sums, of which adding and multiplying wait for none.
constexpr std::size_t kVectors = kOfVector < kGroup ? 2 : 1, kPairs = kOfVector < kGroup ? 1 : 2;

/// Adds the first `n` sums of a vector to those of 64 bits.
inline void add_sums(V sums, std::size_t n, std::int64_t* to) {
  HWY_ALIGN std::int32_t lane[kOfVector];
  hn::Store(sums, Words(), lane);
  if (n >= kOfVector)
    for (std::size_t k = 0; k < kOfVector; ++k) to[k] += lane[k];
  else
    for (std::size_t k = 0; k < n; ++k) to[k] += lane[k];
}

/// Products of the inputs i of kPairs pairs, from `pair` on, with kMany vectors of inputs j from `input` on.
template <std::size_t kMany>
void tile(const WideBlock& block, std::size_t pair, std::size_t input, std::int64_t* re, std::int64_t* im) {
  const Shorts d16;
  const Words d32;
  const std::int16_t* x = block.line(input / kGroup) + 2 * (input % kGroup);
  const std::int16_t* one[kPairs];
  for (std::size_t p = 0; p < kPairs; ++p) one[p] = block.pair(pair + p);
  V sum[2 * kPairs][kMany][2], rest[2 * kPairs][kMany][2];
  for (auto& of_input : sum)
    for (auto& of_vector : of_input) of_vector[0] = of_vector[1] = hn::Zero(d32);
  for (auto& of_input : rest)
    for (auto& of_vector : of_input) of_vector[0] = of_vector[1] = hn::Zero(d32);
  for (std::size_t t = 0; t < block.n_time(); ++t, x += 2 * kGroup) {
    hn::Vec<Shorts> many[kMany];
#pragma GCC unroll 2
    for (std::size_t v = 0; v < kMany; ++v) many[v] = hn::Load(d16, x + v * 2 * kOfVector);
#pragma GCC unroll 4
    for (std::size_t r = 0; r < 2 * kPairs; ++r) {
      std::int32_t straight, turned;
      std::memcpy(&straight, one[r / 2] + 8 * t + 4 * (r % 2), 4);
      std::memcpy(&turned, one[r / 2] + 8 * t + 4 * (r % 2) + 2, 4);
      const auto y = hn::BitCast(d16, hn::Set(d32, straight)), z = hn::BitCast(d16, hn::Set(d32, turned));
#pragma GCC unroll 2
      for (std::size_t v = 0; v < kMany; ++v) {
        sum[r][v][0] = hn::ReorderWidenMulAccumulate(d32, many[v], y, sum[r][v][0], rest[r][v][0]);
        sum[r][v][1] = hn::ReorderWidenMulAccumulate(d32, many[v], z, sum[r][v][1], rest[r][v][1]);
      }
    }
  }
  for (std::size_t r = 0; r < 2 * kPairs; ++r)
    for (std::size_t v = 0; v < kMany; ++v) {
      const std::size_t i = 2 * pair + r, j = input + v * kOfVector;
      if (i >= block.n_input() || j > i) continue;
      const std::size_t at = product_of(i, j), n = std::min(kOfVector, i - j + 1);
      add_sums(hn::RearrangeToOddPlusEven(sum[r][v][0], rest[r][v][0]), n, re + at);
      add_sums(hn::RearrangeToOddPlusEven(sum[r][v][1], rest[r][v][1]), n, im + at);
    }
}

/// A line of inputs j after the other.
void add_group(const WideBlock& block, std::size_t group, std::int64_t* re, std::int64_t* im) {
  for (std::size_t line = 0; line <= group; ++line)
    for (std::size_t pair = group * kGroup / 2; pair < (group + 1) * kGroup / 2; pair += kPairs) {
      const std::size_t last = std::min(2 * (pair + kPairs), (line + 1) * kGroup);  // behind the last input j
      if (2 * pair >= block.n_input()) break;
      std::size_t input = line * kGroup;
      for (; input + (kVectors - 1) * kOfVector < last; input += kVectors * kOfVector)
        tile<kVectors>(block, pair, input, re, im);
      if (input < last) tile<1>(block, pair, input, re, im);
    }
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::correlator
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rimetree::correlator {

HWY_EXPORT(add_group);

void WideBlock::add_part(std::size_t part, std::int64_t* re, std::int64_t* im) const {
  HWY_DYNAMIC_DISPATCH(add_group)(*this, part, re, im);
}

const ByteProducts& wide_products() {
  // So short that a line of inputs j and some inputs i stay in the first-level cache.
  static constexpr ByteProducts products{"16-bit products", 128, make_block<WideBlock>};
  return products;
}

const ByteProducts& byte_products() {
  const ByteProducts* vnni = vnni_products();
  return vnni != nullptr ? *vnni : wide_products();
}

}  // namespace rimetree::correlator
#endif  // HWY_ONCE
