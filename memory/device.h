// Where arrays live. A Device hands out raw memory and copies to and from it; nothing above it cares whether that is
// the host, a GPU or the simulated device of the tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>

namespace rimetree::memory {

/// What has been asked of a device since it was made.
struct DeviceStatistics {
  std::uint64_t bytes_to_device = 0;  ///< copied from the host to the device
  std::uint64_t bytes_to_host = 0;    ///< copied from the device to the host
  std::uint64_t bytes_within = 0;     ///< copied on the device
  std::uint64_t allocations = 0;      ///< number of successful allocations
  std::uint64_t bytes_in_use = 0;
  std::uint64_t peak_bytes = 0;  ///< largest bytes_in_use so far
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

  /// At least `bytes` bytes aligned to kAlignment, contents undefined. Throws OutOfMemory. Thread-safe, like every
  /// function of a device.
  virtual void* allocate(std::size_t bytes) = 0;
  /// Gives back what allocate(bytes) returned; nullptr is ignored.
  virtual void deallocate(void* data, std::size_t bytes) noexcept = 0;

  virtual void copy_to_device(void* d_target, const void* source, std::size_t bytes) = 0;
  virtual void copy_to_host(void* target, const void* d_source, std::size_t bytes) = 0;
  virtual void copy_within(void* d_target, const void* d_source, std::size_t bytes) = 0;

  virtual DeviceStatistics statistics() const = 0;

  /// Wide enough for every vector unit and for coalesced access.
  static constexpr std::size_t kAlignment = 128;
};

}  // namespace rimetree::memory
