#include "nodes/psv/planner/solve.h"

#include <algorithm>
#include <cstdio>

#include "nodes/psv/matrix/sides_solve.h"
#include "nodes/psv/planner/device_solve.h"
#include "nodes/psv/planner/tuning.h"

namespace rimetree::psv::planner {
namespace {

/// Rows per range: whole vectors, and many ranges per thread, so that no thread waits long for the last: at most for
/// 1/32 of its share. A range costs no more than a call.
std::size_t rows_per_range(std::size_t n_row, std::size_t vector, const ThreadPool& threads) {
  const std::size_t share = n_row / (32 * static_cast<std::size_t>(threads.size()) * vector);
  return vector * std::clamp<std::size_t>(share, 1, 64);
}

/// The same where the rows of a range share their antennas' Jones terms: as many as the kernel takes together.
std::size_t rows_per_shared_range(std::size_t n_row, std::size_t vector, const ThreadPool& threads) {
  const std::size_t share = n_row / (2 * static_cast<std::size_t>(threads.size()) * vector);
  return vector * std::clamp<std::size_t>(share, 1, kJonesRows / vector);
}

template <class T>
void solve_directly(const RowsProblem& p, const Sky<T>& sky, ThreadPool& threads, Cancellation& cancellation) {
  std::vector<Workspace<T>> workspaces;
  for (int i = 0; i < threads.size(); ++i) workspaces.emplace_back(sky, p.channels, p.jones);
  const std::size_t vector = rows_per_block<T>();
  const std::size_t range = matrices_vary(sky, p.jones) ? rows_per_shared_range(p.rows.n_row, vector, threads)
                                                        : rows_per_range(p.rows.n_row, vector, threads);
  threads.parallel_for(
      p.rows.n_row, range,
      [&](std::size_t begin, std::size_t end, int worker) {
        evaluate_rows(sky, p.channels, p.rows, p.jones, begin, end, workspaces[static_cast<std::size_t>(worker)],
                      p.output);
      },
      &cancellation);
}

void solve_by_delay(const RowsProblem& p, DelayPlan& plan, ThreadPool& threads, Cancellation& cancellation) {
  finish_delay_plan(plan);
  std::vector<DelayWorkspace> workspaces;
  for (int i = 0; i < threads.size(); ++i) workspaces.emplace_back(plan);
  threads.parallel_for(
      p.rows.n_row, rows_per_range(p.rows.n_row, 1, threads),
      [&](std::size_t begin, std::size_t end, int worker) {
        evaluate_delay_rows(plan, p.rows, begin, end, workspaces[static_cast<std::size_t>(worker)], p.output);
      },
      &cancellation);
}

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

void solve_rows(const RowsProblem& problem, Choice choice, ThreadPool& threads, Cancellation& cancellation) {
  switch (choice.method) {
    case MethodKind::kDelay:
      return solve_by_delay(problem, *choice.delay, threads, cancellation);
    case MethodKind::kUvGrid:
      return solve_by_uv_grid(problem, *choice.uv_grid, problem.output, threads, cancellation);
    case MethodKind::kMatrix:
      return solve_by_sides(problem, *choice.sides, {problem.output, problem.slopes}, threads, cancellation);
    case MethodKind::kDirectSingle:
      return solve_directly(problem, pack_sky<float>(problem.sky_input), threads, cancellation);
    case MethodKind::kDirectDouble:
      return solve_directly(problem, problem.sky, threads, cancellation);
  }
}

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
  Choice choice = choose_method(problem, tolerance, context.threads);
  context.notes.add("psv-" + std::to_string(static_cast<int>(choice.method)), "PSV: " + choice.reason);
  solve_rows(problem, std::move(choice), context.threads, context.cancellation);
}

bool solve_with_slopes(BatchContext& context, const RowsProblem& problem, double tolerance) {
  Choice choice = choose_method(problem, tolerance, context.threads);
  const bool together = choice.method == MethodKind::kMatrix && choice.bound <= kSmallestTolerance;
  if (!together && problem.output.row == nullptr) return false;
  context.notes.add("psv-" + std::to_string(static_cast<int>(choice.method)), "PSV: " + choice.reason);
  if (together) {
    context.notes.add("psv-matrix-slopes",
                      "PSV: derivatives of Jones terms of both ends in one pass with the values (" +
                          about_text(choice.slopes_seconds) + " more)");
    solve_rows(problem, std::move(choice), context.threads, context.cancellation);
    return true;
  }
  solve_rows({problem, problem.sky_input, problem.output}, std::move(choice), context.threads, context.cancellation);
  return false;
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

}  // namespace rimetree::psv::planner
