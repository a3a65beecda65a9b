// CHIME's X-engine: blocks of 8 by 8 threads have tiles of 32 by 32 inputs, each thread 4 by 4 products, and one
// multiply-add makes two products of nibbles in excess-8 (Klages et al. 2015, arXiv:1503.06203, section III). Kept as
// it was published, to be compared with.
//
//   for every 256 times:  for every 8 of them:  stage |sync| multiply |sync|     take the sums out of the words
//
// The eights take part in every product; sums over single inputs take them out again (equation 3), by two kernels of
// their own.
#pragma once

#include "nodes/correlator/device/unpack_job.h"

namespace rimetree::correlator {

struct NibbleJob {
  const std::uint8_t* nibble = nullptr;  ///< Turned::nibbles
  std::int32_t* input_sum = nullptr;     ///< [channel][input][re, im] of the codes
  PairSums sums;                         ///< pairs are tiles of 32 by 32 inputs
  std::int32_t n_time = 0, n_padded = 0, first_channel = 0, n_channel = 0;
};
template <class F>
void for_each_array(NibbleJob& job, F&& f) {
  for_each_array(job.sums, f);
  f(job.nibble, std::int64_t{job.sums.n_channel} * job.n_time * job.n_padded);
  f(job.input_sum, std::int64_t{job.sums.n_channel} * job.sums.n_input * 2);
}

constexpr int kNibbleSide = 8, kNibbleThreads = kNibbleSide * kNibbleSide, kNibbleOwn = 4, kNibbleStage = 8,
              kNibbleTimes = 256;
static_assert(kNibbleTimes <= 65535 / (15 * 15), "two sums of 16 bits in a word");

/// Inputs i and j of a tile at 8 times, the real part in the upper half of each word.
struct NibbleStaged {
  std::uint32_t word[2][kNibbleStage][kPackedTile];
};
/// A thread's sums: packed ones of at most 256 times, and of all.
struct NibbleTotals {
  std::uint32_t by_re[kNibbleOwn][kNibbleOwn] = {}, by_im[kNibbleOwn][kNibbleOwn] = {};
  std::int32_t re[kNibbleOwn][kNibbleOwn] = {}, im[kNibbleOwn][kNibbleOwn] = {};
};

RT_HD inline void stage_nibbles(const NibbleJob& job, int tile, std::int64_t channel, int thread, std::int64_t first,
                                NibbleStaged& to) {
  constexpr int kWords = kPackedTile / 4;  // four inputs are read at once
  const PairSums::Pair pair = job.sums.pair[tile];
  for (int k = thread; k < 2 * kNibbleStage * kWords; k += kNibbleThreads) {
    const int side = k / (kNibbleStage * kWords), row = k / kWords % kNibbleStage, four = k % kWords;
    const std::int64_t time = first + row, input = std::int64_t{side == 0 ? pair.i : pair.j} * kPackedTile + 4 * four;
    std::uint32_t codes = 0;  // of no sample: they add nothing
    if (time < job.n_time)
      codes =
          *reinterpret_cast<const std::uint32_t*>(job.nibble + (channel * job.n_time + time) * job.n_padded + input);
    RT_UNROLL
    for (int b = 0; b < 4; ++b) {
      const std::uint32_t code = codes >> 8 * b & 255;
      to.word[side][row][4 * four + b] = (code >> 4) << 16 | (code & 15);
    }
  }
}

RT_HD inline void multiply_nibbles(int thread, const NibbleStaged& from, NibbleTotals& total) {
  const int first_i = thread / kNibbleSide * kNibbleOwn, first_j = thread % kNibbleSide * kNibbleOwn;
  RT_UNROLL
  for (int t = 0; t < kNibbleStage; ++t) RT_UNROLL
  for (int a = 0; a < kNibbleOwn; ++a) {
    const std::uint32_t x = from.word[0][t][first_i + a], re = x >> 16, im = x & 0xffff;
    RT_UNROLL
    for (int b = 0; b < kNibbleOwn; ++b) {
      const std::uint32_t y = from.word[1][t][first_j + b];
      total.by_re[a][b] += re * y;
      total.by_im[a][b] += im * y;
    }
  }
}

/// After every 256 times, and at the end.
RT_HD inline void take_nibbles_out(NibbleTotals& total) {
  RT_UNROLL
  for (int a = 0; a < kNibbleOwn; ++a) RT_UNROLL
  for (int b = 0; b < kNibbleOwn; ++b) {
    std::uint32_t &by_re = total.by_re[a][b], &by_im = total.by_im[a][b];
    total.re[a][b] += static_cast<std::int32_t>((by_re >> 16) + (by_im & 0xffff));
    total.im[a][b] += static_cast<std::int32_t>(by_im >> 16) - static_cast<std::int32_t>(by_re & 0xffff);
    by_re = by_im = 0;
  }
}

RT_HD inline void store_nibbles(const NibbleJob& job, int tile, std::int64_t channel, int thread,
                                const NibbleTotals& total) {
  const PairSums::Pair pair = job.sums.pair[tile];
  const std::int64_t i = std::int64_t{pair.i} * kPackedTile + thread / kNibbleSide * kNibbleOwn,
                     j = std::int64_t{pair.j} * kPackedTile + thread % kNibbleSide * kNibbleOwn;
  RT_UNROLL
  for (int a = 0; a < kNibbleOwn; ++a) RT_UNROLL
  for (int b = 0; b < kNibbleOwn; ++b) job.sums.add(channel, i + a, j + b, total.re[a][b], total.im[a][b]);
}

/// First kernel of the correction: sums of the codes of input number `thread`, counted over all channels.
RT_HD inline void add_codes(const NibbleJob& job, std::int64_t thread) {
  if (thread >= std::int64_t{job.sums.n_channel} * job.sums.n_input) return;
  const std::int64_t input = thread % job.sums.n_input, channel = thread / job.sums.n_input;
  std::int32_t re = 0, im = 0;
  for (std::int64_t t = 0; t < job.n_time; ++t) {
    const int code = job.nibble[(channel * job.n_time + t) * job.n_padded + input];
    re += code >> 4;
    im += code & 15;
  }
  job.input_sum[2 * thread] = re;
  job.input_sum[2 * thread + 1] = im;
}

/// Second kernel: what the eights have brought in is taken out of a thread's 4 by 4 products.
RT_HD inline void correct_nibbles(const NibbleJob& job, int tile, std::int64_t channel, int thread) {
  const PairSums::Pair pair = job.sums.pair[tile];
  const std::int64_t i = std::int64_t{pair.i} * kPackedTile + thread / kNibbleSide * kNibbleOwn,
                     j = std::int64_t{pair.j} * kPackedTile + thread % kNibbleSide * kNibbleOwn;
  for (int a = 0; a < kNibbleOwn; ++a)
    for (int b = 0; b < kNibbleOwn; ++b) {
      if (i + a >= job.sums.n_input || j + b > i + a) continue;
      const std::int32_t *x = job.input_sum + 2 * (channel * job.sums.n_input + i + a),
                         *y = job.input_sum + 2 * (channel * job.sums.n_input + j + b);
      const std::int64_t x_re = x[0], x_im = x[1], y_re = y[0], y_im = y[1];
      job.sums.add(channel, i + a, j + b, -8 * (x_re + x_im + y_re + y_im) + 128 * std::int64_t{job.n_time},
                   8 * (x_re - x_im - y_re + y_im));
    }
}

}  // namespace rimetree::correlator
