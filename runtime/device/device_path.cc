#include "runtime/device/device_path.h"

#include <algorithm>

#include "runtime/device/recorded_job.h"

namespace rimetree {

bool DevicePlan::reads(std::size_t child) const {
  return programs.empty() ||
         std::any_of(programs.begin(), programs.end(), [&](const auto& one) { return one->does_read(child); });
}

bool DevicePlan::reads(std::size_t child, const ParameterId& parameter) const {
  if (programs.empty()) return true;
  const auto known = std::find(parameters.begin(), parameters.end(), parameter);
  return known != parameters.end() &&
         programs[1 + static_cast<std::size_t>(known - parameters.begin())]->does_read(n_child + child);
}

bool DevicePath::can_run(const memory::Device& device, const DevicePlan& /*plan*/) const {
  return has_launcher<RecordedJob>(device);
}

}  // namespace rimetree
