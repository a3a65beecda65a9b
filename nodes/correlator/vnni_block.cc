#include "nodes/correlator/vnni_block.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <cstring>

namespace rimetree::correlator {

VnniBlock::VnniBlock(std::size_t n_input, std::size_t max_time)
    : n_input_(n_input),
      max_step_((max_time + 7) / 8 * 2),
      offset_(aligned<std::uint8_t>(n_group() * max_step_ * kStepBytes)),
      // Not a power of two, or the inputs would fall into the same lines of the cache.
      input_stride_(max_step_ * 8 + 64),
      plain_(aligned<std::int8_t>(n_group() * kGroup * input_stride_)),
      sum_(n_group() * kGroup) {}

}  // namespace rimetree::correlator

// Intrinsics of one instruction set: what is compiled between these lines runs where it is present only.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // of g++ 12 in its own header (its bug 105593)
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")

namespace rimetree::correlator {

namespace {

constexpr std::size_t kSixteen = VnniBlock::kGroup;

/// How codes become numbers plus 128: ((code >> shift) & mask ^ turned) + rest. Two's complement becomes excess where
/// its highest bit is turned.
struct VnniBits {
  int bytes, re_shift, im_shift;
  int mask, turned, rest;
  explicit VnniBits(const SampleFormat& format)
      : bytes(format.bytes),
        re_shift(format.re_shift),
        im_shift(format.im_shift),
        mask((1 << format.bits) - 1),
        turned(format.coding == Coding::excess ? 0 : 1 << (format.bits - 1)),
        rest(128 - (1 << (format.bits - 1))) {}
};

/// Sixteen codes at each of four times, of one or two bytes, and how they lie in memory.
struct Codes {
  const std::uint8_t* at;
  std::ptrdiff_t time_stride;
};

inline __m512i quarters(const std::uint8_t* a, const std::uint8_t* b, const std::uint8_t* c, const std::uint8_t* d) {
  const auto load = [](const std::uint8_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); };
  const __m512i two = _mm512_inserti32x4(_mm512_castsi128_si512(load(a)), load(b), 1);
  return _mm512_inserti32x4(_mm512_inserti32x4(two, load(c), 2), load(d), 3);
}

/// One number of each code plus 128; bytes in the order of the codes, or what packing leaves of words.
inline __m512i bytes_of(__m512i codes, int shift, const VnniBits& bits) {
  const __m512i number = _mm512_and_si512(_mm512_srl_epi16(codes, _mm_cvtsi32_si128(shift)),
                                          _mm512_set1_epi8(static_cast<char>(bits.mask)));
  return _mm512_add_epi8(_mm512_xor_si512(number, _mm512_set1_epi8(static_cast<char>(bits.turned))),
                         _mm512_set1_epi8(static_cast<char>(bits.rest)));
}
inline __m512i words_of(__m512i codes, int shift, const VnniBits& bits) {
  const __m512i number = _mm512_and_si512(_mm512_srl_epi16(codes, _mm_cvtsi32_si128(shift)),
                                          _mm512_set1_epi16(static_cast<short>(bits.mask)));
  return _mm512_add_epi16(_mm512_xor_si512(number, _mm512_set1_epi16(static_cast<short>(bits.turned))),
                          _mm512_set1_epi16(static_cast<short>(bits.rest)));
}

/// Numbers plus 128 of sixteen inputs, [input][4 times].
struct Step {
  __m512i re, im;
};

/// Within each quarter the bytes of four times of four inputs, from [time][input] to [input][time].
inline __m512i by_input(__m512i numbers, __m512i fours) {
  const __m512i turn = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
  return _mm512_shuffle_epi8(_mm512_permutexvar_epi32(fours, numbers), turn);
}

inline Step decoded(const Codes& codes, const VnniBits& bits) {
  const std::ptrdiff_t stride = codes.time_stride;
  const std::uint8_t* at = codes.at;
  if (bits.bytes == 1) {
    const __m512i four = quarters(at, at + stride, at + 2 * stride, at + 3 * stride),
                  fours = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return {by_input(bytes_of(four, bits.re_shift, bits), fours), by_input(bytes_of(four, bits.im_shift, bits), fours)};
  }
  // Packing takes eight words of either side in turn: first halves of times 0 and 1, second halves, of 2 and 3.
  const __m512i a = quarters(at, at + 16, at + 2 * stride, at + 2 * stride + 16),
                b = quarters(at + stride, at + stride + 16, at + 3 * stride, at + 3 * stride + 16),
                fours = _mm512_setr_epi32(0, 2, 8, 10, 1, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15);
  const auto part = [&](int shift) {
    return by_input(_mm512_packus_epi16(words_of(a, shift, bits), words_of(b, shift, bits)), fours);
  };
  return {part(bits.re_shift), part(bits.im_shift)};
}

/// Four bits for each of sixteen inputs: the times [first, first + 4) that count.
std::uint64_t kept(const SampleMask* mask, std::size_t input, std::size_t inputs, std::size_t first, std::size_t n) {
  std::uint64_t all = 0;
  for (std::size_t k = 0; k < inputs; ++k)
    for (std::size_t t = 0; t < std::min<std::size_t>(4, n); ++t)
      if (mask == nullptr || mask->counts(input + k, first + t)) all |= std::uint64_t{1} << (4 * k + t);
  return all;
}

/// Adds up four numbers of each input.
inline __m512i with_sums(__m512i sums, __m512i offset) {
  return _mm512_dpbusd_epi32(sums, offset, _mm512_set1_epi8(1));
}

/// Writes two steps to the lines of sixteen inputs, [step][re, im][4 times] each.
inline void store_lines(const Step (&steps)[2], std::int8_t* to, std::size_t stride) {
  const __m512i minus = _mm512_set1_epi8(static_cast<char>(128));
  __m512i low[2], high[2];  // of each four inputs the first two and the last two
  for (int s = 0; s < 2; ++s) {
    const __m512i re = _mm512_xor_si512(steps[s].re, minus), im = _mm512_xor_si512(steps[s].im, minus);
    low[s] = _mm512_unpacklo_epi32(re, im);
    high[s] = _mm512_unpackhi_epi32(re, im);
  }
  const __m512i lines[4] = {_mm512_unpacklo_epi64(low[0], low[1]), _mm512_unpackhi_epi64(low[0], low[1]),
                            _mm512_unpacklo_epi64(high[0], high[1]), _mm512_unpackhi_epi64(high[0], high[1])};
  for (std::size_t k = 0; k < 4; ++k) {
    const auto put = [&](__m128i line, std::size_t four) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + (4 * four + k) * stride), line);
    };
    put(_mm512_castsi512_si128(lines[k]), 0);
    put(_mm512_extracti32x4_epi32(lines[k], 1), 1);
    put(_mm512_extracti32x4_epi32(lines[k], 2), 2);
    put(_mm512_extracti32x4_epi32(lines[k], 3), 3);
  }
}

}  // namespace

