#include "nodes/psv/solve_group.h"

#include "nodes/psv/device/solve.h"

namespace rimetree::psv {

namespace {

bool solve_group_on_devices(BatchContext& context, const Node& node, const RowsProblem& problem,
                            const SkyVersion& version, double tolerance, DeviceTarget* target) {
  if (context.devices.empty()) return false;
  check_tolerance(tolerance);
  const DeviceProblem on_devices{problem.sky,
                                 problem.channels,
                                 problem.rows,
                                 problem.jones,
                                 {problem.output, target},
                                 tolerance,
                                 static_cast<std::uint64_t>(node.index()),
                                 version};
  try {
    const std::string done = solve_on_devices(on_devices, context.devices, context.threads, context.cancellation);
    context.notes.add("psv-device", "PSV: " + done);
    return true;
  } catch (const memory::OutOfMemory& error) {
    context.warnings.add("psv-device-memory", "node \"" + node.name() + "\" is evaluated on the host: " + error.what());
    return false;
  }
}

}  // namespace

DeviceTarget device_target(BatchContext& context, const Node& node, const Rows& rows, std::int32_t n_time,
                           std::size_t n_channel) {
  DeviceTarget target;
  if (!context.feeds_devices || context.devices.size() != 1 || rows.n_row == 0) return target;
  target.plane = static_cast<std::int64_t>(static_cast<std::size_t>(n_time) * n_channel);
  target.owner = static_cast<std::uint64_t>(node.index());
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

void solve_group(BatchContext& context, const Node& node, const RowsProblem& problem, const SkyVersion& version,
                 double tolerance, DeviceTarget& target) {
  if (solve_group_on_devices(context, node, problem, version, tolerance, target.block ? &target : nullptr)) return;
  Choice choice = choose_method(problem.sky, problem.channels, problem.rows, problem.jones, tolerance);
  context.notes.add("psv-" + std::to_string(static_cast<int>(choice.method)), "PSV: " + choice.reason);
  solve_rows(problem, std::move(choice), context.threads, context.cancellation);
}

}  // namespace rimetree::psv
