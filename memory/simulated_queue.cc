#include "memory/simulated_queue.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

#include "memory/simulated_device.h"

namespace rimetree::memory {

namespace {
// One lock for all queues of all simulated devices: work of one queue may wait for another, in any order.
std::recursive_mutex queue_mutex;
}  // namespace

struct SimulatedQueue::Line {
  /// Memory that has been given back, but not in its turn yet.
  struct Given {
    void* d_data;
    std::size_t bytes;
    bool is_used_again = false;
  };
  std::deque<std::function<void()>> waiting;
  std::size_t done = 0;
  std::vector<std::shared_ptr<Given>> given;

  /// The last that was given back of that size; nullptr if there is none.
  std::shared_ptr<Given> find_given(std::size_t bytes) const {
    const auto is_it = [bytes](const auto& one) { return one->bytes == bytes; };
    const auto found = std::find_if(given.rbegin(), given.rend(), is_it);
    return found == given.rend() ? nullptr : *found;
  }

  std::size_t end() {
    const std::lock_guard lock(queue_mutex);
    return done + waiting.size();
  }
  void add(std::function<void()> work) {
    const std::lock_guard lock(queue_mutex);
    waiting.push_back(std::move(work));
  }
  /// Does what comes before `position`. Work that throws counts as done: the rest is for the next to wait.
  void catch_up(std::size_t position) {
    const std::lock_guard lock(queue_mutex);
    while (done < position && !waiting.empty()) {
      const std::function<void()> work = std::move(waiting.front());
      waiting.pop_front();
      ++done;
      work();
    }
  }
};

namespace {

class SimulatedEvent final : public Event {
 public:
  explicit SimulatedEvent(std::shared_ptr<SimulatedQueue::Line> line) : line_(std::move(line)), at_(line_->end()) {}
  void wait() override { line_->catch_up(at_); }

 private:
  std::shared_ptr<SimulatedQueue::Line> line_;
  std::size_t at_;
};

}  // namespace

SimulatedQueue::SimulatedQueue(SimulatedDevice& device, bool runs_ahead)
    : Queue(device), line_(std::make_shared<Line>()), simulated_(device), runs_ahead_(runs_ahead) {}

void SimulatedQueue::add(std::function<void()> work) {
  line_->add(std::move(work));
  if (runs_ahead_) try {
      synchronize();
    } catch (...) {
      // For whoever waits.
      line_->add([error = std::current_exception()] { std::rethrow_exception(error); });
    }
}

SimulatedQueue::~SimulatedQueue() {
  // What nobody waited for is done all the same, as on a device; what fails now has nobody to tell.
  for (;;) try {
      synchronize();
      return;
    } catch (...) {
      continue;
    }
}

void* SimulatedQueue::allocate(std::size_t bytes) {
  // Memory given back earlier in this queue counts as free, as in a stream-ordered pool.
  if (bytes > simulated_.free_bytes()) synchronize();
  const std::lock_guard lock(queue_mutex);
  const std::shared_ptr<Line::Given> again = line_->find_given(bytes);
  if (again == nullptr) return simulated_.allocate(bytes);
  simulated_.take_again(bytes);
  again->is_used_again = true;
  std::erase(line_->given, again);
  return again->d_data;
}

void SimulatedQueue::deallocate(void* d_data, std::size_t bytes) noexcept {
  if (d_data == nullptr) return;
  const std::lock_guard lock(queue_mutex);
  const auto given = std::make_shared<Line::Given>(Line::Given{d_data, bytes});
  line_->given.push_back(given);
  add([this, given, line = line_.get()] {
    if (given->is_used_again) return simulated_.pass_on(given->d_data, given->bytes);
    std::erase(line->given, given);
    simulated_.deallocate(given->d_data, given->bytes);
  });
}

void SimulatedQueue::copy_to_device(void* d_target, const void* source, std::size_t bytes) {
  add([this, d_target, source, bytes] { simulated_.copy_to_device(d_target, source, bytes); });
}

void SimulatedQueue::copy_to_host(void* target, const void* d_source, std::size_t bytes) {
  if (bytes != 0) std::memset(target, SimulatedDevice::kPoison, bytes);
  add([this, target, d_source, bytes] { simulated_.copy_to_host(target, d_source, bytes); });
}

void SimulatedQueue::zero(void* d_target, std::size_t bytes) {
  add([this, d_target, bytes] {
    if (bytes != 0) std::memset(simulated_.resolve(d_target, bytes), 0, bytes);
  });
}

void SimulatedQueue::run(std::function<void()> work) { add(std::move(work)); }

EventPtr SimulatedQueue::record() { return std::make_shared<SimulatedEvent>(line_); }

void SimulatedQueue::wait_for(const EventPtr& event) {
  add([event] { event->wait(); });
}

void SimulatedQueue::synchronize() { line_->catch_up(line_->end()); }

}  // namespace rimetree::memory
