// The devices of this machine by name: "cuda:0", "cuda:1" ... where the plugin for GPUs is loaded and finds any;
// "simulated" or "simulated:BYTES" (a device of that capacity) and "host" always.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "memory/device.h"

namespace rimetree::memory {

/// A kind of device that a library brings, e.g. "cuda".
struct DeviceKind {
  std::string name;
  std::function<int()> count;                        ///< how many there are now; 0 if they cannot be used
  std::function<std::shared_ptr<Device>(int)> open;  ///< the i-th
  std::function<std::string()> why_none = {};        ///< why there is none, in words
};

/// Makes a kind known; one of the same name is replaced.
void add_device_kind(DeviceKind kind);

/// Names of the real devices there are: none of those that are emulated.
std::vector<std::string> device_names();

/// A device by name; without a number the first of its kind. Throws std::invalid_argument saying which there are.
std::shared_ptr<Device> open_device(const std::string& name);

}  // namespace rimetree::memory
