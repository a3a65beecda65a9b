// Work on a device in order: copies, memory and kernels of one queue happen one after the other, those of different
// queues at the same time unless one waits for the other. The host goes on at once and waits only where it says so.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace rimetree::memory {

class Device;

/// A point in a queue.
class Event {
 public:
  virtual ~Event() = default;
  /// Returns when everything queued before the event is done.
  virtual void wait() = 0;
};
using EventPtr = std::shared_ptr<Event>;

class Queue {
 public:
  explicit Queue(Device& device) : device_(device) {}
  virtual ~Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  Device& device() const { return device_; }

  /// Memory for what is queued from here on; other queues may use it after having waited for an event of this one.
  /// Throws OutOfMemory.
  virtual void* allocate(std::size_t bytes) = 0;
  /// Gives memory of allocate(bytes) back once everything queued so far is done; nullptr is ignored.
  virtual void deallocate(void* d_data, std::size_t bytes) noexcept = 0;

  /// Host memory must stay as it is, and is read or written, until an event recorded afterwards has been waited for.
  /// Copies overlap with work of other queues only from and to staging memory (Device::allocate_staging).
  virtual void copy_to_device(void* d_target, const void* source, std::size_t bytes) = 0;
  virtual void copy_to_host(void* target, const void* d_source, std::size_t bytes) = 0;
  /// Sets all bytes to zero.
  virtual void zero(void* d_target, std::size_t bytes) = 0;
  /// Host code in its turn: how kernels run on devices that are emulated (Device::resolve gives it their memory).
  virtual void run(std::function<void()> work) = 0;

  virtual EventPtr record() = 0;
  /// What is queued from here on waits for an event of another queue of the same device.
  virtual void wait_for(const EventPtr& event) = 0;
  /// Returns when everything queued is done. Throws what went wrong meanwhile.
  virtual void synchronize() = 0;

 private:
  Device& device_;
};

}  // namespace rimetree::memory
