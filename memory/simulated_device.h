// A device that is not there: memory that the host cannot dereference by accident, poisoned when fresh, with every byte
// copied each way counted and the n-th allocation failing on demand. Residency and failure logic is tested on it where
// there is no GPU.
#pragma once

#include <map>
#include <mutex>

#include "memory/device.h"
#include "memory/statistics_counter.h"

namespace rimetree::memory {

class SimulatedDevice final : public Device {
 public:
  /// `capacity_bytes`: allocations beyond it fail, as on a card of that size. `queues_run_ahead`: all queues but the
  /// first do at once what they are given, as early as a device may.
  explicit SimulatedDevice(std::size_t capacity_bytes, bool queues_run_ahead = false);
  ~SimulatedDevice() override;

  std::string name() const override { return "simulated device"; }
  bool host_accessible() const override { return false; }
  bool is_emulated() const override { return true; }
  void* allocate(std::size_t bytes) override;
  void deallocate(void* data, std::size_t bytes) noexcept override;
  void copy_to_device(void* d_target, const void* source, std::size_t bytes) override;
  void copy_to_host(void* target, const void* d_source, std::size_t bytes) override;
  void copy_within(void* d_target, const void* d_source, std::size_t bytes) override;
  std::unique_ptr<Queue> make_queue() override;
  /// Staging memory counts as an allocation that may be made to fail, but takes nothing of the device's capacity.
  void* allocate_staging(std::size_t bytes) override;
  void deallocate_staging(void* data, std::size_t bytes) noexcept override;
  /// Throws std::out_of_range if the range was not allocated, as compute-sanitizer would report.
  void* resolve(const void* d_data, std::size_t bytes) const override;
  std::size_t free_bytes() const override;
  DeviceStatistics statistics() const override { return counter_.read(); }

  /// Counts memory as allocated that a queue hands out again before it has been given back in its turn; throws like
  /// allocate().
  void take_again(std::size_t bytes);
  /// In its turn: whoever has it now finds it poisoned.
  void pass_on(void* d_data, std::size_t bytes);

  /// The n-th allocation from now on (1: the next) throws OutOfMemory; 0 cancels.
  void fail_allocation(std::size_t n);
  /// The same for `count` allocations in a row: a device that is full for a while.
  void fail_allocations(std::size_t n, std::size_t count);
  /// Allocations tried since the device was made, staging and failed ones included.
  std::size_t allocations_tried() const;

  /// Fresh memory holds this byte everywhere: as floating point it is NaN.
  static constexpr unsigned char kPoison = 0xff;

 private:
  struct Allocation;
  void try_allocation(std::size_t bytes);
  void check_room(std::size_t bytes) const;
  Allocation& find(const void* d_data, std::size_t bytes) const;

  mutable std::mutex mutex_;
  std::map<std::uintptr_t, Allocation> allocations_;  // by device address
  std::size_t capacity_bytes_;
  std::size_t tried_ = 0, fail_from_ = 0, fail_to_ = 0;  // of the allocations by number: [from, to) fail
  std::uintptr_t next_address_ = 0;
  bool queues_run_ahead_, has_queue_ = false;
  StatisticsCounter counter_;
};

}  // namespace rimetree::memory
