// Queues of the simulated device. Nothing is done before somebody waits, as late as a device may be; or at once, as
// early as it may be. Memory that is given back is handed out again at once, as by a stream-ordered pool, and poisoned
// in its turn; so is host memory that is to be copied to, until it is. What is changed too early, read before it is
// there or used by one queue while another has it thus gives wrong results in every test run, not in some.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "memory/queue.h"

namespace rimetree::memory {

class SimulatedDevice;

class SimulatedQueue final : public Queue {
 public:
  SimulatedQueue(SimulatedDevice& device, bool runs_ahead);
  ~SimulatedQueue() override;

  void* allocate(std::size_t bytes) override;
  void deallocate(void* d_data, std::size_t bytes) noexcept override;
  void copy_to_device(void* d_target, const void* source, std::size_t bytes) override;
  void copy_to_host(void* target, const void* d_source, std::size_t bytes) override;
  void zero(void* d_target, std::size_t bytes) override;
  void run(std::function<void()> work) override;
  EventPtr record() override;
  void wait_for(const EventPtr& event) override;
  void synchronize() override;

  struct Line;  // what is queued; lives as long as an event of it

 private:
  void add(std::function<void()> work);

  std::shared_ptr<Line> line_;
  SimulatedDevice& simulated_;
  bool runs_ahead_;
};

}  // namespace rimetree::memory
