// Evaluates the rows of a group of baselines on devices: the sky stays there, rows go up and visibilities come down, in
// chunks, while others are computed.
#pragma once

#include <optional>
#include <string>

#include "nodes/psv/matrix/shape.h"
#include "nodes/psv/pipeline/pipeline.h"
#include "nodes/psv/planner/planner.h"
#include "nodes/psv/planner/tuning.h"

namespace rimetree::psv::planner {
using namespace pipeline;

/// Which method and variant are to be taken: tests and tuning leave nothing to the planner.
struct MethodWish {
  enum class Kind : std::uint8_t { kCheapest, kDirect, kMatrix };
  Kind kind = Kind::kCheapest;
  MatrixVariant variant = {};             ///< of kMatrix
  std::optional<PhasorsOf> phasors = {};  ///< of kDirect; none: as tuned
};

/// In words, before there are data: the method to expect for baselines that are those of an array, and where it runs.
std::string expected_on_devices(DeviceSpan devices, const Outlook& outlook, std::size_t n_baseline,
                                std::size_t n_channel, bool may_be_extended);

struct DeviceSolution {
  bool is_matrix = false;  ///< the method that was taken
  std::string report;      ///< what was done, and why so
};

/// Deals the rows out to all devices, to `tolerance`: from 1e-6 of the total flux on with phases in double, the rest in
/// single precision. Where memory is short it cuts smaller chunks; throws memory::OutOfMemory where not even the
/// smallest fits, and Cancelled. Same input, devices, budget and tuning: same bits.
DeviceSolution solve_on_devices(const Summed& of, const DeviceOutput& output, double tolerance, const Machine& machine,
                                const MethodWish& wish = {});

}  // namespace rimetree::psv::planner
