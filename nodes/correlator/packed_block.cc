#include "nodes/correlator/packed_block.h"

#include <algorithm>
#include <cstring>

namespace rimetree::correlator {

namespace {

// Sixteen bytes, in any instruction set that the compiler may assume.
using Bytes = std::uint8_t __attribute__((vector_size(16)));
using Words = std::uint16_t __attribute__((vector_size(16)));
using Quads = std::uint32_t __attribute__((vector_size(16)));

template <class V>
V interleave_low(V a, V b) {
  if constexpr (sizeof(a[0]) == 1)
    return __builtin_shuffle(a, b, V{0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23});
  else if constexpr (sizeof(a[0]) == 2)
    return __builtin_shuffle(a, b, V{0, 8, 1, 9, 2, 10, 3, 11});
  else
    return __builtin_shuffle(a, b, V{0, 4, 1, 5});
}
template <class V>
V interleave_high(V a, V b) {
  if constexpr (sizeof(a[0]) == 1)
    return __builtin_shuffle(a, b, V{8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31});
  else if constexpr (sizeof(a[0]) == 2)
    return __builtin_shuffle(a, b, V{4, 12, 5, 13, 6, 14, 7, 15});
  else
    return __builtin_shuffle(a, b, V{2, 6, 3, 7});
}

Bytes load(const std::uint8_t* at) {
  Bytes x;
  std::memcpy(&x, at, sizeof x);
  return x;
}

/// The numbers of sixteen inputs at one time.
struct Numbers {
  Bytes re, im;
};

/// A format as shifts and masks: a number is ((code >> shift) & mask ^ turned) - half. Two's complement becomes excess
/// where its highest bit is turned.
struct Bits {
  int re_shift, im_shift;
  std::uint16_t mask, turned, half;

  explicit Bits(const SampleFormat& format)
      : re_shift(format.re_shift),
        im_shift(format.im_shift),
        mask(static_cast<std::uint16_t>((1 << format.bits) - 1)),
        turned(static_cast<std::uint16_t>(format.coding == Coding::excess ? 0 : 1 << (format.bits - 1))),
        half(static_cast<std::uint16_t>(1 << (format.bits - 1))) {}
};

/// The numbers of sixteen codes of one byte. There are no shifts of bytes: of words, what comes from the neighbour is
/// masked.
Numbers decode_bytes(const std::uint8_t* at, const Bits& bits) {
  const auto mask = std::uint8_t(bits.mask), turned = std::uint8_t(bits.turned), half = std::uint8_t(bits.half);
  const Words codes = Words(load(at));
  return {((Bytes(codes >> bits.re_shift) & mask) ^ turned) - half,
          ((Bytes(codes >> bits.im_shift) & mask) ^ turned) - half};
}

/// The same of codes of two bytes.
Numbers decode_words(const std::uint8_t* at, const Bits& bits) {
  const auto number = [&bits](Words codes, int shift) {
    return (((codes >> shift & bits.mask) ^ bits.turned) - bits.half) & std::uint16_t{255};
  };
  const auto narrow = [](Words low, Words high) {
    return __builtin_shuffle(Bytes(low), Bytes(high), Bytes{0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30});
  };
  const Words low = Words(load(at)), high = Words(load(at + 16));
  return {narrow(number(low, bits.re_shift), number(high, bits.re_shift)),
          narrow(number(low, bits.im_shift), number(high, bits.im_shift))};
}

/// Numbers of inputs [input, input + n) at one time, one by one: other orders in memory, and the last inputs.
Numbers decode_single(const SampleView& samples, std::size_t time, std::size_t channel, std::size_t input,
                      std::size_t n) {
  Numbers numbers{};
  for (std::size_t k = 0; k < n; ++k) {
    const Sample sample = samples.sample(time, channel, input + k);
    numbers.re[k] = static_cast<std::uint8_t>(sample.re);
    numbers.im[k] = static_cast<std::uint8_t>(sample.im);
  }
  return numbers;
}

void leave_out(Numbers& numbers, const SampleMask& mask, std::size_t time, std::size_t input, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k)
    if (!mask.counts(input + k, time)) numbers.re[k] = numbers.im[k] = 0;
}

/// From one vector for each of four times to four times of each of sixteen inputs.
std::array<Bytes, 4> by_input(const std::array<Bytes, 4>& times) {
  const Words even_low = Words(interleave_low(times[0], times[1])),
              even_high = Words(interleave_high(times[0], times[1])),
              odd_low = Words(interleave_low(times[2], times[3])),
              odd_high = Words(interleave_high(times[2], times[3]));
  return {Bytes(interleave_low(even_low, odd_low)), Bytes(interleave_high(even_low, odd_low)),
          Bytes(interleave_low(even_high, odd_high)), Bytes(interleave_high(even_high, odd_high))};
}

/// Sums over time of sixteen inputs' samples of one part, which come plus 128.
class OffsetSums {
 public:
  void add(Bytes offset) {
    low_ += Words(interleave_low(offset, Bytes{}));
    high_ += Words(interleave_high(offset, Bytes{}));
    if (++n_ % 256 == 0) flush();  // 257 times 255 would still fit into a word
  }
  std::int32_t without_offsets(std::size_t k) {
    flush();
    return sums_[k] - 128 * n_;
  }

