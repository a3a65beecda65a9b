// Samples widened to 16 bits, real and imaginary part side by side, whose products are added in pairs: what every
// machine has (SSE, AVX2, AVX-512, NEON).
//
// With (re, im) of inputs j in a register, and (re, im) and (im, -re) of one input i in every pair of two others, a
// multiply-add of pairs gives the real and the imaginary part of x_i x_j*: nothing is turned, neither times nor inputs.
#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "nodes/correlator/byte_products.h"
#include "nodes/correlator/products.h"
#include "runtime/core/simd_targets.h"

#ifndef RIMETREE_NODES_CORRELATOR_WIDE_PRODUCTS_ONCE
#define RIMETREE_NODES_CORRELATOR_WIDE_PRODUCTS_ONCE

namespace rimetree::correlator {

/// Samples as the kernels read them.
struct WideBlock {
  static constexpr std::size_t kGroup = 16;  ///< inputs of a line, which is one of the cache's

  struct Aligned {
    void operator()(std::int16_t* p) const { ::operator delete[](p, std::align_val_t{64}); }
  };
  using Memory = std::unique_ptr<std::int16_t[], Aligned>;
  static Memory memory(std::size_t n) {
    return Memory(static_cast<std::int16_t*>(::operator new[](n * sizeof(std::int16_t), std::align_val_t{64})));
  }

  WideBlock(std::size_t inputs, std::size_t times)
      : n_input(inputs),
        max_time(times),
        lines(memory(n_group() * times * 2 * kGroup)),
        pairs(memory(n_group() * times * 4 * kGroup)) {}

  std::size_t n_group() const { return (n_input + kGroup - 1) / kGroup; }
  std::int16_t* line(std::size_t group) const { return lines.get() + group * max_time * 2 * kGroup; }
  std::int16_t* pair(std::size_t number) const { return pairs.get() + number * max_time * 8; }

  std::size_t n_input, max_time, n_time = 0;
  Memory lines;  ///< [group][time][16 inputs] re, im
  Memory pairs;  ///< [pair of inputs][time][2 inputs] re, im, im, -re
};

/// A format as shifts of 32-bit words: a number is code ^ turned, its highest bit moved up to the word's and down
/// again.
struct WideBits {
  int re_up, im_up, down, bytes;
  bool are_bytes;  ///< a byte each, the real part first
  std::uint32_t turned;
  explicit WideBits(const SampleFormat& format)
      : re_up(32 - format.bits - format.re_shift),
        im_up(32 - format.bits - format.im_shift),
        down(32 - format.bits),
        bytes(format.bytes),
        are_bytes(format.bits == 8 && format.re_shift == 0 && format.im_shift == 8 &&
                  format.coding == Coding::twos_complement),
        turned(format.coding == Coding::excess
                   ? 1u << (format.bits - 1 + format.re_shift) | 1u << (format.bits - 1 + format.im_shift)
                   : 0) {}
};

}  // namespace rimetree::correlator

#endif

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

/// One number after the other, where vectors hold no pair.
void put_time(const std::uint8_t* codes, const WideBits& bits, const std::int32_t* keep, std::int32_t* line,
              std::int32_t* pairs, std::size_t stride) {
  for (std::size_t k = 0; k < kGroup; ++k) {
    const std::uint32_t code =
        bits.bytes == 1 ? codes[k] : codes[2 * k] | static_cast<std::uint32_t>(codes[2 * k + 1]) << 8;
    const auto number = [&](int up) {
      const std::int32_t all = keep == nullptr ? -1 : keep[k];
      return static_cast<std::int16_t>(static_cast<std::int32_t>((code ^ bits.turned) << up) >> bits.down & all);
    };
    const std::int16_t re = number(bits.re_up), im = number(bits.im_up);
    const std::int16_t words[4] = {re, im, im, static_cast<std::int16_t>(-re)};
    std::memcpy(line + k, words, 4);
    std::memcpy(pairs + k / 2 * stride + k % 2 * 2, words, 8);
  }
}

#else

using Shorts = hn::ScalableTag<std::int16_t>;
using Words = hn::Repartition<std::int32_t, Shorts>;
using UnsignedWords = hn::Repartition<std::uint32_t, Shorts>;
using V = hn::Vec<Words>;
constexpr std::size_t kOfVector = hn::MaxLanes(Words());  ///< inputs
/// Vectors of inputs j and pairs of inputs i of a tile: eight sums, of which adding and multiplying wait for none.
constexpr std::size_t kVectors = kOfVector < kGroup ? 2 : 1, kPairs = kOfVector < kGroup ? 1 : 2;

