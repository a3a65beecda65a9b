// The F-engine's kernels on a device: samples are weighted and added up (a window, or a polyphase filter bank), Fourier
// transformed, turned by their phases and rounded to codes.
//
// Blocks of 256 threads have 32 inputs times 32 samples (or channels) of one spectrum: what is read along one of them
// is written along the other, by way of shared memory.
#pragma once

#include <cmath>

#include "nodes/correlator/device/codes.h"
#include "runtime/math/complex.h"

namespace rimetree::correlator {

constexpr int kSpectraTile = 32, kSpectraThreads = 256, kSpectraOwn = kSpectraTile * kSpectraTile / kSpectraThreads;

/// What a block of threads has: a spectrum, and where its inputs and samples (or channels) begin.
struct SpectraPlace {
  std::int64_t spectrum, input, along;
};
RT_HD constexpr std::int64_t tiles(std::int64_t n) { return (n + kSpectraTile - 1) / kSpectraTile; }

struct FoldJob {
  CodeView from;
  const float* weight = nullptr;        ///< [length]
  const std::int64_t* start = nullptr;  ///< [input] where in `from` the window of the first spectrum begins
  Complex<float>* signal = nullptr;     ///< [input][spectrum][step]
  std::int32_t n_spectrum = 0, step = 0, length = 0, turn = 0, is_plain = 0;
};
template <class F>
void for_each_array(FoldJob& job, F&& f) {
  for_each_array(job.from, f);
  f(job.weight, job.length);
  f(job.start, job.from.n_input);
  f(job.signal, std::int64_t{job.from.n_input} * job.n_spectrum * job.step);
}

struct FoldShared {
  Complex<float> sample[kSpectraTile][kSpectraTile + 1];  ///< [input][sample]
};

/// Threads side by side have inputs side by side.
RT_HD inline void fold(const FoldJob& job, const SpectraPlace& at, int thread, FoldShared& shared) {
  const int column = thread % kSpectraTile;
  const std::int64_t input = at.input + column;
  for (int k = 0; k < kSpectraOwn; ++k) {
    const int row = thread / kSpectraTile + k * (kSpectraThreads / kSpectraTile);
    const std::int64_t sample = at.along + row;
    if (input >= job.from.n_input || sample >= job.step) continue;
    const std::int64_t first = job.start[input] + at.spectrum * job.step;
    Complex<float> sum(0.0f, 0.0f);
    for (std::int64_t b = (sample + job.step - job.turn) % job.step; b < job.length; b += job.step) {
      const Numbers x = job.from.numbers(first + b, 0, input);
      const float weight = job.weight[b];
      if (job.is_plain != 0) {
        sum = {static_cast<float>(x.re), static_cast<float>(x.im)};
        continue;
      }
      sum.re += weight * static_cast<float>(x.re);
      sum.im += weight * static_cast<float>(x.im);
    }
    shared.sample[column][row] = sum;
  }
}
RT_HD inline void store_folded(const FoldJob& job, const SpectraPlace& at, int thread, const FoldShared& shared) {
  const int column = thread % kSpectraTile;
  for (int k = 0; k < kSpectraOwn; ++k) {
    const int row = thread / kSpectraTile + k * (kSpectraThreads / kSpectraTile);
    if (at.input + row >= job.from.n_input || at.along + column >= job.step) continue;
    job.signal[((at.input + row) * job.n_spectrum + at.spectrum) * job.step + at.along + column] =
        shared.sample[row][column];
  }
}

struct QuantiseJob {
  const Complex<float>* bins = nullptr;    ///< [input][spectrum][step]
  const Complex<float>* phases = nullptr;  ///< [input][channel] with the scale in them; nullptr: the scale alone
  std::uint8_t* codes = nullptr;           ///< [channel][n_time][input]
  std::uint32_t* cut_off = nullptr;        ///< [block of threads] counts
  CodeBits bits;
  float scale = 1;
  std::int32_t n_spectrum = 0, step = 0, n_channel = 0, n_input = 0;
  std::int32_t zero = 0;               ///< bin of channel 0
  std::int32_t n_time = 0, first = 0;  ///< spectra in `codes`, and where these come there

