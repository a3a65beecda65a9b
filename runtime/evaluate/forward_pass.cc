#include "runtime/evaluate/forward_pass.h"

#include <algorithm>

#include "runtime/core/threads/stopwatch.h"
#include "runtime/device/device_batch.h"
#include "runtime/evaluate/contract.h"

namespace rimetree {

namespace {

/// Small portions of results stay in caches, and what is let go of serves the next one. Devices want large ones.
constexpr std::uint64_t kHostPortionBytes = 128u << 20;

}  // namespace

ForwardPass::ForwardPass(EvaluatorState& state, const Request& request, const std::vector<int>& roots,
                         Cancellation& cancellation, Manner manner)
    : state_(state),
      forest_(state.evaluated.forest()),
      plan_(state.evaluated.plan()),
      request_(request),
      cancellation_(cancellation),
      manner_(manner),
      roots_(roots),
      tiles_(forest_, *request.cells),
      is_root_(forest_.size(), false),
      stamps_(forest_.size()),
      results_(forest_.size()),
      bytes_(forest_.size(), 0),
      waiting_consumers_(forest_.size(), 0),
      wave_(roots),
      nodes_(state.evaluated.below(roots)) {
  for (const int root : roots) is_root_[root] = true;
  for (const int node : nodes_) {
    std::uint64_t stamp = state_.own_stamp(node, request);
    for (const int child : forest_.children(node)) {
      stamp = mix(stamp, child < 0 ? 0 : stamps_[child]);
      if (child >= 0) ++waiting_consumers_[child];
    }
    stamps_[node] = stamp;
    state_.cache.drop_other_than(node, stamp);  // what was kept of another tile makes room for this one's
  }
}

void ForwardPass::run() {
  const std::uint64_t budget = state_.options.memory_budget;
  const bool has_devices = state_.placement.has_devices();
  const EvaluatedForest::Parts parts = state_.evaluated.parts(request_.derivatives, has_devices);
  const auto& waves =
      state_.evaluated.waves(roots_, request_.cells->shape(), budget, has_devices ? budget : kHostPortionBytes, parts);
  for (const auto& wave : waves) run_wave(wave);
}

void ForwardPass::run_wave(std::span<const int> roots) {
  if (!std::ranges::equal(roots, wave_)) {
    wave_.assign(roots.begin(), roots.end());
    nodes_ = plan_.below(roots);
  }
  find_needed(roots);
  find_sums();
  find_parts();
  std::vector<int> wanted;
  for (const int node : nodes_)
    if (needed_[node] && (!has_parts_ || part_of_[node] < 0) && (!has_sums_ || !in_sum_[node])) wanted.push_back(node);
  run_nodes(wanted);
  refuse_sums();
}

// From the roots down: a node whose kept result is valid ends the descent.
void ForwardPass::find_needed(std::span<const int> roots) {
  needed_.assign(forest_.size(), false);
  for (const int root : roots) needed_[root] = true;
  for (auto it = nodes_.rbegin(); it != nodes_.rend(); ++it) {
    const int node = *it;
    if (!needed_[node]) continue;
    if (!results_[node] && !forest_.node(node).traits().always_evaluates)
      if (ResultPtr kept = state_.cache.find(node, stamps_[node])) {
        take_bytes(bytes_[node] = result_bytes(*kept));
        results_[node] = std::move(kept);
        ++state_.timing.of(forest_.node(node)).reused;
        if (!holds_inputs(node)) release_inputs_of(node);  // it will not read them
      }
    if (results_[node]) {
      needed_[node] = false;
      if (!holds_inputs(node)) continue;
    }
    for (const int child : forest_.children(node))
      if (child >= 0) needed_[child] = true;
  }
}

/// Batch by batch; nodes that have parts as one program with them, as far as that can be.
void ForwardPass::run_nodes(std::span<const int> nodes) {
  for (std::size_t k = 0; k < nodes.size();) {
    const int batch = plan_.batch_of(nodes[k]);
    std::size_t end = k;
    while (end < nodes.size() && plan_.batch_of(nodes[end]) == batch) ++end;
    std::span<const int> members = nodes.subspan(k, end - k);
    k = end;
    std::vector<int> other, plain;
    if (has_sums_) members = other = run_sums(members);
    if (has_parts_) members = plain = run_groups(members);
    if (!members.empty()) run_batch(members);
  }
}

void ForwardPass::run_batch(std::span<const int> nodes) {
  if (cancellation_.check()) throw Cancelled();
  state_.evaluated.check_inputs(nodes, results_, !state_.placement.has_devices());
  prepare_batch(nodes);
  if (!batch_.ready.empty()) evaluate_batch(nodes);
  for (Evaluation& evaluation : batch_.evaluations) Contract::finish(evaluation);
  take_results(nodes, batch_.made);
}

void ForwardPass::prepare_batch(std::span<const int> nodes) {
  std::size_t n_child = 0;
  for (const int node : nodes) n_child += forest_.children(node).size();
  auto& [children, made, evaluations, ready] = batch_;
  children.clear();
  children.reserve(n_child);  // evaluations look at their part of it
  made.clear();
  evaluations.clear();
  evaluations.reserve(nodes.size());
  for (const int node : nodes) {
    const std::size_t first = children.size();
    for (const int child : forest_.children(node))
      children.push_back(child < 0 ? nullptr : seen_by(forest_.node(node), child));
    std::span<const Result*> own = std::span(children).subspan(first);
    made.push_back(std::make_shared<Result>());
    if (Contract::prepare(forest_.node(node), own, *made.back()))
      evaluations.emplace_back(forest_.node(node), request_, *state_.pool, own, *made.back());
  }
  ready.clear();
  for (Evaluation& evaluation : evaluations) ready.push_back(&evaluation);
}

void ForwardPass::evaluate_batch(std::span<const int> nodes) {
  BatchContext context = state_.batch_context(cancellation_);
  const bool has_devices = state_.placement.has_devices();
  if (manner_.placing != Placing::on_host) context.devices = state_.placement.devices();
  const bool stays = manner_.placing == Placing::roots_where_made &&
                     std::any_of(nodes.begin(), nodes.end(), [&](int node) { return is_root_[node]; });
  context.feeds_devices = has_devices && held_.empty() && (stays || feed_devices(plan_, nodes));
  ClassTiming& timing = state_.timing.of(forest_.node(nodes[0]));
  const TimedScope timed(timing.seconds);
  Stopwatch watch;
  timing.evaluations += batch_.ready.size();
  timing.on_devices += run_on_device(nodes);
  if (!batch_.ready.empty()) {
    if (has_devices) {
      bring_inputs_to_host();
      context.split.changed_seconds += watch.lap();
    }
    Contract::evaluate_batch(context, plan_.kernel_of(nodes[0]), batch_.ready);
  }
  timing.split.unchanged_seconds += context.split.unchanged_seconds;
  timing.split.changed_seconds += context.split.changed_seconds;
  ++timing.batches;
}

/// Evaluates what it can of the batch that is ready, which is then no longer ready; gives how many nodes that were.
std::size_t ForwardPass::run_on_device(std::span<const int> nodes) {
  if (!state_.placement.has_devices() || manner_.placing == Placing::on_host) return 0;
  auto& ready = batch_.ready;
  // In a pass back the host goes back through what it has computed. And it reads derivatives along one direction, which
  // belong to reverse mode.
  if (std::any_of(nodes.begin(), nodes.end(), [&](int node) { return holds_inputs(node); })) return 0;
  const auto moves = [](const Evaluation* evaluation) { return evaluation->has_derivatives(); };
  if (request_.along_direction && std::any_of(ready.begin(), ready.end(), moves)) return 0;
  std::vector<DevicePlan> plans;
  plan_.kernel_of(nodes[0]).prepare(ready);
  DeviceContext* device = state_.placement.choose(ready, are_wanted_on_devices(nodes), plans);
  if (device == nullptr) return 0;
  const std::size_t n_ready = ready.size();
  std::vector<Evaluation*> left = evaluate_on(
      *device, {forest_.node(nodes[0]).device_path(), ready, plans, static_cast<std::uint64_t>(nodes[0]), {}});
  for (Evaluation* evaluation : ready)
    if (std::find(left.begin(), left.end(), evaluation) == left.end())
      evaluation->node.device_path()->complete(*evaluation);
  ready = std::move(left);
  return n_ready - ready.size();
}

/// Whether results of a batch are wanted on devices. Roots are what somebody asked for: they are worth it by
/// themselves.
bool ForwardPass::are_wanted_on_devices(std::span<const int> nodes) const {
  return std::any_of(nodes.begin(), nodes.end(), [&](int node) { return is_root_[node]; }) ||
         feed_devices(plan_, nodes);
}

/// Gives those for which there was no room, and says what was done.
std::vector<Evaluation*> ForwardPass::evaluate_on(DeviceContext& device, DeviceBatch batch) {
  batch.group_of = [this](int node) { return static_cast<std::uint64_t>(plan_.batch_of(node)); };
  std::string why;
  const std::string& class_name = batch.evaluations.front()->node.node_class().name;
  std::vector<Evaluation*> left = evaluate_as_fits(device, batch, why);
  if (!left.empty())
    state_.warnings.add("device-memory-" + class_name, class_name + " is evaluated on the host, from node \"" +
                                                           left.front()->node.name() + "\" on: " + why);
  if (left.size() < batch.evaluations.size()) note_device(batch.evaluations.front()->node, device);
  return left;
}

void ForwardPass::note_device(const Node& node, const DeviceContext& device) {
  const std::string& class_name = node.node_class().name;
  state_.notes.add("device-" + class_name, class_name + ": on " + device.device().name());
}

void ForwardPass::bring_inputs_to_host() {
  if (batch_.ready.front()->node.traits().reads_no_values) return;
  std::vector<const Vells*> values;
  for (const Evaluation* evaluation : batch_.ready)
    for (const Vells* value : evaluation->child_values()) values.push_back(value);
  bring_to_host(values);
}

void ForwardPass::take_results(std::span<const int> nodes, std::span<std::shared_ptr<Result>> made) {
  state_.evaluated.check_results(nodes, made, *state_.pool);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const int node = nodes[i];
    made[i]->node = node;
    made[i]->stamp = stamps_[node];
    take_bytes(bytes_[node] = result_bytes(*made[i]));
    // Failures are not kept: what caused one (a Python node, say) may have been mended.
    if (keeps(node) && !forest_.node(node).traits().always_evaluates && made[i]->status != Result::Status::failed)
      state_.cache.keep(node, stamps_[node], made[i]);
    results_[node] = std::move(made[i]);
  }
  for (const int node : nodes)
    if (!holds_inputs(node)) release_inputs_of(node);
}

