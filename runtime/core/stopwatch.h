// Wall time, in laps.
#pragma once

#include <chrono>
#include <utility>

namespace rimetree {

class Stopwatch {
 public:
  /// Seconds since the last lap, or since the watch was made.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// Adds the seconds until the end of its scope.
class TimedScope {
 public:
  explicit TimedScope(double& seconds) : seconds_(seconds) {}
  ~TimedScope() { seconds_ += watch_.lap(); }
  TimedScope(const TimedScope&) = delete;
  TimedScope& operator=(const TimedScope&) = delete;

 private:
  double& seconds_;
  Stopwatch watch_;
};

}  // namespace rimetree