 private:
  void flush() {
    for (std::size_t k = 0; k < 8; ++k) {
      sums_[k] += low_[k];
      sums_[8 + k] += high_[k];
    }
    low_ = high_ = Words{};
  }
  Words low_{}, high_{};
  std::int32_t n_ = 0;
  std::array<std::int32_t, 16> sums_{};
};

}  // namespace

PackedBlock::PackedBlock(std::size_t n_input, std::size_t max_time)
    : n_input_(n_input),
      max_step_((max_time + 3) / 4),
      offset_(aligned<std::uint8_t>(n_group() * max_step_ * 128)),
      // Not a power of two, or the inputs would fall into the same lines of the cache.
      input_stride_(max_step_ * 8 + 64),
      plain_(aligned<std::int8_t>(n_group() * kGroup * input_stride_)),
      sum_(n_group() * kGroup) {}

void PackedBlock::fill(const SampleView& samples, std::size_t channel, std::size_t first, std::size_t n,
                       const SampleMask* mask) {
  n_step_ = (n + 3) / 4;
  const Bits bits(samples.format);
  const bool one_byte = samples.format.bytes == 1;
  const std::ptrdiff_t time_stride = samples.time_stride;
  for (std::size_t group = 0; group < n_group(); ++group) {
    const std::size_t input = group * kGroup, inputs = std::min(kGroup, n_input_ - input);
    const bool whole = inputs == kGroup && samples.input_stride == samples.format.bytes;
    const std::uint8_t* codes = samples.bytes + static_cast<std::ptrdiff_t>(channel) * samples.channel_stride +
                                static_cast<std::ptrdiff_t>(input) * samples.input_stride +
                                static_cast<std::ptrdiff_t>(first) * time_stride;
    std::uint8_t* offset = offset_.get() + group * max_step_ * 128;
    std::int8_t* plain = plain_.get() + input * input_stride_;
    OffsetSums sum_re, sum_im;
    for (std::size_t step = 0; step < n_step_; ++step) {
      std::array<Bytes, 4> re{}, im{};
      for (std::size_t k = 0; k < std::min<std::size_t>(4, n - 4 * step); ++k) {
        const std::size_t time = 4 * step + k;
        const std::uint8_t* at = codes + static_cast<std::ptrdiff_t>(time) * time_stride;
        Numbers numbers = !whole     ? decode_single(samples, first + time, channel, input, inputs)
                          : one_byte ? decode_bytes(at, bits)
                                     : decode_words(at, bits);
        if (mask != nullptr) leave_out(numbers, *mask, first + time, input, inputs);
        re[k] = numbers.re;
        im[k] = numbers.im;
      }
      for (std::size_t k = 0; k < 4; ++k) {
        sum_re.add(re[k] ^ std::uint8_t{128});
        sum_im.add(im[k] ^ std::uint8_t{128});
      }
      re = by_input(re);
      im = by_input(im);
      for (std::size_t q = 0; q < 4; ++q) {
        const Bytes offset_re = re[q] ^ std::uint8_t{128}, offset_im = im[q] ^ std::uint8_t{128};
        std::memcpy(offset + step * 128 + 16 * q, &offset_re, 16);
        std::memcpy(offset + step * 128 + 64 + 16 * q, &offset_im, 16);
        const Quads low = interleave_low(Quads(re[q]), Quads(im[q])),
                    high = interleave_high(Quads(re[q]), Quads(im[q]));
        std::int8_t* at = plain + 4 * q * input_stride_ + step * 8;
        std::memcpy(at, &low, 8);
        std::memcpy(at + input_stride_, reinterpret_cast<const char*>(&low) + 8, 8);
        std::memcpy(at + 2 * input_stride_, &high, 8);
        std::memcpy(at + 3 * input_stride_, reinterpret_cast<const char*>(&high) + 8, 8);
      }
    }
    for (std::size_t k = 0; k < kGroup; ++k) sum_[input + k] = {sum_re.without_offsets(k), sum_im.without_offsets(k)};
  }
}

}  // namespace rimetree::correlator
