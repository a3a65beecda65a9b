// Groups of nodes that are one program, on a device: each is evaluated as if it were one node, whose children are the
// leaves of the group.
#include <algorithm>

#include "runtime/core/threads/stopwatch.h"
#include "runtime/device/device_batch.h"
#include "runtime/evaluate/forward_pass.h"
#include "runtime/evaluate/fused_derivatives.h"
#include "runtime/evaluate/fusion.h"

namespace rimetree {

/// What groups do on a device, as if they were single nodes.
struct ForwardPass::GroupPlans {
  std::vector<std::shared_ptr<Result>> made;
  std::vector<Evaluation> evaluations;
  std::vector<Evaluation*> ready;
  std::vector<DevicePlan> plans;
};

/// False: there is one that no device can do.
bool ForwardPass::plan_groups(std::span<const int> nodes, std::span<const GroupRun> runs, GroupPlans& to) {
  to.evaluations.reserve(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const GroupRun& run = runs[i];
    if (run.derived && request_.along_direction) return false;  // they belong to reverse mode, which the host does
    auto program = state_.evaluated.fusion()->program_on_device(*run.group, run.results, *request_.cells, run.shape);
    if (program == nullptr) return false;
    to.made.push_back(std::make_shared<Result>());
    to.evaluations.emplace_back(forest_.node(nodes[i]), request_, *state_.pool, run.results, *to.made.back());
    DevicePlan& plan = to.plans.emplace_back(to.evaluations.back());
    plan.type = run.is_complex() ? NumberType::complex : NumberType::real;
    plan.cells = run.shape;
    plan.wants_time = (run.group->varies_along & set_of(Axis::time)) != 0;
    plan.wants_frequency = (run.group->varies_along & set_of(Axis::frequency)) != 0;
    plan.parameters = run.derived ? run.derived->parameters : std::vector<ParameterId>();
    plan.programs.push_back(std::move(program));
    if (!state_.evaluated.fusion()->derivatives().add_on_device(*run.group, run.results, plan.parameters,
                                                                plan.programs))
      return false;
  }
  for (Evaluation& evaluation : to.evaluations) to.ready.push_back(&evaluation);
  return true;
}

/// Evaluates those groups of one batch that belong on a device; what is left are those for the host.
void ForwardPass::run_groups_on_device(std::vector<int>& nodes, std::vector<GroupRun>& runs) {
  GroupPlans groups;
  if (manner_.placing == Placing::on_host || !plan_groups(nodes, runs, groups)) return;
  // Parts feed what can read them on a device: that they are part of one program makes no difference.
  DeviceContext* device = state_.placement.choose_for(groups.ready, true, groups.plans);
  if (device == nullptr) return;
  std::vector<Evaluation*> left;
  {
    ClassTiming& timing = state_.timing.of(forest_.node(nodes[0]));
    const TimedScope timed(timing.seconds);
    left = evaluate_on(*device, {nullptr, groups.ready, groups.plans, static_cast<std::uint64_t>(nodes[0]), {}});
    ++timing.batches;
  }
  std::vector<int> done_nodes, left_nodes;
  std::vector<GroupRun> done_runs, left_runs;
  std::vector<std::shared_ptr<Result>> done;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const bool is_left = std::find(left.begin(), left.end(), groups.ready[i]) != left.end();
    (is_left ? left_nodes : done_nodes).push_back(nodes[i]);
    if (!is_left) {
      complete_group(runs[i], *groups.made[i]);
      done.push_back(std::move(groups.made[i]));
    }
    (is_left ? left_runs : done_runs).push_back(std::move(runs[i]));
  }
  nodes = std::move(left_nodes);
  runs = std::move(left_runs);
  take_groups(done_nodes, done_runs, done, device);
}

}  // namespace rimetree
