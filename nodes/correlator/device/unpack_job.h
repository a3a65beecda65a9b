// Codes become what the kernels of products read: the corner turn of a correlator on a device.
#pragma once

#include "nodes/correlator/device/codes.h"

namespace rimetree::correlator {

/// What samples are turned into; what is masked, or not there, is zero.
enum class Turned : std::int32_t {
  /// Fragments of matrix units, [channel][32 times][16 inputs][re, im][lane][4 words of 4 times]: with g = lane / 4 and
  /// m = lane % 4 words 0 and 2 are input g at times 4 m and 16 + 4 m on, words 1 and 3 input g + 8 at the same (PTX
  /// ISA, "mma.m16n8k32"). The same words are rows of the left matrix and columns of the right one.
  fragments,
  /// [time][input][channel], the real part in the low byte and the imaginary part in the high one: threads that stand
  /// side by side have channels side by side, as in the first paper.
  channels,
  /// [channel][time][input, up to a multiple of 32], nibbles in excess-8, real part high: CHIME's.
  nibbles,
};

constexpr std::int32_t kFragmentInputs = 16, kFragmentTimes = 32, kFragmentWords = 128, kPackedTile = 32;

struct UnpackJob {
  CodeView from;
  Turned turned = Turned::fragments;
  std::uint32_t* fragment = nullptr;
  std::uint16_t* pair = nullptr;  ///< of bytes
  std::uint8_t* nibble = nullptr;
  std::int32_t n_step = 0, n_group = 0;  ///< of fragments: at least as many as there are samples for

  RT_HD std::int64_t n_padded() const {
    return (from.n_input + kPackedTile - 1) / kPackedTile * std::int64_t{kPackedTile};
  }
  /// Elements of the array that is filled.
  RT_HD std::int64_t size(Turned which) const {
    if (which != turned) return 0;
    if (turned == Turned::fragments) return std::int64_t{from.n_channel} * n_step * n_group * 2 * kFragmentWords;
    return std::int64_t{from.n_channel} * from.n_time * (turned == Turned::channels ? from.n_input : n_padded());
  }
  RT_HD std::int64_t n_thread() const {
    return turned == Turned::fragments ? size(Turned::fragments) / 8 : size(turned);
  }
};

template <class F>
void for_each_array(UnpackJob& job, F&& f) {
  for_each_array(job.from, f);
  f(job.fragment, job.size(Turned::fragments));
  f(job.pair, job.size(Turned::channels));
  f(job.nibble, job.size(Turned::nibbles));
}

/// A lane's words of both parts.
RT_HD inline void unpack_fragment(const UnpackJob& job, std::int64_t thread) {
  const std::int64_t lane = thread % 32, block = thread / 32, group = block % job.n_group,
                     step = block / job.n_group % job.n_step, channel = block / job.n_group / job.n_step;
  std::uint32_t* to = job.fragment + block * 2 * kFragmentWords + lane * 4;
  RT_UNROLL
  for (int word = 0; word < 4; ++word) {
    const std::int64_t input = group * kFragmentInputs + lane / 4 + word % 2 * 8,
                       time = step * kFragmentTimes + lane % 4 * 4 + word / 2 * 16;
    std::uint32_t re = 0, im = 0;
    RT_UNROLL
    for (int k = 0; k < 4; ++k) {
      const Numbers x = job.from.numbers(time + k, channel, input);
      re |= (static_cast<std::uint32_t>(x.re) & 255) << 8 * k;
      im |= (static_cast<std::uint32_t>(x.im) & 255) << 8 * k;
    }
    to[word] = re;
    to[kFragmentWords + word] = im;
  }
}

/// Thread number `thread` of the job.
RT_HD inline void unpack(const UnpackJob& job, std::int64_t thread) {
  if (thread >= job.n_thread()) return;
  if (job.turned == Turned::fragments) return unpack_fragment(job, thread);
  const CodeView& from = job.from;
  if (job.turned == Turned::channels) {
    const std::int64_t channel = thread % from.n_channel, row = thread / from.n_channel;
    const Numbers x = from.numbers(row / from.n_input, channel, row % from.n_input);
    job.pair[thread] = static_cast<std::uint16_t>((x.re & 255) | (x.im & 255) << 8);
    return;
  }
  const std::int64_t input = thread % job.n_padded(), row = thread / job.n_padded();
  const Numbers x = from.numbers(row % from.n_time, row / from.n_time, input);
  job.nibble[thread] = static_cast<std::uint8_t>((x.re + 8) << 4 | (x.im + 8));
}

}  // namespace rimetree::correlator
