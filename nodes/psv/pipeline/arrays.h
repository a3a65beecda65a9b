// What kernels for devices read, whatever their method: plain arrays and numbers, the same for a GPU and for the host
// code that takes its place in tests, and the formulas that all of them begin with.
#pragma once

#include <cstdint>

#include "nodes/psv/blocks.h"
#include "nodes/psv/kernel.h"
#include "runtime/math/complex.h"
#include "runtime/math/double_double.h"
#include "runtime/math/jones.h"

namespace rimetree::psv::pipeline {

/// Sizes of the direct kernel. A thread has `kChannels` channels of one row; a block has `kThreads`: several tiles of
/// channels of several rows. They stage as many (source, row) pairs at a time as there are threads.
struct DeviceShape {
  static constexpr int kChannels = kTileChannels;  ///< accumulators of a thread stay in registers
  static constexpr int kThreads = 128;
  static constexpr int kMostTiles = kMaxTiles;  ///< threads side by side along a run
  static constexpr int kLeastRows = 4;          ///< of a block
  /// Room for staged pairs, one more for each source of a stage. Threads side by side read array after array of so
  /// many: an odd number keeps them off each other's banks.
  static constexpr int kPairs = kThreads + kThreads / kLeastRows + 1;
  static constexpr int kBlockSources = psv::kBlockSources;  ///< singles are summed over so many, then doubles
};

struct alignas(16) DeviceSource {  // read two numbers at a time
  double l, m, n_high, n_low;
  ShapeAxes<double> axes;  ///< zero for points
};

/// Channels that one block covers: a regular run (see Run), or any that are next to each other.
struct DeviceRun {
  std::int32_t first, count;  ///< channels
  std::int32_t n_tile;
  double middle_high, middle_low, half_step_high, half_step_low;  ///< turns per metre
  double first_hz, spacing_hz, middle_hz, lowest_hz;
  double width_per_metre;  ///< width / c
};

struct DeviceChannel {
  double turns_high, turns_low;  ///< nu / c, turns per metre
  double frequency_hz, width_per_metre;
  double residual;               ///< actual minus regular frequency, over c
  double middle_over_frequency;  ///< that of the middle of its regular run over its own
};

struct DeviceRow {
  double u, v, w, du, dv, dw;      ///< metres; metres per second
  double exposure;                 ///< over c, seconds per metre times seconds
  std::int32_t left, right, time;  ///< which Jones products apply
  std::int32_t p, q;               ///< its antennas, where the launch has their seeds
};

/// Products of all Jones terms of one side, [product][time][channel of the launch][source][XX XY YX YY]; an axis on
/// which none varies has stride 0.
template <class T>
struct DeviceJones {
  const Complex<T>* value = nullptr;
  std::int64_t count = 0;  ///< all values
  std::int64_t product = 0, time = 0, channel = 0;
};

/// What launches of all methods are told of a sum: some sources at some channels. Arrays are device memory.
template <class T>
struct SumJob {
  const DeviceSource* source = nullptr;
  const T* weight = nullptr;  ///< [source][weight channel][weight plane]; null with Jones terms
  const DeviceRun* run = nullptr;
  const DeviceChannel* channel = nullptr;
  DeviceJones<T> left, right;
  Complex<double>* out = nullptr;  ///< [row][XX XY YX YY][channel of this launch]

  std::int32_t n_source = 0, n_row = 0, n_run = 0;
  std::int32_t n_channel = 0;                         ///< of the channel array
  std::int32_t first_channel = 0, n_out_channel = 0;  ///< of this launch, those of its runs
  std::int32_t n_weight_channel = 1;                  ///< 1 or n_channel
  std::int32_t n_plane = 1;         ///< 1, 2 or 4 Stokes-like ones; or as the method takes Jones terms
  std::int32_t n_weight_plane = 1;  ///< n_plane or, where the others have no flux, more
  Plane plane[4] = {};              ///< of up to four
  bool regular = true;              ///< runs are regular: phasors advance from channel to channel
  bool accumulate = false;          ///< adds to `out`

  RT_HD bool with_jones() const { return left.value != nullptr; }
  RT_HD bool jones_vary() const { return left.channel != 0 || right.channel != 0; }  ///< along channels
};

/// Calls f(array, number of elements) for each array that is there.
template <class T, class F>
void for_each_sum_array(SumJob<T>& job, F&& f) {
  f(job.source, job.n_source);
  if (job.weight != nullptr) f(job.weight, std::int64_t{job.n_source} * job.n_weight_channel * job.n_weight_plane);
  f(job.run, job.n_run);
  f(job.channel, job.n_channel);
  if (job.left.value != nullptr) f(job.left.value, job.left.count);
  if (job.right.value != nullptr) f(job.right.value, job.right.count);
  if (job.out != nullptr) f(job.out, std::int64_t{4} * job.n_row * job.n_out_channel);
}

template <class T>
RT_HD Jones<T> jones_at(const DeviceJones<T>& side, int product, int time, int channel, int source) {
  const Complex<T>* e = side.value + product * side.product + time * side.time + channel * side.channel + 4 * source;
  return {e[0], e[1], e[2], e[3]};
}
/// exp(2 pi i turns), for turns within about [-1/2, 1/2].
RT_HD inline Complex<double> turn(double turns) {
#ifdef __CUDA_ARCH__
  double s, c;
  sincospi(2 * turns, &s, &c);
  return {c, s};
#else
  return polar(1.0, 2 * kPi * turns);
#endif
}

/// Kernels come in instances by the number of planes that they sum up: calls f.template operator()<kPlanes>() with the
/// least number of planes for which there are kernels.
template <class F>
void with_planes(int n_plane, F&& f) {
  switch (n_plane) {
    case 1:
      return f.template operator()<1>();
    case 2:
      return f.template operator()<2>();
    case 4:
      return f.template operator()<4>();
    default:
      return f.template operator()<8>();
  }
}

/// From the two in the middle of some values to all of them, by x_{k+1} = step x_k - x_{k-1}: three steps lose less
/// than ten units in the last place.
template <class X, class T, int kCount>
RT_HD void step_outwards(T step, X (&x)[kCount]) {
  constexpr int kHalf = kCount / 2;
  RT_UNROLL
  for (int k = 1; k < kHalf; ++k) {
    x[kHalf + k] = step * x[kHalf + k - 1] - x[kHalf + k - 2];
    x[kHalf - 1 - k] = step * x[kHalf - k] - x[kHalf + 1 - k];
  }
}

}  // namespace rimetree::psv::pipeline
