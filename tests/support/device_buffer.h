// A typed array that owns its memory on one device. Move-only: who holds it is who frees it.
#pragma once

#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "memory/device.h"

namespace rimetree::test {

template <class T>
class DeviceBuffer {
  static_assert(std::is_trivially_copyable_v<T>, "device memory is copied byte by byte");

 public:
  DeviceBuffer() = default;
  /// `count` elements with undefined contents; throws memory::OutOfMemory.
  DeviceBuffer(memory::Device& device, std::size_t count) : device_(&device), count_(count) {
    if (count > static_cast<std::size_t>(-1) / sizeof(T))
      throw memory::OutOfMemory(device.name(), static_cast<std::size_t>(-1));
    data_ = static_cast<T*>(device.allocate(bytes()));
  }
  /// A copy of host data on the device.
  DeviceBuffer(memory::Device& device, std::span<const T> source) : DeviceBuffer(device, source.size()) {
    copy_from(source);
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    DeviceBuffer(std::move(other)).swap(*this);
    return *this;
  }
  ~DeviceBuffer() {
    if (device_ != nullptr) device_->deallocate(data_, bytes());
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return count_; }
  std::size_t bytes() const { return count_ * sizeof(T); }
  memory::Device* device() const { return device_; }

  void copy_from(std::span<const T> source) {
    check(source.size());
    if (device_ != nullptr) device_->copy_to_device(data_, source.data(), bytes());
  }
  void copy_to(std::span<T> target) const {
    check(target.size());
    if (device_ != nullptr) device_->copy_to_host(target.data(), data_, bytes());
  }
  std::vector<T> to_host() const {
    std::vector<T> values(count_);
    copy_to(values);
    return values;
  }

 private:
  void swap(DeviceBuffer& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
  }
  void check(std::size_t count) const {
    if (count != count_)
      throw std::invalid_argument("buffer of " + std::to_string(count_) + " elements used with " +
                                  std::to_string(count));
  }

  memory::Device* device_ = nullptr;
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace rimetree::test
