// Trying the variants of kernels for devices. Whoever has such kernels brings a tuner with them; the runtime only
// passes on what it says.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/core/threads/cancellation.h"
#include "runtime/device/device_context.h"

namespace rimetree {

/// One variant of one kernel, as it was timed.
struct TunedVariant {
  std::string kernel, variant;  ///< in words
  double seconds = 0;           ///< the shortest of several
  double rate = 0;              ///< source-visibilities per second
  double of_model = 0;          ///< what the planner's model of the device's peak gives, over the time taken
  bool is_best = false;         ///< of this kernel
};

struct TuningReport {
  std::string device;
  std::vector<TunedVariant> variants;
  std::string path;  ///< of the file that the best ones are stored in
};

/// Times all variants on a device and stores the best. `seconds`: per variant, about.
using DeviceTuner = std::function<TuningReport(DeviceContexts& one_device, double seconds, Cancellation& cancellation)>;
void set_device_tuner(DeviceTuner tuner);

/// Opens a device and tunes it. Throws Error where there is no such device, or nothing to tune.
TuningReport tune_device(const std::string& name, double seconds, Cancellation& cancellation);

}  // namespace rimetree
