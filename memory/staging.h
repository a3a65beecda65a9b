// Host memory from and to which a queue copies while other work goes on.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "memory/device.h"

namespace rimetree::memory {

/// Staging memory of a device (page-locked for a GPU), for trivially copyable T.
template <class T>
class Staging {
 public:
  Staging() = default;
  /// `count` elements with undefined contents; throws OutOfMemory.
  Staging(Device& device, std::size_t count)
      : device_(&device), data_(static_cast<T*>(device.allocate_staging(count * sizeof(T)))), count_(count) {}
  Staging(Staging&& other) noexcept { swap(other); }
  Staging& operator=(Staging&& other) noexcept {
    Staging(std::move(other)).swap(*this);
    return *this;
  }
  ~Staging() {
    if (device_ != nullptr) device_->deallocate_staging(data_, count_ * sizeof(T));
  }
  T* data() const { return data_; }
  std::size_t size() const { return count_; }
  std::size_t bytes() const { return count_ * sizeof(T); }
  T& operator[](std::size_t i) const { return data_[i]; }

 private:
  void swap(Staging& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
  }
  Device* device_ = nullptr;
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

/// Staging memory that is used again instead of being returned: page-locking takes longer than most copies.
class StagingPool {
 public:
  explicit StagingPool(Device& device) : device_(device) {}
  ~StagingPool();
  StagingPool(const StagingPool&) = delete;
  StagingPool& operator=(const StagingPool&) = delete;
  /// At least `bytes` bytes with undefined contents, until the last owner lets go, which must be before the pool does.
  /// Throws OutOfMemory.
  std::shared_ptr<void> take(std::size_t bytes);

 private:
  Device& device_;
  std::mutex mutex_;
  std::multimap<std::size_t, void*> idle_;  // by size
};

/// Copies host memory of any size and kind to the device in the order of the queue, piece by piece through staging
/// memory, so that the source may change when this returns. Where there is no staging memory it is copied directly.
void copy_staged(Queue& queue, void* d_target, std::span<const std::byte> source);

}  // namespace rimetree::memory
