// The direct sum as a method of the pipeline for devices (pipeline.h).
#pragma once

#include "nodes/psv/device/device_sky.h"
#include "nodes/psv/device/pipeline.h"

namespace rimetree::psv {

/// The direct sum: a launch for the sources of each profile, in chunks that add to each other.
template <class T>
class DirectMethod final : public DeviceMethod {
 public:
  /// `block_threads`: per block of the kernel.
  DirectMethod(const DeviceProblem& problem, std::int32_t block_threads, ThreadPool& threads)
      : p_(problem),
        block_threads_(block_threads),
        threads_(threads),
        packed_(problem, device_channels(problem.channels, reach_of(problem.sky, problem.rows))) {}

  DeviceCosts costs() const override {
    DeviceCosts costs = packed_.costs<T>(p_);
    costs.row = sizeof(DeviceRow);
    costs.rows_per_block = static_cast<std::size_t>(block_threads_ / packed_.channels.tiles);
    return costs;
  }
  std::span<const DeviceRun> runs() const override { return packed_.channels.runs; }
  void open(std::span<const std::unique_ptr<DeviceContext>> devices, const DeviceChunks& chunks,
            bool channels_are_cut) override;
  std::size_t fill(DeviceSlot& slot) override;
  void compute(std::size_t device, DeviceSlot& slot) override;
  bool regular() const { return packed_.channels.regular; }

 private:
  const DeviceProblem& p_;
  std::int32_t block_threads_;
  ThreadPool& threads_;
  PackedProblem packed_;
  std::vector<std::unique_ptr<DeviceSky<T>>> skies_;  // [device]
  std::size_t chunk_sources_ = 0;
};

}  // namespace rimetree::psv
