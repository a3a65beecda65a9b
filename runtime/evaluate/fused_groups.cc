// Which nodes of a pass are evaluated as parts of their consumers' programs, and how such programs are run.
#include <algorithm>

#include "runtime/core/error.h"
#include "runtime/core/threads/stopwatch.h"
#include "runtime/evaluate/forward_pass.h"
#include "runtime/evaluate/fused_derivatives.h"
#include "runtime/evaluate/fusion.h"

namespace rimetree {

namespace {

/// Cells of all items of one result that are worth all threads.
constexpr std::size_t kLeastDivided = 16384;

bool are_ok(std::span<const Result* const> results) {
  return std::all_of(results.begin(), results.end(),
                     [](const Result* result) { return result != nullptr && result->ok(); });
}

}  // namespace

bool ForwardPass::fuses() const { return state_.evaluated.fusion() != nullptr; }

// A node is a part of its consumer's program if nobody else wants its result, now or later.
void ForwardPass::find_parts() {
  has_parts_ = false;
  if (!fuses()) return;
  Fusion* const fusion = state_.evaluated.fusion();
  part_of_.assign(forest_.size(), -1);
  Fusion::Search search(*fusion, forest_.size());
  for (auto it = nodes_.rbegin(); it != nodes_.rend(); ++it) {
    const int node = *it;
    if (!needed_[node]) continue;
    // Beside devices what a plan stacks is put together where its parts are.
    const bool takes_part = !holds_inputs(node) && !(state_.placement.has_devices() && state_.evaluated.is_made(node));
    // Sums of many terms, and what they read, are evaluated by themselves. Their parts may be groups if they cannot be.
    const int reader = search.root_of_readers(node);
    const bool is_at_sum = has_sums_ && (sum_of_[node] != nullptr || (!in_sum_[node] && reader >= 0 &&
                                                                      (in_sum_[reader] || sum_of_[reader] != nullptr)));
    // What a plan has put in must see flags (made_nodes.cc), and is no part of a program of what has been written.
    const bool is_apart = reader >= 0 && state_.evaluated.is_made(node) && !state_.evaluated.is_made(reader);
    const bool is_seen =
        is_at_sum || is_apart || is_root_[node] || keeps(node) || search.readers(node) != waiting_consumers_[node];
    const int root = search.place(node, forest_.children(node), takes_part ? fusion->items_of(node) : 0, is_seen);
    if (root < 0 || root == node) continue;
    part_of_[node] = root;
    has_parts_ = true;
  }
  if (!has_parts_) return;
  has_part_.assign(forest_.size(), false);
  for (const int node : nodes_)
    if (part_of_[node] >= 0) has_part_[part_of_[node]] = true;
  fusion->set_parts(part_of_);
}

/// Whether a group of nodes that a plan has put in has to look at flags, one node after the other.
bool ForwardPass::must_see_flags(const FusedGroup& group, std::span<const Result* const> leaves) const {
  const auto has_flags = [](const Result* leaf) { return !leaf->flags.empty(); };
  return state_.evaluated.is_made(group.members.back()) && std::ranges::any_of(leaves, has_flags);
}

/// Gives the nodes that have to be evaluated by themselves: those without parts, and those whose parts have been
/// evaluated one by one.
std::vector<int> ForwardPass::run_groups(std::span<const int> roots) {
  Fusion& fusion = *state_.evaluated.fusion();
  std::vector<int> plain, nodes, alone;
  std::vector<GroupRun> runs;
  for (const int node : roots) {
    if (!has_part_[node]) {
      plain.push_back(node);
      continue;
    }
    GroupRun run{.group = fusion.group(node)};
    for (const int leaf : run.group->leaves) run.results.push_back(results_[leaf].get());
    if (are_ok(run.results) && !must_see_flags(*run.group, run.results)) {
      run.shape = fusion.cells_of(*run.group, run.results, *request_.cells);
      const bool derives = std::any_of(run.results.begin(), run.results.end(),
                                       [](const Result* result) { return !result->derivatives.empty(); });
      if (derives)
        run.derived = fusion.derivatives().made_for(*run.group, run.results, *request_.cells, run.shape);
      else
        run.made = &fusion.program_of(*run.group, run.results, *request_.cells, run.shape);
    }
    if (run.can_run()) {
      nodes.push_back(node);
      runs.push_back(std::move(run));
      continue;
    }
    plain.push_back(node);
    alone.insert(alone.end(), run.group->members.begin(), run.group->members.end() - 1);
  }
  if (!alone.empty()) run_one_by_one(alone);
  if (!runs.empty() && state_.placement.has_devices()) run_groups_on_device(nodes, runs);
  if (!runs.empty()) run_programs(nodes, runs);
  return plain;
}

/// Evaluates nodes that were to be parts of others by themselves.
void ForwardPass::run_one_by_one(std::span<const int> parts) {
  std::vector<bool> is_wanted(forest_.size(), false);
  for (const int node : parts) {
    part_of_[node] = -1;
    has_part_[node] = false;
    is_wanted[node] = true;
  }
  std::vector<int> ordered;  // as in the plan
  for (const int node : nodes_)
    if (is_wanted[node]) ordered.push_back(node);
  run_nodes(ordered);
}

void ForwardPass::run_programs(std::span<const int> nodes, std::span<const GroupRun> runs) {
  if (cancellation_.check()) throw Cancelled();
  std::vector<std::shared_ptr<Result>> made;
  while (made.size() < nodes.size()) made.push_back(std::make_shared<Result>());
  ClassTiming& timing = state_.timing.of(forest_.node(nodes[0]));
  Stopwatch watch;
  if (state_.placement.has_devices()) {
    std::vector<const Vells*> values;
    for (const GroupRun& run : runs)
      for (const Result* result : run.results) {
        values.push_back(&result->value);
        for (const Derivative& derivative : result->derivatives) values.push_back(&derivative.value);
      }
    bring_to_host(values);
    timing.split.changed_seconds += watch.lap();
  }
  const auto run_one = [&](std::size_t i, ThreadPool* threads) {
    const GroupRun& run = runs[i];
    const auto room = [&] {
      return Vells(*state_.pool, run.is_complex() ? NumberType::complex : NumberType::real,
                   forest_.node(nodes[i]).dims(), run.shape);
    };
    made[i]->value = room();
    if (run.derived) {
      std::vector<Derivative>& derivatives = made[i]->derivatives;
      for (const ParameterId& parameter : run.derived->parameters) derivatives.push_back({parameter, room()});
      FusedDerivatives::run(*run.derived, run.group->n_item, run.results, *request_.cells, made[i]->value, derivatives,
                            threads);
    } else {
      Fusion::run(*run.made->program, run.group->n_item, run.results, *request_.cells, made[i]->value, threads);
    }
    complete_group(run, *made[i]);
  };
  const auto n_thread = static_cast<std::size_t>(state_.threads.size());
  if (runs.size() < n_thread && runs.front().shape.size() * runs.front().group->n_item >= kLeastDivided) {
    for (std::size_t i = 0; i < runs.size(); ++i) run_one(i, &state_.threads);
  } else {
    state_.threads.parallel_for(
        runs.size(), std::max<std::size_t>(1, runs.size() / (8 * n_thread)),
        [&](std::size_t begin, std::size_t end, int) {
          for (std::size_t i = begin; i < end; ++i) run_one(i, nullptr);
        },
        &cancellation_);
  }
  timing.seconds += watch.lap();
  ++timing.batches;
  take_groups(nodes, runs, made);
}

/// Sets what goes along with a group's values.
void ForwardPass::complete_group(const GroupRun& run, Result& made) {
  state_.evaluated.fusion()->complete(*run.group, run.results, request_, *state_.pool, made);
  made.status = Result::Status::ok;
}

/// Takes what groups have given, on the host or on a device, and lets go of what their members read.
void ForwardPass::take_groups(std::span<const int> nodes, std::span<const GroupRun> runs,
                              std::span<std::shared_ptr<Result>> made, const DeviceContext* device) {
  std::vector<int> members;
  for (const GroupRun& run : runs) members.insert(members.end(), run.group->members.begin(), run.group->members.end());
  count_evaluations(members, device);
  take_results(nodes, made);
  for (const GroupRun& run : runs)
    for (std::size_t i = 0; i + 1 < run.group->members.size(); ++i) release_inputs_of(run.group->members[i]);
}

}  // namespace rimetree