/// Writes the blocks of four words of a vector to where each belongs, `stride` words apart.
template <class D>
void store_fours(D d, hn::Vec<D> words, std::int32_t* to, std::size_t stride) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    hn::StoreU(words, d, to);
  } else {
    const hn::Half<D> half;
    store_fours(half, hn::LowerHalf(half, words), to, stride);
    store_fours(half, hn::UpperHalf(half, words), to + hn::MaxLanes(D()) / 4 * stride / 2, stride);
  }
}

/// Codes of inputs side by side as numbers, (re, im) to a word.
inline V decoded(const std::uint8_t* codes, const WideBits& bits) {
  const UnsignedWords du;
  const Words ds;
  if (bits.are_bytes) {
    HWY_ALIGN std::int8_t bytes[2 * kOfVector];
    std::memcpy(bytes, codes, sizeof bytes);
    return hn::BitCast(ds, hn::PromoteTo(Shorts(), hn::Load(hn::Rebind<std::int8_t, Shorts>(), bytes)));
  }
  auto code = hn::Undefined(du);
  if (bits.bytes == 1) {
    code = hn::PromoteTo(du, hn::LoadU(hn::Rebind<std::uint8_t, UnsignedWords>(), codes));
  } else {
    HWY_ALIGN std::uint16_t words[kOfVector];
    std::memcpy(words, codes, sizeof words);
    code = hn::PromoteTo(du, hn::Load(hn::Rebind<std::uint16_t, UnsignedWords>(), words));
  }
  const auto straight = hn::BitCast(ds, hn::Xor(code, hn::Set(du, bits.turned)));
  const auto re = hn::ShiftRightSame(hn::ShiftLeftSame(straight, bits.re_up), bits.down);
  const auto im = hn::ShiftRightSame(hn::ShiftLeftSame(straight, bits.im_up), bits.down);
  return hn::Or(hn::And(re, hn::Set(ds, 0xffff)), hn::ShiftLeft<16>(im));
}

/// One time of sixteen inputs, as both sides have it. `keep`: of each input all bits or none; nullptr: all.
inline void put_time(const std::uint8_t* codes, const WideBits& bits, const std::int32_t* keep, std::int32_t* line,
                     std::int32_t* pairs, std::size_t stride) {
  const Words ds;
  const UnsignedWords du;
  const auto minus = hn::BitCast(Shorts(), hn::Set(ds, static_cast<std::int32_t>(0xffff0000u)));
  for (std::size_t k = 0; k < kGroup; k += kOfVector) {
    V straight = decoded(codes + k * static_cast<std::size_t>(bits.bytes), bits);
    if (keep != nullptr) straight = hn::And(straight, hn::Load(ds, keep + k));
    hn::Store(straight, ds, line + k);
    const auto swapped = hn::BitCast(Shorts(), hn::RotateRight<16>(hn::BitCast(du, straight)));
    const V turned = hn::BitCast(ds, hn::Sub(hn::Xor(swapped, minus), minus));
    // Of every four inputs the first two, and the other two.
    std::int32_t* to = pairs + k / 2 * stride;
    store_fours(ds, hn::InterleaveLower(ds, straight, turned), to, 2 * stride);
    store_fours(ds, hn::InterleaveUpper(ds, straight, turned), to + stride, 2 * stride);
  }
}

#endif

