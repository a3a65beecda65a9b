// Memory that is handed out again instead of being returned: after the first time-slot group an evaluation allocates
// nothing from the device. Blocks are grouped by size class (four per power of two, so at most 25 % is unused).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "memory/device.h"

namespace rimetree::memory {

class Pool : public std::enable_shared_from_this<Pool> {
 public:
  /// The device must outlive the pool and every block of it.
  static std::shared_ptr<Pool> create(Device& device) { return std::shared_ptr<Pool>(new Pool(device)); }
  ~Pool();

  /// At least `bytes` bytes with undefined contents; they go back to the pool when the last owner lets go, and are
  /// handed out again to requests of the same size class. Throws OutOfMemory after having given back all idle blocks.
  std::shared_ptr<void> allocate(std::size_t bytes);
  /// Returns all idle blocks to the device.
  void trim();
  std::size_t idle_bytes() const;
  Device& device() { return device_; }

 private:
  explicit Pool(Device& device) : device_(device) {}
  void give_back(void* data, std::size_t bytes) noexcept;

  Device& device_;
  mutable std::mutex mutex_;
  std::map<std::size_t, std::vector<void*>> idle_;  // by size class in bytes
  std::size_t idle_bytes_ = 0;
};

}  // namespace rimetree::memory