  RT_HD std::int64_t n_block() const { return n_spectrum * tiles(n_channel) * tiles(n_input); }
};
template <class F>
void for_each_array(QuantiseJob& job, F&& f) {
  f(job.bins, std::int64_t{job.n_input} * job.n_spectrum * job.step);
  f(job.phases, std::int64_t{job.n_input} * job.n_channel);
  f(job.codes, std::int64_t{job.bits.bytes} * job.n_channel * job.n_time * job.n_input);
  f(job.cut_off, job.n_block());
}

struct QuantiseShared {
  std::uint16_t code[kSpectraTile][kSpectraTile + 2];  ///< [input][channel]
  std::uint32_t cut_off[kSpectraThreads];
};

/// To the nearest integer, the even one of two, within the format's range.
RT_HD inline int rounded(float x, float low, float high, std::uint32_t& cut_off) {
  cut_off += x < low - 0.5f || x > high + 0.5f ? 1 : 0;
  const float inside = x < low ? low : x > high ? high : x;
  return static_cast<int>(rintf(inside));
}

/// Threads side by side have channels side by side.
RT_HD inline void quantise(const QuantiseJob& job, const SpectraPlace& at, int thread, QuantiseShared& shared) {
  const int column = thread % kSpectraTile, half = 1 << (job.bits.bits - 1);
  const std::int64_t channel = at.along + column;
  const float low = static_cast<float>(-half), high = static_cast<float>(half - 1);
  std::uint32_t cut_off = 0;
  for (int k = 0; k < kSpectraOwn; ++k) {
    const int row = thread / kSpectraTile + k * (kSpectraThreads / kSpectraTile);
    const std::int64_t input = at.input + row;
    if (input >= job.n_input || channel >= job.n_channel) continue;
    const std::int64_t bin = (job.zero + channel) % job.step;
    const Complex<float> x = job.bins[(input * job.n_spectrum + at.spectrum) * job.step + bin];
    Complex<float> y(x.re * job.scale, x.im * job.scale);
    if (job.phases != nullptr) {
      const Complex<float> turn = job.phases[input * job.n_channel + channel];
      y = Complex<float>(x.re * turn.re - x.im * turn.im, x.re * turn.im + x.im * turn.re);
    }
    const int re = rounded(y.re, low, high, cut_off), im = rounded(y.im, low, high, cut_off);
    shared.code[row][column] = static_cast<std::uint16_t>(job.bits.code(re, im));
  }
  shared.cut_off[thread] = cut_off;
}
RT_HD inline void store_codes(const QuantiseJob& job, const SpectraPlace& at, std::int64_t block, int thread,
                              const QuantiseShared& shared) {
  const int column = thread % kSpectraTile;
  for (int k = 0; k < kSpectraOwn; ++k) {
    const int row = thread / kSpectraTile + k * (kSpectraThreads / kSpectraTile);
    const std::int64_t channel = at.along + row, input = at.input + column;
    if (channel >= job.n_channel || input >= job.n_input) continue;
    const std::int64_t to = (channel * job.n_time + job.first + at.spectrum) * job.n_input + input;
    const std::uint16_t code = shared.code[column][row];
    if (job.bits.bytes == 1)
      job.codes[to] = static_cast<std::uint8_t>(code);
    else
      reinterpret_cast<std::uint16_t*>(job.codes)[to] = code;
  }
  if (thread != 0) return;
  std::uint32_t all = 0;
  for (int k = 0; k < kSpectraThreads; ++k) all += shared.cut_off[k];
  job.cut_off[block] += all;
}

/// Where block number `block` of a job works: inputs change fastest, then what is along, then spectra.
RT_HD inline SpectraPlace spectra_place(std::int64_t block, std::int64_t n_input, std::int64_t n_along) {
  const std::int64_t inputs = tiles(n_input), alongs = tiles(n_along);
  return {block / inputs / alongs, block % inputs * kSpectraTile, block / inputs % alongs * kSpectraTile};
}

}  // namespace rimetree::correlator
