// Thread-safe bookkeeping behind Device::statistics(), the same for every kind of device.
#pragma once

#include <algorithm>
#include <mutex>

#include "memory/device.h"

namespace rimetree::memory {

class StatisticsCounter {
 public:
  void allocated(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    ++statistics_.allocations;
    statistics_.bytes_in_use += bytes;
    statistics_.peak_bytes = std::max(statistics_.peak_bytes, statistics_.bytes_in_use);
  }
  void deallocated(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    statistics_.bytes_in_use -= bytes;
  }
  void copied(std::uint64_t DeviceStatistics::*counter, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    statistics_.*counter += bytes;
  }
  void copied_for(double seconds) {
    const std::lock_guard lock(mutex_);
    statistics_.copy_seconds += seconds;
  }
  DeviceStatistics read() const {
    const std::lock_guard lock(mutex_);
    return statistics_;
  }

 private:
  mutable std::mutex mutex_;
  DeviceStatistics statistics_;
};

}  // namespace rimetree::memory
