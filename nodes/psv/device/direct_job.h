// What one launch of the PSV kernel on a device works on: plain arrays and numbers, the same for a GPU and for the
// host code that takes its place in tests.
#pragma once

#include "nodes/psv/pipeline/arrays.h"

namespace rimetree::psv {

/// Arrays are device memory.
template <class T>
struct DeviceJob {
  const DeviceSource* source = nullptr;
  const T* weight = nullptr;  ///< [source][weight channel][weight plane]; null with Jones terms
  const DeviceRow* row = nullptr;
  const DeviceRun* run = nullptr;
  const DeviceChannel* channel = nullptr;
  DeviceJones<T> left, right;
  const Complex<T>* brightness = nullptr;  ///< [source][XX XY YX YY]; null where it is part of the products on the left
  Complex<double>* out = nullptr;          ///< [row][XX XY YX YY][channel of this launch]

  std::int32_t n_source = 0, n_row = 0, n_run = 0;
  std::int32_t n_channel = 0;                         ///< of the channel array
  std::int32_t first_channel = 0, n_out_channel = 0;  ///< of this launch, those of its runs
  std::int32_t n_weight_channel = 1;                  ///< 1 or n_channel
  std::int32_t n_plane = 1;                      ///< 1, 2 or 4 Stokes-like ones, or 8: the parts of four correlations
  std::int32_t n_weight_plane = 1;               ///< n_plane or, where the others have no flux, more
  Plane plane[4] = {};                           ///< of up to four
  std::int32_t threads = DeviceShape::kThreads;  ///< per block, one of DeviceShape::kThreadVariants
  std::int32_t tile_bits = 0;                    ///< 2^tile_bits threads per row, kMostTiles at most
  bool regular = true;                           ///< runs are regular: phasors advance from channel to channel
  bool smear_time = false, smear_frequency = false;
  Profile profile = kPoint;  ///< of all its sources
  bool residual = false;     ///< channels are turned by their residuals
  bool accumulate = false;   ///< adds to `out`

  RT_HD bool with_jones() const { return left.value != nullptr; }
  RT_HD bool jones_vary() const { return left.channel != 0 || right.channel != 0; }  ///< along channels
  RT_HD bool taper() const { return profile != kPoint; }
  /// Whether anything but constant weights and phasors is needed.
  bool general() const { return !regular || smear_time || taper() || residual || n_weight_channel > 1 || with_jones(); }
  RT_HD int tiles() const { return 1 << tile_bits; }
  RT_HD int rows_per_block() const { return threads >> tile_bits; }
};

/// Calls f(array, number of elements) for each array that is there.
template <class T, class F>
void for_each_array(DeviceJob<T>& job, F&& f) {
  f(job.source, job.n_source);
  if (job.weight != nullptr) f(job.weight, std::int64_t{job.n_source} * job.n_weight_channel * job.n_weight_plane);
  f(job.row, job.n_row);
  f(job.run, job.n_run);
  f(job.channel, job.n_channel);
  if (job.left.value != nullptr) f(job.left.value, job.left.count);
  if (job.right.value != nullptr) f(job.right.value, job.right.count);
  if (job.brightness != nullptr) f(job.brightness, std::int64_t{4} * job.n_source);
  f(job.out, std::int64_t{4} * job.n_row * job.n_out_channel);
}

}  // namespace rimetree::psv
