// Evaluates the rows of a group of baselines on devices: the sky stays there, rows go up and visibilities come down, in
// chunks, while others are computed.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "nodes/psv/device/pipeline.h"
#include "nodes/psv/kernel.h"
#include "nodes/psv/packed_skies.h"
#include "runtime/device_context.h"
#include "runtime/thread_pool.h"

namespace rimetree::psv {

/// One sky on one set of channels, seen by many rows.
struct DeviceProblem {
  const Sky<double>& sky;
  const Channels& channels;
  const Rows& rows;
  const JonesTerms& jones;
  DeviceOutput output;
  double tolerance = 1e-12;  ///< from 1e-6 of the total flux on: phases in double, the rest in single precision
  std::uint64_t owner = 0;   ///< tells the skies of different nodes apart
  SkyVersion version;        ///< what is on the device in this version is not copied again
};

/// In words: the method that a tolerance takes, and where.
std::string method_on_devices(std::span<const std::unique_ptr<DeviceContext>> devices, double tolerance);

/// Deals the rows out to all devices. Where memory is short it cuts smaller chunks; throws memory::OutOfMemory where
/// not even the smallest fits, and Cancelled. Returns what was done, for reports. Same input, devices and budget: same
/// bits.
std::string solve_on_devices(const DeviceProblem& problem, std::span<const std::unique_ptr<DeviceContext>> devices,
                             ThreadPool& threads, Cancellation& cancellation);

}  // namespace rimetree::psv
