// The direct sum as a method of the pipeline for devices (pipeline/pipeline.h).
#pragma once

#include "nodes/psv/pipeline/device_sky.h"

namespace rimetree::psv {

/// The direct sum: a launch for the sources of each profile, in chunks that add to each other.
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

 private:
  using SkyMethod<T>::of_, SkyMethod<T>::packed_;
  std::int32_t block_threads_;
};

}  // namespace rimetree::psv