void ForwardPass::take_bytes(std::uint64_t bytes) {
  bytes_alive_ += bytes;
  state_.timing.peak_result_bytes = std::max(state_.timing.peak_result_bytes, bytes_alive_);
}

// A node that mixes cells sees derivatives tile by tile. (The one along a direction is right for all tiles at once.)
const Result* ForwardPass::seen_by(const Node& node, int child) {
  const ResultPtr& result = results_[child];
  if (result->derivatives.empty() || !request_.derivatives || request_.along_direction) return result.get();
  const AxisSet mixed = node.traits().mixed_axes & (set_of(Axis::time) | set_of(Axis::frequency));
  if (mixed == kNoAxes) return result.get();
  const auto [seen, is_new] = split_.try_emplace({child, mixed});
  if (is_new) seen->second = split_derivatives(*state_.pool, *result, mixed, tiles_);
  return seen->second ? seen->second.get() : result.get();
}

bool ForwardPass::keeps(int node) const {
  if (manner_.step && (forest_.dependencies(node) & kSolvable) != 0) return false;
  return plan_.keeps(node) || is_root_[node];
}

void ForwardPass::release_inputs_of(int node) {
  for (const int child : forest_.children(node))
    if (child >= 0) release(child);
}

void ForwardPass::release(int node) {
  if (--waiting_consumers_[node] > 0) return;
  if (!split_.empty()) split_.erase(split_.lower_bound({node, kNoAxes}), split_.upper_bound({node, kAllAxes}));
  if (is_root_[node] || !results_[node] || keeps(node)) return;
  bytes_alive_ -= bytes_[node];
  results_[node] = nullptr;
}

}  // namespace rimetree
