// Evaluates the rows of a group of baselines: on the devices of the context, or on the host by the method that the
// planner chooses, on all threads.
#pragma once

#include "nodes/psv/pipeline/pipeline.h"
#include "nodes/psv/planner/planner.h"
#include "runtime/core/node/node.h"

namespace rimetree::psv::planner {
using namespace pipeline;

struct RowsProblem : Summed {
  const SkyInput& sky_input;
  const Output& output;      ///< without rows: the values are not asked for
  const Output slopes = {};  ///< derivatives along JonesTerms::tangents; without rows: the same
};

/// Bits do not depend on the number of threads. Throws Cancelled.
void solve_rows(const RowsProblem& problem, Choice choice, ThreadPool& threads, Cancellation& cancellation);

inline Machine machine_of(BatchContext& context) { return {context.devices, context.threads, context.cancellation}; }

/// Where the results of nodes that share these rows may stay on the device: without a block where no consumer reads
/// them there, where several devices share the work, or for want of memory.
DeviceTarget device_target(BatchContext& context, std::uint64_t owner, const Rows& rows, std::int32_t n_time,
                           std::size_t n_channel);

/// Evaluates to `tolerance`, a fraction of the total flux, and notes how. Where the memory of the devices is too small
/// it warns and takes the host. `target` says afterwards whether the results are there; if not they are in
/// problem.output. Throws Cancelled, and Error for a tolerance that nobody
/// meets.
void solve_group(BatchContext& context, const Node& node, const RowsProblem& problem, double tolerance,
                 DeviceTarget& target);

/// The same on the host for a problem whose slopes are asked for. Gives whether these were made on the way, to
/// kSmallestTolerance; if not, and if values are not asked for, nothing has been done for them.
bool solve_with_slopes(BatchContext& context, const RowsProblem& problem, double tolerance);

/// Warns of cells over which smearing is no product of sincs.
void warn_of_large_cells(BatchContext& context, const Node& node, const SmearingLimits& limits);

}  // namespace rimetree::psv::planner
