// Variants of the kernels for devices, as `rimetree bench tune` has found them fastest, by device and
// precision. They are read from a file in the user's cache folder (runtime/device/tuning_file.h) once per process;
// without it, constants serve.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "nodes/psv/matrix/shape.h"

namespace rimetree::psv::planner {
using namespace matrix;

/// What the phasors of a row follow from in the direct sum: those of its two antennas, where UVW are differences of one
/// vector for each, or its own path.
enum class PhasorsOf : std::uint8_t { kAntennas, kRows };

struct DirectTuning {
  PhasorsOf phasors = PhasorsOf::kAntennas;
  double efficiency = 0.44;  ///< the part of the device's peak that the model of costs is reached with
  bool measured = false;
};
struct MatrixTuning {
  std::optional<MatrixVariant> variant;  ///< none: the cheapest by the model
  double efficiency = 0.33;
  bool measured = false;
};
/// Of one device; [0] double, [1] single precision. Efficiencies are those that kernels reached on an H200 (26 November
/// 2026): docs/benchmarks.
struct DeviceTuning {
  DirectTuning direct[2] = {{}, {.efficiency = 0.35}};
  MatrixTuning matrix[2] = {{}, {.variant = {}, .efficiency = 0.18}};
};

/// Of a device, as the file has it. `warning` says why a file that is there is not used.
DeviceTuning tuning_of(const std::string& device_name, std::string* warning = nullptr);
/// Adds to the file, or replaces in it, what was measured on a device; from now on it is used. Throws Error.
void store_tuning(const std::string& device_name, const DeviceTuning& tuning);
/// Reads the file again when it is next asked for.
void forget_tuning();

}  // namespace rimetree::psv::planner
