// Block and tile sizes of the kernels for devices, as `rimetree bench tune` has found them fastest, by device and
// precision. They are read from a file in the user's cache folder once per process; without it, constants serve.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nodes/psv/matrix/shape.h"

namespace rimetree::psv {

struct DirectTuning {
  std::int32_t threads = 128;  ///< per block
  double efficiency = 0.7;     ///< the part of the device's peak that the model of costs is reached with
  bool measured = false;
};
struct MatrixTuning {
  std::optional<MatrixVariant> variant;  ///< none: the cheapest by the model
  double efficiency = 0.6;
  bool measured = false;
};
/// Of one device; [0] double, [1] single precision.
struct DeviceTuning {
  DirectTuning direct[2];
  MatrixTuning matrix[2];
};

/// By the device's name without its number.
using DeviceTunings = std::map<std::string, DeviceTuning>;

/// The name by which a device is tuned: all cards of one type are alike.
std::string tuning_name(const std::string& device_name);

/// $XDG_CACHE_HOME/rimetree/tuning.json, or the same in ~/.cache.
std::string tuning_path();

/// What a file holds. Throws Error saying what is wrong with it.
DeviceTunings parse_tuning(const std::string& json);
std::string tuning_text(const DeviceTunings& tunings);

/// Of a device, as the file has it. `warning` says why a file that is there is not used.
DeviceTuning tuning_of(const std::string& device_name, std::string* warning = nullptr);
/// Adds to the file, or replaces in it, what was measured on a device; from now on it is used. Throws Error.
void store_tuning(const std::string& device_name, const DeviceTuning& tuning);
/// Reads the file again when it is next asked for.
void forget_tuning();

}  // namespace rimetree::psv
