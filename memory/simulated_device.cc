#include "memory/simulated_device.h"

#include <cstring>
#include <stdexcept>
#include <vector>

namespace rimetree::memory {

namespace {
// Addresses that no x86-64 or aarch64 user process can map, so that a stray host access faults at once.
constexpr std::uintptr_t kFirstAddress = std::uintptr_t{0xdead} << 48;
}  // namespace

struct SimulatedDevice::Allocation {
  std::vector<unsigned char> bytes;
  std::size_t size = 0;
};

SimulatedDevice::SimulatedDevice(std::size_t capacity_bytes)
    : capacity_bytes_(capacity_bytes), next_address_(kFirstAddress) {}

SimulatedDevice::~SimulatedDevice() = default;

void* SimulatedDevice::allocate(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (fail_in_ != 0 && --fail_in_ == 0) throw OutOfMemory(name(), bytes);
  if (bytes > capacity_bytes_ - counter_.read().bytes_in_use) throw OutOfMemory(name(), bytes);
  const std::uintptr_t address = next_address_;
  // A guard gap between allocations: running off the end of one never lands in the next.
  next_address_ += (bytes / kAlignment + 2) * kAlignment;
  allocations_[address] = {std::vector<unsigned char>(bytes, kPoison), bytes};
  counter_.allocated(bytes);
  return reinterpret_cast<void*>(address);
}

void SimulatedDevice::deallocate(void* data, std::size_t bytes) noexcept {
  if (data == nullptr) return;
  const std::lock_guard lock(mutex_);
  const auto it = allocations_.find(reinterpret_cast<std::uintptr_t>(data));
  // Double frees and wrong sizes are bugs of the caller that a real device would not survive either.
  if (it == allocations_.end() || it->second.size != bytes) std::terminate();
  allocations_.erase(it);
  counter_.deallocated(bytes);
}

SimulatedDevice::Allocation& SimulatedDevice::find(const void* d_data, std::size_t bytes) const {
  const auto address = reinterpret_cast<std::uintptr_t>(d_data);
  auto it = allocations_.upper_bound(address);
  if (it != allocations_.begin()) {
    --it;
    const std::size_t offset = address - it->first;
    if (offset <= it->second.size && bytes <= it->second.size - offset) return const_cast<Allocation&>(it->second);
  }
  throw std::out_of_range("simulated device: access to memory that is not allocated");
}

void* SimulatedDevice::resolve(const void* d_data, std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  const auto address = reinterpret_cast<std::uintptr_t>(d_data);
  Allocation& allocation = find(d_data, bytes);
  return allocation.bytes.data() + (address - std::prev(allocations_.upper_bound(address))->first);
}

void SimulatedDevice::copy_to_device(void* d_target, const void* source, std::size_t bytes) {
  if (bytes != 0) std::memcpy(resolve(d_target, bytes), source, bytes);
  counter_.copied(&DeviceStatistics::bytes_to_device, bytes);
}

void SimulatedDevice::copy_to_host(void* target, const void* d_source, std::size_t bytes) {
  if (bytes != 0) std::memcpy(target, resolve(d_source, bytes), bytes);
  counter_.copied(&DeviceStatistics::bytes_to_host, bytes);
}

void SimulatedDevice::copy_within(void* d_target, const void* d_source, std::size_t bytes) {
  if (bytes != 0) std::memmove(resolve(d_target, bytes), resolve(d_source, bytes), bytes);
  counter_.copied(&DeviceStatistics::bytes_within, bytes);
}

void SimulatedDevice::fail_allocation(std::size_t n) {
  const std::lock_guard lock(mutex_);
  fail_in_ = n;
}

}  // namespace rimetree::memory
