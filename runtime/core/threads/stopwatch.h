// Time of a clock, in laps.
#pragma once

#include <chrono>
#include <utility>

namespace rimetree {

/// What a clock shows, in seconds.
using Clock = double();
inline double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class Stopwatch {
 public:
  explicit Stopwatch(Clock* clock = wall_seconds) : clock_(clock) {}
  /// Seconds since the last lap, or since the watch was made.
  double lap() {
    const double now = clock_();
    return now - std::exchange(last_, now);
  }

 private:
  Clock* clock_;
  double last_ = clock_();
};

/// Adds the seconds until the end of its scope, less what has been added meanwhile: time counts once, however scopes
/// are nested.
class TimedScope {
 public:
  explicit TimedScope(double& seconds, Clock* clock = wall_seconds)
      : seconds_(seconds), before_(seconds), watch_(clock) {}
  ~TimedScope() { seconds_ = before_ + watch_.lap(); }
  TimedScope(const TimedScope&) = delete;
  TimedScope& operator=(const TimedScope&) = delete;

 private:
  double& seconds_;
  const double before_;
  Stopwatch watch_;
};

}  // namespace rimetree
