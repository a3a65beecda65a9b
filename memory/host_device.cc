#include "memory/host_device.h"

#include <cstdlib>
#include <cstring>

namespace rimetree::memory {

void* HostDevice::allocate(std::size_t bytes) {
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (rounded < bytes) throw OutOfMemory(name(), bytes);  // rounding wrapped around
  void* data = std::aligned_alloc(kAlignment, rounded == 0 ? kAlignment : rounded);
  if (data == nullptr) throw OutOfMemory(name(), bytes);
  counter_.allocated(bytes);
  return data;
}

void HostDevice::deallocate(void* data, std::size_t bytes) noexcept {
  if (data == nullptr) return;
  std::free(data);
  counter_.deallocated(bytes);
}

void HostDevice::copy_to_device(void* d_target, const void* source, std::size_t bytes) {
  if (bytes != 0) std::memcpy(d_target, source, bytes);
  counter_.copied(&DeviceStatistics::bytes_to_device, bytes);
}

void HostDevice::copy_to_host(void* target, const void* d_source, std::size_t bytes) {
  if (bytes != 0) std::memcpy(target, d_source, bytes);
  counter_.copied(&DeviceStatistics::bytes_to_host, bytes);
}

void HostDevice::copy_within(void* d_target, const void* d_source, std::size_t bytes) {
  if (bytes != 0) std::memmove(d_target, d_source, bytes);
  counter_.copied(&DeviceStatistics::bytes_within, bytes);
}

HostDevice& host() {
  // Never destroyed: results that outlive main() (held by Python at exit, say) still give their memory back.
  static auto* const device = new HostDevice;
  return *device;
}

}  // namespace rimetree::memory
