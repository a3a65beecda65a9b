#include "nodes/psv/planner/device_solve.h"

#include <cstdio>

#include "nodes/psv/device/direct.h"
#include "nodes/psv/exposure_rule.h"
#include "nodes/psv/matrix/matrix_method.h"
#include "nodes/psv/planner/device_planner.h"
#include "nodes/psv/planner/planner.h"
#include "runtime/core/error.h"

namespace rimetree::psv::planner {
using namespace device;
namespace {

std::string where(DeviceSpan devices, bool single) {
  std::string text = single ? " in single precision on " : " in double precision on ";
  text += devices.front()->device().name();
  if (devices.size() > 1) text += " and " + std::to_string(devices.size() - 1) + " more";
  return text + (single ? " (error below 1e-06)" : " (error below 1e-12)");
}

std::string report(const Summed& of, double tolerance, const DeviceOutcome& done, const std::string& method,
                   const DeviceMethodChoice& choice) {
  char text[200];
  std::snprintf(text, sizeof text,
                "%s, %zu rows, %zu channels to %.3g of the total flux: ", sources_text(of.sky).c_str(), of.rows.n_row,
                of.n_channel(), tolerance);
  return text + method + ", " + done.text() + (choice.reason.empty() ? "" : " (" + choice.reason + ")");
}

DeviceWork work_of(const Summed& of, const JonesChains& jones, bool single) {
  DeviceWork work;
  work.n_source = double(of.sky.n_source), work.n_row = double(of.rows.n_row);
  work.n_channel = double(of.n_channel());
  work.n_plane = jones.empty() ? static_cast<int>(of.sky.planes.size()) : 8;
  work.one_plane = of.sky.one_plane_part();
  work.jones = !jones.empty();
  work.jones_vary =
      jones.left.axes.n_channel > 1 || jones.right.axes.n_channel > 1 || (work.jones && of.sky.n_weight_channel > 1);
  work.smear_time = of.rows.is_smeared_in_time();
  work.regular = device_channels(of.channels, reach_of(of.sky, of.rows), of.rows.is_smeared_in_frequency()).regular;
  work.single = single;
  return work;
}

/// How many rows an antenna of a time slot has; 0 where rows are no differences of antennas, or antennas are hardly
/// fewer than rows.
double rows_per_antenna(const AntennaPlan& antennas, std::size_t n_row) {
  constexpr double kLeast = 2;
  const double ends = double(antennas.layers.size()) * double(antennas.n_antenna);
  return antennas.obstacle.empty() && ends > 0 && double(n_row) >= kLeast * ends ? double(n_row) / ends : 0;
}

template <class T>
DeviceSolution solve(const Summed& of, const DeviceOutput& output, double tolerance, const Machine& machine,
                     const MethodWish& wish) {
  constexpr bool kSingle = sizeof(T) == 4;
  const JonesChains jones = jones_chains(of.jones, of.rows, of.n_channel());
  MatrixPlan plan = matrix_plan(of, jones, tolerance, machine.threads);
  if (wish.kind == MethodWish::Kind::kDirect) plan.obstacle = "not asked for";
  const memory::Device& device = machine.first().device();
  const DeviceTuning tuning = tuning_of(device.name());
  DeviceWork work = work_of(of, jones, kSingle);
  if (wish.phasors.value_or(tuning.direct[kSingle].phasors) == PhasorsOf::kAntennas)
    work.rows_per_antenna = rows_per_antenna(plan.antennas, of.rows.n_row);
  DeviceMethodChoice choice = choose_on_device(work, plan, rates_of(device), tuning);
  if (wish.kind == MethodWish::Kind::kMatrix) {
    if (!plan.obstacle.empty()) throw Error("matrix product: " + plan.obstacle);
    choice = {true, wish.variant, ""};
  }
  const auto run = [&](DeviceMethod& method, const std::string& name) -> DeviceSolution {
    const DeviceOutcome done = run_on_devices(method, output, of.n_channel(), machine);
    return {choice.is_matrix, report(of, tolerance, done, name + where(machine.devices, kSingle), choice)};
  };
  if (choice.is_matrix) {
    MatrixMethod<T> method(of, std::move(plan), choice.variant, machine.threads);
    return run(method, "matrix product");
  }
  DirectMethod<T> method(of, work.rows_per_antenna > 0 ? &plan.antennas : nullptr, machine.threads);
  const char* name = method.by_antennas() ? "direct, phasors of antennas," : "direct";
  return run(method, method.regular() ? name : "direct, irregular channels,");
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

std::string expected_on_devices(DeviceSpan devices, const Outlook& o, std::size_t n_baseline, std::size_t n_channel,
                                bool may_be_extended) {
  DeviceWork work;
  work.n_source = double(o.n_source), work.n_row = double(n_baseline), work.n_channel = double(n_channel);
  work.jones = o.n_pair > 0, work.jones_vary = o.jones_vary, work.smear_time = o.smearing;
  work.n_plane = work.jones ? 8 : o.unpolarised ? 1 : 4;
  work.single = o.tolerance >= kSingleBound;
  MatrixPlan plan = expected_plan(o, n_baseline);
  work.rows_per_antenna = double(n_baseline) / double(plan.left.size());
  if (may_be_extended) plan.obstacle = "the tapers of extended sources depend on the baseline, should there be any";
  const memory::Device& device = devices.front()->device();
  const DeviceMethodChoice choice = choose_on_device(work, plan, rates_of(device), tuning_of(device.name()));
  return (choice.is_matrix ? "matrix product, where UVW are differences of one vector per antenna," : "direct") +
         where(devices, work.single) + ": per time slot " + choice.reason;
}

DeviceSolution solve_on_devices(const Summed& of, const DeviceOutput& output, double tolerance, const Machine& machine,
                                const MethodWish& wish) {
  if (singles_meet(tolerance, of)) return solve<float>(of, output, tolerance, machine, wish);
  return solve<double>(of, output, tolerance, machine, wish);
}

}  // namespace rimetree::psv::planner
