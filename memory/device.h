// Where arrays live. A Device hands out raw memory and copies to and from it; nothing above it cares whether that is
// the host, a GPU or the simulated device of the tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>

#include "memory/queue.h"

namespace rimetree::memory {

/// What has been asked of a device since it was made.
struct DeviceStatistics {
  std::uint64_t bytes_to_device = 0;  ///< copied from the host to the device
  std::uint64_t bytes_to_host = 0;    ///< copied from the device to the host
  std::uint64_t bytes_within = 0;     ///< copied on the device
  std::uint64_t allocations = 0;      ///< number of successful allocations
  std::uint64_t bytes_in_use = 0;
  std::uint64_t peak_bytes = 0;  ///< largest bytes_in_use so far
  double copy_seconds = 0;       ///< that the device was copying to or from the host
};

/// Thrown when a device has no room: a std::bad_alloc that says how much was asked of which device.
class OutOfMemory : public std::bad_alloc {
 public:
  OutOfMemory(const std::string& device, std::size_t bytes);
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

class Device {
 public:
  virtual ~Device() = default;
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  virtual std::string name() const = 0;
  /// True if host code may dereference what allocate() returns.
  virtual bool host_accessible() const = 0;
  /// True if its kernels are host code, given to Queue::run and finding the device's memory by resolve().
  virtual bool is_emulated() const { return false; }

  /// At least `bytes` bytes aligned to kAlignment, contents undefined. Throws OutOfMemory. Thread-safe, like every
  /// function of a device.
  virtual void* allocate(std::size_t bytes) = 0;
  /// Gives back what allocate(bytes) returned; nullptr is ignored.
  virtual void deallocate(void* data, std::size_t bytes) noexcept = 0;

  // At once: these return when all is done, and wait for no queue.
  virtual void copy_to_device(void* d_target, const void* source, std::size_t bytes) = 0;
  virtual void copy_to_host(void* target, const void* d_source, std::size_t bytes) = 0;
  virtual void copy_within(void* d_target, const void* d_source, std::size_t bytes) = 0;

  virtual std::unique_ptr<Queue> make_queue() = 0;
  /// Host memory that queues copy from and to while other work goes on (page-locked for a GPU). Throws OutOfMemory.
  virtual void* allocate_staging(std::size_t bytes) = 0;
  virtual void deallocate_staging(void* data, std::size_t bytes) noexcept = 0;
  /// Where host code finds `bytes` bytes of this device's memory, for work given to Queue::run; throws
  /// std::out_of_range where nothing is allocated, or where the host cannot reach the device at all.
  virtual void* resolve(const void* d_data, std::size_t bytes) const = 0;
  /// Bytes that could still be allocated, as far as known; less where others use the device too.
  virtual std::size_t free_bytes() const = 0;

  virtual DeviceStatistics statistics() const = 0;

  /// Wide enough for every vector unit and for coalesced access.
  static constexpr std::size_t kAlignment = 128;
};

}  // namespace rimetree::memory
