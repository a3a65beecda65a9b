// Evaluates the rows of a group of baselines on devices: the sky stays there, rows go up and visibilities come down, in
// chunks, while others are computed.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "nodes/psv/device/pipeline.h"
#include "nodes/psv/kernel.h"
#include "nodes/psv/matrix/antennas.h"
#include "nodes/psv/matrix/shape.h"
#include "nodes/psv/packed_skies.h"
#include "nodes/psv/planner.h"
#include "runtime/core/thread_pool.h"
#include "runtime/device/device_context.h"

namespace rimetree::psv {

/// Which method is to be taken: tests and tuning leave nothing to the planner.
enum class DeviceWish : std::uint8_t { kCheapest, kDirect, kMatrix };

struct DeviceProblem : Summed {
  DeviceOutput output;
  double tolerance = 1e-12;  ///< from 1e-6 of the total flux on: phases in double, the rest in single precision
  std::uint64_t owner = 0;   ///< tells the skies of different nodes apart
  SkyVersion version;        ///< what is on the device in this version is not copied again
  BaselineEnds ends = {};    ///< the antennas of the baselines, where they are known: for the matrix product
  DeviceWish wish = DeviceWish::kCheapest;
  MatrixVariant variant = {};       ///< of kMatrix
  std::int32_t direct_threads = 0;  ///< of kDirect; 0: as tuned
};

/// In words, before there are data: the method to expect for baselines that are those of an array, and where it runs.
std::string expected_on_devices(std::span<const std::unique_ptr<DeviceContext>> devices, const Outlook& outlook,
                                std::size_t n_baseline, std::size_t n_channel, bool may_be_extended);

struct DeviceSolution {
  bool is_matrix = false;  ///< the method that was taken
  std::string report;      ///< what was done, and why so
};

/// Deals the rows out to all devices. Where memory is short it cuts smaller chunks; throws memory::OutOfMemory where
/// not even the smallest fits, and Cancelled. Same input, devices, budget and tuning: same bits.
DeviceSolution solve_on_devices(const DeviceProblem& problem, std::span<const std::unique_ptr<DeviceContext>> devices,
                                ThreadPool& threads, Cancellation& cancellation);

}  // namespace rimetree::psv
