#include "nodes/psv/solve_group.h"

#include "nodes/psv/device/solve.h"
#include "nodes/psv/device/tuning.h"

namespace rimetree::psv {

namespace {

bool solve_group_on_devices(BatchContext& context, const Node& node, const RowsProblem& problem,
                            const SkyVersion& version, double tolerance, const BaselineEnds& ends) {
  if (context.devices.empty()) return false;
  check_tolerance(tolerance);
  std::string not_used;
  tuning_of(context.devices.front()->device().name(), &not_used);
  if (!not_used.empty()) context.warnings.add("psv-device-tuning", not_used);
  const DeviceProblem on_devices{problem.sky,
                                 problem.channels,
                                 problem.rows,
                                 problem.jones,
                                 problem.output,
                                 tolerance,
                                 static_cast<std::uint64_t>(node.index()),
                                 version,
                                 ends};
  try {
    const DeviceSolution done = solve_on_devices(on_devices, context.devices, context.threads, context.cancellation);
    context.notes.add(done.is_matrix ? "psv-device-matrix" : "psv-device-direct", "PSV: " + done.report);
    return true;
  } catch (const memory::OutOfMemory& error) {
    context.warnings.add("psv-device-memory", "node \"" + node.name() + "\" is evaluated on the host: " + error.what());
    return false;
  }
}

}  // namespace

void solve_group(BatchContext& context, const Node& node, const RowsProblem& problem, const SkyVersion& version,
                 double tolerance, const BaselineEnds& ends) {
  if (solve_group_on_devices(context, node, problem, version, tolerance, ends)) return;
  Choice choice = choose_method(problem.sky, problem.channels, problem.rows, problem.jones, tolerance);
  context.notes.add("psv-" + std::to_string(static_cast<int>(choice.method)), "PSV: " + choice.reason);
  solve_rows(problem, std::move(choice), context.threads, context.cancellation);
}

}  // namespace rimetree::psv
