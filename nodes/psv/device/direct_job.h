// What one launch of the PSV kernel on a device works on: plain arrays and numbers, the same for a GPU and for the
// host code that takes its place in tests.
#pragma once

#include "nodes/psv/device/antenna_seeds.h"

namespace rimetree::psv::device {
using namespace pipeline;

/// What a kernel can do, from the fastest to the one that can do all: sums of phasors with constant weights; phasors of
/// regular runs with amplitudes of their own at each channel, or Jones terms that do not vary along channels; anything.
enum class DirectKind : std::uint8_t { kPlain, kShaped, kGeneral };

/// Arrays are device memory.
template <class T>
struct DirectJob : SumJob<T> {
  const DeviceRow* row = nullptr;
  const Seed<T>* antenna_seed = nullptr;  ///< [run][source][antenna]; null: rows make their own
  std::int32_t n_antenna = 0;
  const Complex<T>* brightness = nullptr;  ///< [source][XX XY YX YY]; null where it is part of the products on the left

  std::int32_t tile_bits = 0;   ///< 2^tile_bits tiles per row, kMostTiles at most
  std::int32_t group_bits = 0;  ///< 2^group_bits threads share the sources of a tile, so that few rows fill a device
  bool smear_time = false, smear_frequency = false;
  Profile profile = kPoint;  ///< of all its sources
  bool residual = false;     ///< channels are turned by their residuals

  RT_HD bool taper() const { return profile != kPoint; }
  /// Whether anything but constant weights and phasors is needed.
  bool general() const {
    return !this->regular || smear_time || taper() || residual || this->n_weight_channel > 1 || this->with_jones();
  }
  DirectKind kind() const {
    if (!general()) return DirectKind::kPlain;
    const bool any = !this->regular || this->jones_vary() || (taper() && !is_exponential(profile));
    return any ? DirectKind::kGeneral : DirectKind::kShaped;
  }
  RT_HD int tiles() const { return 1 << tile_bits; }
  RT_HD int groups() const { return 1 << group_bits; }
  RT_HD int stage_sources() const { return tiles() * groups(); }
  RT_HD int rows_per_block() const { return DeviceShape::kThreads >> (tile_bits + group_bits); }
};

/// Calls f(array, number of elements) for each array that is there.
template <class T, class F>
void for_each_array(DirectJob<T>& job, F&& f) {
  for_each_sum_array(job, f);
  f(job.row, job.n_row);
  if (job.antenna_seed != nullptr) f(job.antenna_seed, std::int64_t{job.n_run} * job.n_source * job.n_antenna);
  if (job.brightness != nullptr) f(job.brightness, std::int64_t{4} * job.n_source);
}

/// Queues a launch on whatever device the queue belongs to (runtime/device/job_launch.h). The arrays that a job names
/// must stay until it is done. Throws std::logic_error on a GPU without the plugin.
void launch(memory::Queue& queue, const DirectJob<float>& job);
void launch(memory::Queue& queue, const DirectJob<double>& job);

}  // namespace rimetree::psv::device