void fill_block(const SampleView& samples, std::size_t channel, std::size_t first, const SampleMask* mask,
                const WideBlock& block) {
  const WideBits bits(samples.format);
  const auto step = static_cast<std::size_t>(samples.format.bytes);
  for (std::size_t group = 0; group < block.n_group(); ++group) {
    const std::size_t input = group * kGroup, inputs = std::min(kGroup, block.n_input - input);
    const bool whole = inputs == kGroup && samples.input_stride == samples.format.bytes;
    const std::uint8_t* codes = samples.bytes + static_cast<std::ptrdiff_t>(channel) * samples.channel_stride +
                                static_cast<std::ptrdiff_t>(input) * samples.input_stride +
                                static_cast<std::ptrdiff_t>(first) * samples.time_stride;
    std::array<std::uint8_t, 2 * kGroup> gathered{};
    HWY_ALIGN std::int32_t keep[kGroup];
    auto* line = reinterpret_cast<std::int32_t*>(block.line(group));
    auto* pairs = reinterpret_cast<std::int32_t*>(block.pair(group * kGroup / 2));
    const std::size_t stride = 4 * block.max_time;
    for (std::size_t t = 0; t < block.n_time; ++t, codes += samples.time_stride, line += kGroup, pairs += 4) {
      if (!whole)
        for (std::size_t k = 0; k < inputs; ++k)
          std::memcpy(gathered.data() + step * k, codes + static_cast<std::ptrdiff_t>(k) * samples.input_stride, step);
      // What is not there, or does not count, is zero.
      const bool some = inputs < kGroup || mask != nullptr;
      for (std::size_t k = 0; some && k < kGroup; ++k)
        keep[k] = k < inputs && (mask == nullptr || mask->counts(input + k, first + t)) ? -1 : 0;
      put_time(whole ? codes : gathered.data(), bits, some ? keep : nullptr, line, pairs, stride);
    }
  }
}

#if HWY_TARGET == HWY_SCALAR

void add_group(const WideBlock& block, std::size_t group, std::int64_t* re, std::int64_t* im) {
  for (std::size_t i = group * kGroup; i < std::min(block.n_input, (group + 1) * kGroup); ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      const std::int16_t *x = block.line(j / kGroup) + 2 * (j % kGroup), *y = block.pair(i / 2) + i % 2 * 4;
      std::int64_t sum_re = 0, sum_im = 0;
      for (std::size_t t = 0; t < block.n_time; ++t, x += 2 * kGroup, y += 8) {
        sum_re += x[0] * y[0] + x[1] * y[1];
        sum_im += x[0] * y[2] + x[1] * y[3];
      }
      re[product_of(i, j)] += sum_re;
      im[product_of(i, j)] += sum_im;
    }
}

#else

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
  for (std::size_t t = 0; t < block.n_time; ++t, x += 2 * kGroup) {
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
      if (i >= block.n_input || j > i) continue;
      const std::size_t at = product_of(i, j), n = std::min(kOfVector, i - j + 1);
      add_sums(hn::RearrangeToOddPlusEven(sum[r][v][0], rest[r][v][0]), n, re + at);
      add_sums(hn::RearrangeToOddPlusEven(sum[r][v][1], rest[r][v][1]), n, im + at);
    }
}

/// A part is a group of inputs i, with all inputs j that are not behind them: a line of inputs j after the other.
void add_group(const WideBlock& block, std::size_t group, std::int64_t* re, std::int64_t* im) {
  for (std::size_t line = 0; line <= group; ++line)
    for (std::size_t pair = group * kGroup / 2; pair < (group + 1) * kGroup / 2; pair += kPairs) {
      const std::size_t last = std::min(2 * (pair + kPairs), (line + 1) * kGroup);  // behind the last input j
      if (2 * pair >= block.n_input) break;
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

HWY_EXPORT(fill_block);
HWY_EXPORT(add_group);

namespace {

class WideProducts final : public BlockProducts {
 public:
  WideProducts(std::size_t n_input, std::size_t max_time) : block_(n_input, max_time) {}
  void fill(const SampleView& samples, std::size_t channel, std::size_t first, std::size_t n,
            const SampleMask* mask) override {
    block_.n_time = n;
    HWY_DYNAMIC_DISPATCH(fill_block)(samples, channel, first, mask, block_);
  }
  std::size_t n_part() const override { return block_.n_group(); }
  void add_part(std::size_t part, std::int64_t* re, std::int64_t* im) const override {
    HWY_DYNAMIC_DISPATCH(add_group)(block_, part, re, im);
  }

 private:
  WideBlock block_;
};

}  // namespace

const ByteProducts& wide_products() {
  // So short that a line of inputs j and some inputs i stay in the first-level cache.
  static constexpr ByteProducts products{
      "16-bit products", 128, [](std::size_t n_input, std::size_t max_time) -> std::unique_ptr<BlockProducts> {
        return std::make_unique<WideProducts>(n_input, max_time);
      }};
  return products;
}

const ByteProducts& byte_products() {
  const ByteProducts* vnni = vnni_products();
  return vnni != nullptr ? *vnni : wide_products();
}

}  // namespace rimetree::correlator
#endif  // HWY_ONCE
