#include "memory/simulated_device.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "memory/host_device.h"
#include "memory/simulated_queue.h"

namespace rimetree::memory {

namespace {
// Addresses that no x86-64 or aarch64 user process can map, so that a stray host access faults at once.
constexpr std::uintptr_t kFirstAddress = std::uintptr_t{0xdead} << 48;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
}  // namespace

struct SimulatedDevice::Allocation {
  std::vector<unsigned char> bytes;
  std::size_t size = 0;
};

SimulatedDevice::SimulatedDevice(std::size_t capacity_bytes, bool queues_run_ahead)
    : capacity_bytes_(capacity_bytes), next_address_(kFirstAddress), queues_run_ahead_(queues_run_ahead) {}

SimulatedDevice::~SimulatedDevice() = default;

void SimulatedDevice::try_allocation(std::size_t bytes) {
  const std::size_t number = tried_++;
  if (number >= fail_from_ && number < fail_to_) throw OutOfMemory(name(), bytes);
}

void SimulatedDevice::check_room(std::size_t bytes) const {
  if (bytes > capacity_bytes_ - counter_.read().bytes_in_use) throw OutOfMemory(name(), bytes);
}

void SimulatedDevice::take_again(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  try_allocation(bytes);
  check_room(bytes);
  counter_.allocated(bytes);
}

void SimulatedDevice::pass_on(void* d_data, std::size_t bytes) {
  if (bytes != 0) std::memset(resolve(d_data, bytes), kPoison, bytes);
  counter_.deallocated(bytes);
}

void* SimulatedDevice::allocate(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  try_allocation(bytes);
  check_room(bytes);
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
  const double start = seconds_now();
  if (bytes != 0) std::memcpy(resolve(d_target, bytes), source, bytes);
  counter_.copied_for(seconds_now() - start);
  counter_.copied(&DeviceStatistics::bytes_to_device, bytes);
}

void SimulatedDevice::copy_to_host(void* target, const void* d_source, std::size_t bytes) {
  const double start = seconds_now();
  if (bytes != 0) std::memcpy(target, resolve(d_source, bytes), bytes);
  counter_.copied_for(seconds_now() - start);
  counter_.copied(&DeviceStatistics::bytes_to_host, bytes);
}

void SimulatedDevice::copy_within(void* d_target, const void* d_source, std::size_t bytes) {
  if (bytes != 0) std::memmove(resolve(d_target, bytes), resolve(d_source, bytes), bytes);
  counter_.copied(&DeviceStatistics::bytes_within, bytes);
}

std::unique_ptr<Queue> SimulatedDevice::make_queue() {
  const std::lock_guard lock(mutex_);
  const bool runs_ahead = queues_run_ahead_ && has_queue_;
  has_queue_ = true;
  return std::make_unique<SimulatedQueue>(*this, runs_ahead);
}

void* SimulatedDevice::allocate_staging(std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    try_allocation(bytes);
  }
  void* data = host().allocate(bytes);
  std::memset(data, kPoison, bytes);
  return data;
}

void SimulatedDevice::deallocate_staging(void* data, std::size_t bytes) noexcept { host().deallocate(data, bytes); }

std::size_t SimulatedDevice::free_bytes() const { return capacity_bytes_ - counter_.read().bytes_in_use; }

void SimulatedDevice::fail_allocation(std::size_t n) { fail_allocations(n, n == 0 ? 0 : 1); }

void SimulatedDevice::fail_allocations(std::size_t n, std::size_t count) {
  const std::lock_guard lock(mutex_);
  fail_from_ = tried_ + n - 1;
  fail_to_ = count == 0 ? 0 : fail_from_ + count;
}

std::size_t SimulatedDevice::allocations_tried() const {
  const std::lock_guard lock(mutex_);
  return tried_;
}

}  // namespace rimetree::memory
