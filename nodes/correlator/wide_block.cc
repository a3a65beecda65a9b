#include "nodes/correlator/wide_block.h"

#include <array>
#include <cstring>

#include "runtime/math/simd_targets.h"

#ifndef RIMETREE_NODES_CORRELATOR_WIDE_BLOCK_ONCE
#define RIMETREE_NODES_CORRELATOR_WIDE_BLOCK_ONCE

namespace rimetree::correlator {

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
#define HWY_TARGET_INCLUDE "nodes/correlator/wide_block.cc"
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
                WideBlock& block) {
  const WideBits bits(samples.format);
  const auto step = static_cast<std::size_t>(samples.format.bytes);
  for (std::size_t group = 0; group < block.n_group(); ++group) {
    const std::size_t input = group * kGroup, inputs = std::min(kGroup, block.n_input() - input);
    const bool whole = inputs == kGroup && samples.input_stride == samples.format.bytes;
    const std::uint8_t* codes = samples.bytes + static_cast<std::ptrdiff_t>(channel) * samples.channel_stride +
                                static_cast<std::ptrdiff_t>(input) * samples.input_stride +
                                static_cast<std::ptrdiff_t>(first) * samples.time_stride;
    std::array<std::uint8_t, 2 * kGroup> gathered{};
    HWY_ALIGN std::int32_t keep[kGroup];
    auto* line = reinterpret_cast<std::int32_t*>(block.line(group));
    auto* pairs = reinterpret_cast<std::int32_t*>(block.pair(group * kGroup / 2));
    const std::size_t stride = block.pair_stride() / 2;
    for (std::size_t t = 0; t < block.n_time(); ++t, codes += samples.time_stride, line += kGroup, pairs += 4) {
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

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::correlator
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rimetree::correlator {

HWY_EXPORT(fill_block);

void WideBlock::fill(const SampleView& samples, std::size_t channel, std::size_t first, std::size_t n,
                     const SampleMask* mask) {
  n_time_ = n;
  HWY_DYNAMIC_DISPATCH(fill_block)(samples, channel, first, mask, *this);
}

}  // namespace rimetree::correlator
#endif  // HWY_ONCE
