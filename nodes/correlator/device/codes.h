// Samples' codes in a device's memory, as every kernel of the correlator reads them.
#pragma once

#include <cstdint>

#include "nodes/correlator/sample_format.h"
#include "runtime/math/host_device.h"

namespace rimetree::correlator {

/// What a kernel has to know of a SampleFormat.
struct CodeBits {
  std::int32_t bytes = 1, bits = 4, re_shift = 4, im_shift = 0;
  std::int32_t excess = 0, is_real = 0;

  CodeBits() = default;
  explicit CodeBits(const SampleFormat& format)
      : bytes(format.bytes),
        bits(format.bits),
        re_shift(format.re_shift),
        im_shift(format.im_shift),
        excess(format.coding == Coding::excess ? 1 : 0),
        is_real(format.is_real ? 1 : 0) {}

  /// Two's complement is excess whose highest bit is turned.
  RT_HD int number(std::uint32_t code, int shift) const {
    const int half = 1 << (bits - 1), field = static_cast<int>(code >> shift) & (2 * half - 1);
    return (excess != 0 ? field : field ^ half) - half;
  }
  RT_HD int re(std::uint32_t code) const { return number(code, re_shift); }
  RT_HD int im(std::uint32_t code) const { return is_real != 0 ? 0 : number(code, im_shift); }
  /// The code of two numbers within the format's range.
  RT_HD std::uint32_t code(int re, int im) const {
    const int mask = (1 << bits) - 1, offset = excess != 0 ? 1 << (bits - 1) : 0;
    return static_cast<std::uint32_t>(((re + offset) & mask) << re_shift | ((im + offset) & mask) << im_shift);
  }
};

/// A sample as numbers.
struct Numbers {
  std::int32_t re, im;
};

/// Codes [time, channel, input]: strides are in bytes. A mask has a bit for each time, [input][words].
struct CodeView {
  const std::uint8_t* bytes = nullptr;
  const std::uint64_t* mask = nullptr;  ///< nullptr: all count
  std::int64_t n_byte = 0;
  std::int64_t time_stride = 0, channel_stride = 0, input_stride = 0;
  CodeBits bits;
  std::int32_t n_time = 0, n_channel = 0, n_input = 0, mask_words = 0;

  RT_HD std::uint32_t code(std::int64_t time, std::int64_t channel, std::int64_t input) const {
    const std::uint8_t* at = bytes + time * time_stride + channel * channel_stride + input * input_stride;
    return bits.bytes == 1 ? at[0] : at[0] | static_cast<std::uint32_t>(at[1]) << 8;
  }
  /// Zero where a sample does not count, or where there is none.
  RT_HD Numbers numbers(std::int64_t time, std::int64_t channel, std::int64_t input) const {
    if (time >= n_time || input >= n_input) return {0, 0};
    if (mask != nullptr && (mask[input * mask_words + time / 64] >> (time % 64) & 1) == 0) return {0, 0};
    const std::uint32_t all = code(time, channel, input);
    return {bits.re(all), bits.im(all)};
  }
};

/// Calls f(array, number of elements) for each array.
template <class F>
void for_each_array(CodeView& view, F&& f) {
  f(view.bytes, view.n_byte);
  f(view.mask, std::int64_t{view.n_input} * view.mask_words);
}

/// A part of the table of pairs that one device works on, and sums that it adds to.
struct PairSums {
  struct Pair {
    std::int32_t i, j;  ///< inputs, or blocks of them
  };
  const Pair* pair = nullptr;                 ///< [n_pair]
  std::int64_t *re = nullptr, *im = nullptr;  ///< [channel][product], of all products
  std::int32_t n_pair = 0, n_input = 0, n_channel = 0;

  RT_HD std::int64_t n_product() const { return std::int64_t{n_input} * (n_input + 1) / 2; }
  /// Adds to the product of two inputs, in either order: those that are not there, or stand on the other side of the
  /// diagonal, are left alone.
  RT_HD void add(std::int64_t channel, std::int64_t i, std::int64_t j, std::int64_t more_re,
                 std::int64_t more_im) const {
    if (j > i || i >= n_input) return;
    const std::int64_t at = channel * n_product() + i * (i + 1) / 2 + j;
    re[at] += more_re;
    im[at] += more_im;
  }
};
template <class F>
void for_each_array(PairSums& sums, F&& f) {
  f(sums.pair, sums.n_pair);
  f(sums.re, sums.n_channel * sums.n_product());
  f(sums.im, sums.n_channel * sums.n_product());
}

}  // namespace rimetree::correlator
