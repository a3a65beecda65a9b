#include "nodes/psv/device/device_solve.h"

#include <cstdio>

#include "nodes/psv/delay/delay.h"
#include "nodes/psv/device/device_planner.h"
#include "nodes/psv/device/device_sky.h"
#include "nodes/psv/device/direct.h"
#include "nodes/psv/device/pipeline.h"
#include "nodes/psv/matrix/method.h"
#include "runtime/core/error.h"
#include "runtime/math/conventions.h"

namespace rimetree::psv {
namespace {

std::string where(std::span<const std::unique_ptr<DeviceContext>> devices, bool single) {
  std::string text = single ? " in single precision on " : " in double precision on ";
  text += devices.front()->device().name();
  if (devices.size() > 1) text += " and " + std::to_string(devices.size() - 1) + " more";
  return text + (single ? " (error below 1e-06)" : " (error below 1e-12)");
}

std::string report(const DeviceProblem& p, const DeviceOutcome& done, const std::string& method,
                   const DeviceMethodChoice& choice) {
  char text[600];
  std::snprintf(text, sizeof text,
                "%zu sources, %zu rows, %zu channels to %.3g of the total flux: %s, in chunks of %zu sources, %zu rows "
                "and %zu channels%s",
                p.sky.n_source, p.rows.n_row, p.channels.frequency_hz.size(), p.tolerance, method.c_str(),
                done.chunks.sources, done.chunks.rows, done.chunks.channels,
                done.n_retry > 0 ? "; memory was short" : "");
  return text + (choice.reason.empty() ? std::string() : " (" + choice.reason + ")");
}

/// Everything that a choice of method is made from, the same for all devices.
struct Alternatives {
  Alternatives(const DeviceProblem& p, bool single, ThreadPool& threads) {
    const JonesChains jones = jones_chains(p.jones, p.rows, p.channels.frequency_hz.size());
    if (p.wish == DeviceWish::kDirect)
      plan.obstacle = "not asked for";
    else
      plan = matrix_plan(p, jones, p.tolerance, threads);
    work.n_source = double(p.sky.n_source), work.n_row = double(p.rows.n_row);
    work.n_channel = double(p.channels.frequency_hz.size());
    work.n_plane = jones.empty() ? static_cast<int>(p.sky.planes.size()) : 8;
    work.one_plane = p.sky.one_plane_part();
    work.jones = !jones.empty();
    work.jones_vary =
        jones.left_axes.n_channel > 1 || jones.right_axes.n_channel > 1 || (work.jones && p.sky.n_weight_channel > 1);
    work.smear_time = p.rows.du != nullptr && p.rows.exposure_s != nullptr && p.rows.smear_time;
    work.regular = device_channels(p.channels, reach_of(p.sky, p.rows)).regular;
    work.single = single;
  }
  MatrixPlan plan;
  DeviceWork work;
};

template <class T>
DeviceSolution solve(const DeviceProblem& p, std::span<const std::unique_ptr<DeviceContext>> devices,
                     ThreadPool& threads, Cancellation& cancellation) {
  constexpr bool kSingle = sizeof(T) == 4;
  const std::size_t n_channel = p.channels.frequency_hz.size();
  Alternatives alternatives(p, kSingle, threads);
  const memory::Device& device = devices.front()->device();
  const DeviceTuning tuning = tuning_of(device.name());
  DeviceMethodChoice choice = choose_on_device(alternatives.work, alternatives.plan, rates_of(device), tuning);
  if (p.wish == DeviceWish::kMatrix) {
    if (!alternatives.plan.obstacle.empty()) throw Error("matrix product: " + alternatives.plan.obstacle);
    choice = {true, p.variant, ""};
  }
  if (choice.is_matrix) {
    MatrixMethod<T> method(p, std::move(alternatives.plan), choice.variant, threads);
    const DeviceOutcome done = run_on_devices(method, p.output, n_channel, devices, threads, cancellation);
    return {true, report(p, done, "matrix product" + where(devices, kSingle), choice)};
  }
  DirectMethod<T> method(p, p.direct_threads > 0 ? p.direct_threads : tuning.direct[kSingle].threads, threads);
  const DeviceOutcome done = run_on_devices(method, p.output, n_channel, devices, threads, cancellation);
  const std::string what = method.regular() ? "direct" : "direct, irregular channels,";
  return {false, report(p, done, what + where(devices, kSingle), choice)};
}

/// The plan for all baselines of an array in one time slot, as cells, rates and fluxes would usually have it.
MatrixPlan expected_plan(const Outlook& outlook, std::size_t n_baseline) {
  MatrixPlan plan;
  std::int32_t n = 1;
  while (std::size_t(n) * std::size_t(n - 1) / 2 < n_baseline) ++n;
  plan.with_jones = outlook.n_pair > 0;
  for (std::int32_t p = 0; p < n; ++p) {
    plan.left.push_back({p, 0});
    for (std::int32_t q = p + 1; q < n; ++q) plan.entries.push_back({0, p, q, false, 0});
  }
  plan.right = plan.left;
  // A tenth of a radian, as the planner of the host supposes.
  if (outlook.smearing)
    while (exposure_rule_error(plan.n_time_node, 0.05) > outlook.tolerance / 8) ++plan.n_time_node;
  plan.n_frequency_node = plan.n_time_node;
  return plan;
}

}  // namespace

std::string expected_on_devices(std::span<const std::unique_ptr<DeviceContext>> devices, const Outlook& o,
                                std::size_t n_baseline, std::size_t n_channel, bool may_be_extended) {
  DeviceWork work;
  work.n_source = double(o.n_source), work.n_row = double(n_baseline), work.n_channel = double(n_channel);
  work.jones = o.n_pair > 0, work.jones_vary = o.jones_vary, work.smear_time = o.smearing;
  work.n_plane = work.jones ? 8 : 4;
  work.single = o.tolerance >= kSingleBound;
  MatrixPlan plan = expected_plan(o, n_baseline);
  if (may_be_extended) plan.obstacle = "the tapers of extended sources depend on the baseline, should there be any";
  const memory::Device& device = devices.front()->device();
  const DeviceMethodChoice choice = choose_on_device(work, plan, rates_of(device), tuning_of(device.name()));
  return (choice.is_matrix ? "matrix product, where UVW are differences of one vector per antenna," : "direct") +
         where(devices, work.single) + ": per time slot " + choice.reason;
}

DeviceSolution solve_on_devices(const DeviceProblem& problem, std::span<const std::unique_ptr<DeviceContext>> devices,
                                ThreadPool& threads, Cancellation& cancellation) {
  if (problem.tolerance >= kSingleBound) return solve<float>(problem, devices, threads, cancellation);
  return solve<double>(problem, devices, threads, cancellation);
}

}  // namespace rimetree::psv
