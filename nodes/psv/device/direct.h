// The direct sum on devices: launches of each profile by itself, in chunks of sources, for whoever needs the sum, and
// as a method of the pipeline (pipeline/pipeline.h).
#pragma once

#include <algorithm>

#include "nodes/psv/device/direct_job.h"
#include "nodes/psv/pipeline/device_sky.h"

namespace rimetree::psv::device {

DeviceRow device_row(const Rows& rows, const JonesChains& jones, std::size_t r);

/// Calls f(begin, end) for each chunk of so many sources at most; sources of different profiles never
/// share one.
template <class F>
void for_each_chunk(const Sky<double>& sky, std::size_t most, F&& f) {
  for (const AlikeSources& sources : sky.alike())
    for (std::size_t begin = sources.begin; begin < sources.end; begin += most)
      f(begin, std::min(begin + most, sources.end));
}

/// Rows on a device, and the channels of which their visibilities are there.
struct DirectRows {
  const DeviceRow* d_rows = nullptr;
  std::size_t n_row = 0;
  const RunRange* range = nullptr;
  Complex<double>* d_out = nullptr;  ///< [row][XX XY YX YY][channel of the range]
  std::int32_t block_threads = DeviceShape::kThreads;
  memory::Queue* queue = nullptr;  ///< of the launches; null: that of the sky
};

/// A launch of sources [begin, end), which the sky has on the device until the next ones are asked for.
template <class T>
DirectJob<T> direct_job(DeviceSky<T>& sky, const DirectRows& rows, std::size_t begin, std::size_t end);

/// Queues the sum over all sources, in chunks of so many; `accumulate`: it is added to what is there.
template <class T>
void launch_sum(DeviceSky<T>& sky, const DirectRows& rows, std::size_t chunk_sources, bool accumulate);

template <class T>
class DirectMethod final : public SkyMethod<T> {
 public:
  /// `block_threads`: per block of the kernel.
  DirectMethod(const Summed& of, std::int32_t block_threads, ThreadPool& threads)
      : SkyMethod<T>(of, device_channels(of.channels, reach_of(of.sky, of.rows)), threads),
        block_threads_(block_threads) {}

  DeviceCosts costs() const override {
    DeviceCosts costs = packed_.template costs<T>(of_);
    costs.row = sizeof(DeviceRow);
    costs.rows_per_block = static_cast<std::size_t>(block_threads_ / packed_.channels.tiles);
    return costs;
  }
  std::size_t fill(DeviceSlot& slot) override;
  void compute(std::size_t device, DeviceSlot& slot) override;
  bool chunks_are_independent() const override { return this->sky(0).keeps(); }

 private:
  using SkyMethod<T>::of_, SkyMethod<T>::packed_;
  std::int32_t block_threads_;
};

}  // namespace rimetree::psv::device