void VnniBlock::fill_group(const SampleView& samples, std::size_t channel, std::size_t first, std::size_t n,
                           const SampleMask* mask, std::size_t group) {
  const VnniBits bits(samples.format);
  const auto bytes = static_cast<std::size_t>(samples.format.bytes);
  const std::size_t input = group * kGroup, inputs = std::min(kGroup, n_input_ - input);
  const bool whole = inputs == kGroup && samples.input_stride == samples.format.bytes;
  const std::uint8_t* codes = samples.bytes + static_cast<std::ptrdiff_t>(channel) * samples.channel_stride +
                              static_cast<std::ptrdiff_t>(input) * samples.input_stride +
                              static_cast<std::ptrdiff_t>(first) * samples.time_stride;
  std::uint8_t gathered[4 * 2 * kGroup] = {};
  std::uint8_t* offset = offset_.get() + group * max_step_ * kStepBytes;
  std::int8_t* plain = plain_.get() + input * input_stride_;
  const __m512i zero = _mm512_set1_epi8(static_cast<char>(128));
  // Of the numbers, without the 128 that they come with.
  __m512i sum_re = _mm512_set1_epi32(static_cast<int>(n_step_) * -512), sum_im = sum_re;
  for (std::size_t pair = 0; pair < n_step_ / 2; ++pair) {
    Step steps[2] = {{zero, zero}, {zero, zero}};
    for (std::size_t s = 0; s < 2; ++s) {
      const std::size_t time = 8 * pair + 4 * s;
      if (time >= n) break;
      Codes four{codes + static_cast<std::ptrdiff_t>(time) * samples.time_stride, samples.time_stride};
      if (!whole || time + 4 > n) {
        for (std::size_t t = 0; t < std::min<std::size_t>(4, n - time); ++t)
          for (std::size_t k = 0; k < inputs; ++k)
            std::memcpy(gathered + (t * kGroup + k) * bytes,
                        four.at + static_cast<std::ptrdiff_t>(t) * samples.time_stride +
                            static_cast<std::ptrdiff_t>(k) * samples.input_stride,
                        bytes);
        four = {gathered, static_cast<std::ptrdiff_t>(kGroup * bytes)};
      }
      steps[s] = decoded(four, bits);
      if (mask != nullptr || inputs < kGroup || time + 4 > n) {
        const auto keep = static_cast<__mmask64>(kept(mask, input, inputs, first + time, n - time));
        steps[s] = {_mm512_mask_blend_epi8(keep, zero, steps[s].re), _mm512_mask_blend_epi8(keep, zero, steps[s].im)};
      }
    }
    for (std::size_t s = 0; s < 2; ++s) {
      _mm512_store_si512(offset + (2 * pair + s) * kStepBytes, steps[s].re);
      _mm512_store_si512(offset + (2 * pair + s) * kStepBytes + kStepBytes / 2, steps[s].im);
      sum_re = with_sums(sum_re, steps[s].re);
      sum_im = with_sums(sum_im, steps[s].im);
    }
    store_lines(steps, plain + pair * 16, input_stride_);
  }
  std::array<std::int32_t, kGroup> re, im;
  _mm512_storeu_si512(re.data(), sum_re);
  _mm512_storeu_si512(im.data(), sum_im);
  for (std::size_t k = 0; k < kGroup; ++k) sum_[input + k] = {re[k], im[k]};
}

void VnniBlock::fill(const SampleView& samples, std::size_t channel, std::size_t first, std::size_t n,
                     const SampleMask* mask) {
  n_step_ = (n + 7) / 8 * 2;
  for (std::size_t group = 0; group < n_group(); ++group) fill_group(samples, channel, first, n, mask, group);
}

}  // namespace rimetree::correlator

#pragma GCC pop_options
#pragma GCC diagnostic pop

#endif
