#include "nodes/psv/planner/solve_group.h"

#include <cstdio>

#include "nodes/psv/planner/device_solve.h"
#include "nodes/psv/planner/tuning.h"

namespace rimetree::psv {

namespace {

/// Beyond this part of the total flux the product of sincs is worth a warning.
constexpr double kSmearingErrorToWarnOf = 1e-3;

bool solve_group_on_devices(BatchContext& context, const Node& node, const RowsProblem& problem, double tolerance,
                            DeviceTarget* target) {
  if (context.devices.empty()) return false;
  check_tolerance(tolerance);
  std::string not_used;
  tuning_of(context.devices.front()->device().name(), &not_used);
  if (!not_used.empty()) context.warnings.add("psv-device-tuning", not_used);
  try {
    const DeviceSolution done = solve_on_devices(problem, {problem.output, target}, tolerance, machine_of(context));
    context.notes.add(done.is_matrix ? "psv-device-matrix" : "psv-device-direct", "PSV: " + done.report);
    return true;
  } catch (const memory::OutOfMemory& error) {
    context.warnings.add("psv-device-memory", "node \"" + node.name() + "\" is evaluated on the host: " + error.what());
    return false;
  }
}

}  // namespace

DeviceTarget device_target(BatchContext& context, std::uint64_t owner, const Rows& rows, std::int32_t n_time,
                           std::size_t n_channel) {
  DeviceTarget target;
  if (!context.feeds_devices || context.devices.size() != 1 || rows.n_row == 0) return target;
  target.plane = static_cast<std::int64_t>(static_cast<std::size_t>(n_time) * n_channel);
  target.owner = owner;
  for (std::size_t r = 0; r < rows.n_row; ++r)
    target.row_offset.push_back(4 * rows.baseline[r] * target.plane +
                                rows.time[r] * static_cast<std::int64_t>(n_channel));
  try {
    target.block = context.devices.front()->make_block(4 * rows.n_row * n_channel * sizeof(Complex<double>));
  } catch (const memory::OutOfMemory&) {
    // They come to the host, chunk by chunk.
  }
  return target;
}

void solve_group(BatchContext& context, const Node& node, const RowsProblem& problem, double tolerance,
                 DeviceTarget& target) {
  if (solve_group_on_devices(context, node, problem, tolerance, target.block ? &target : nullptr)) return;
  Choice choice = choose_method(problem, tolerance);
  context.notes.add("psv-" + std::to_string(static_cast<int>(choice.method)), "PSV: " + choice.reason);
  solve_rows(problem, std::move(choice), context.threads, context.cancellation);
}

void warn_of_large_cells(BatchContext& context, const Node& node, const SmearingLimits& limits) {
  if (limits.error <= kSmearingErrorToWarnOf) return;
  char text[400];
  std::snprintf(text, sizeof text,
                "node \"%s\": cells are large for time and bandwidth smearing as a product of sincs: phases change by "
                "up to %.3g rad over an exposure and %.3g rad across a channel, and the visibilities of the farthest "
                "sources may be wrong by %.2g of the total flux; use shorter exposures or narrower channels",
                node.name().c_str(), limits.time_rad, limits.frequency_rad, limits.error);
  context.warnings.add("psv-large-cells", text);
}

}  // namespace rimetree::psv
