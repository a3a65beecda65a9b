// Results that were computed a second time, by definition and in extended precision, and how far the two are apart.
#pragma once

#include <cmath>
#include <cstdint>
#include <mutex>
#include <string>

namespace rimetree {

/// What was found so far.
struct VerificationReport {
  std::uint64_t count = 0;   ///< values computed twice
  double largest_error = 0;  ///< relative to what the node class measures its errors by, e.g. the total flux
  std::string where;         ///< the largest one's node and cell
};

class Verification {
 public:
  void add(double error, const std::string& where) {
    const std::lock_guard lock(mutex_);
    ++report_.count;
    // An error that is no number is the largest.
    const bool larger = !(error <= report_.largest_error) && !std::isnan(report_.largest_error);
    if (!larger && report_.count > 1) return;
    report_.largest_error = error;
    report_.where = where;
  }
  VerificationReport report() const {
    const std::lock_guard lock(mutex_);
    return report_;
  }
  void reset() {
    const std::lock_guard lock(mutex_);
    report_ = {};
  }

 private:
  mutable std::mutex mutex_;
  VerificationReport report_;
};

}  // namespace rimetree
