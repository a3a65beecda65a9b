// The host as a device: copies are plain copies.
#pragma once

#include "memory/device.h"
#include "memory/statistics_counter.h"

namespace rimetree::memory {

class HostDevice final : public Device {
 public:
  std::string name() const override { return "host"; }
  bool host_accessible() const override { return true; }
  bool is_emulated() const override { return true; }
  void* allocate(std::size_t bytes) override;
  void deallocate(void* data, std::size_t bytes) noexcept override;
  void copy_to_device(void* d_target, const void* source, std::size_t bytes) override;
  void copy_to_host(void* target, const void* d_source, std::size_t bytes) override;
  void copy_within(void* d_target, const void* d_source, std::size_t bytes) override;
  std::unique_ptr<Queue> make_queue() override;
  void* allocate_staging(std::size_t bytes) override { return allocate(bytes); }
  void deallocate_staging(void* data, std::size_t bytes) noexcept override { deallocate(data, bytes); }
  void* resolve(const void* d_data, std::size_t) const override { return const_cast<void*>(d_data); }
  std::size_t free_bytes() const override;
  DeviceStatistics statistics() const override { return counter_.read(); }

 private:
  StatisticsCounter counter_;
};

/// The one host of this process.
HostDevice& host();

}  // namespace rimetree::memory
