// How a long evaluation learns that it should stop.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>

namespace rimetree {

/// Set from any thread, seen by all. `poll`, if given, is asked at most every 50 ms, and only on the thread that made
/// the object (an interpreter looks for Ctrl-C there).
class Cancellation {
 public:
  explicit Cancellation(std::function<bool()> poll = {}) : poll_(std::move(poll)) {}

  void request() { requested_ = true; }
  bool requested() const { return requested_; }
  /// Call now and then from the thread that waits for the work; returns whether to stop.
  bool check() {
    if (!poll_ || requested_) return requested_;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_poll_ < std::chrono::milliseconds(50)) return false;
    last_poll_ = now;
    if (poll_()) requested_ = true;
    return requested_;
  }

 private:
  std::atomic<bool> requested_{false};
  std::function<bool()> poll_;
  std::chrono::steady_clock::time_point last_poll_{};
};

}  // namespace rimetree
