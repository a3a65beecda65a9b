#include "runtime/evaluate/evaluator.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>

#include "memory/host_device.h"
#include "runtime/core/fingerprint.h"
#include "runtime/core/solver_node.h"
#include "runtime/evaluate/contract.h"
#include "runtime/evaluate/evaluator_pass.h"
#include "runtime/evaluate/fusion.h"

namespace rimetree {

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

std::uint64_t free_memory_bytes() {
  const long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page) : 1u << 30;
}

/// What of results is on a device only, by as few copies as possible.
void bring_results_to_host(std::span<const ResultPtr> results) {
  std::vector<const Vells*> values;
  for (const ResultPtr& result : results) {
    values.push_back(&result->value);
    for (const Derivative& derivative : result->derivatives) values.push_back(&derivative.value);
  }
  bring_to_host(values);
}

}  // namespace

double TimingReport::overhead_seconds() const {
  double inside = 0;
  for (const auto& [name, timing] : classes) inside += timing.seconds;
  return total_seconds - inside;
}

Evaluator::~Evaluator() = default;

Evaluator::Evaluator(std::shared_ptr<Forest> forest, EvaluatorOptions options)
    : written_(std::move(forest)),
      options_(options),
      threads_(options.threads),
      pool_(memory::Pool::create(memory::host())) {
  make_plan();
  if (options_.memory_budget == 0) options_.memory_budget = free_memory_bytes() / 2;
  choose_devices();
}

void Evaluator::choose_devices() {
  const DeviceChoice choice = device_choice(*written_, options_.device);
  if (choice == device_choice_) return;
  // What the old ones have goes before the new ones ask what is free: kept results may be there.
  std::fill(kept_.begin(), kept_.end(), nullptr);
  devices_.clear();
  devices_ = open_devices(choice);
  device_choice_ = choice;
}

void Evaluator::forget() {
  std::fill(kept_.begin(), kept_.end(), nullptr);
  for (const auto& device : devices_) device->arrays().clear();
  pool_->trim();
}

void Evaluator::forget(std::span<const int> nodes) {
  for (const int node : nodes) kept_[node] = nullptr;
}

KeptResults Evaluator::take_kept() {
  KeptResults kept;
  kept.plan = n_plan_;
  for (int node = 0; node < static_cast<int>(kept_.size()); ++node) {
    const DependencySet on = forest_->dependencies(node);
    if (!kept_[node] || (on & (kDomain | kData)) == 0 || (on & (kSolvable | kIteration | kCall)) != 0) continue;
    if (kept_[node]->value.device() != nullptr) continue;
    const std::uint64_t bytes = result_bytes(*kept_[node]);
    kept.all.push_back({node, kept_stamp_[node], std::move(kept_[node]), bytes});
  }
  return kept;
}

void Evaluator::put_back(KeptResults kept) {
  for (KeptResults::One& one : kept.all) {
    // A plan's own nodes are known to it only.
    if (kept.plan != n_plan_ && static_cast<std::size_t>(one.node) >= written_->size()) continue;
    kept_[one.node] = std::move(one.result);
    kept_stamp_[one.node] = one.stamp;
  }
}

// What identifies a node's result, but for its children, which come in by their stamps.
std::uint64_t Evaluator::stamp_own(int node, const Request& request) const {
  std::uint64_t stamp = mix(static_cast<std::uint64_t>(node), forest_->state_version(node));
  if (rewriting_ && rewriting_->is_made(node)) stamp = mix(stamp, rewriting_->fingerprint(node));
  // What depends on no solvable parameter is the same with derivatives and without.
  const bool derivatives = request.derivatives && (forest_->dependencies(node) & kSolvable) != 0;
  stamp = mix(stamp, static_cast<std::uint64_t>(request.precision) * 4 + derivatives * 2 +
                         (derivatives && request.along_direction));
  stamp = mix(stamp, std::bit_cast<std::uint64_t>(request.tolerance));
  const DependencySet all = forest_->dependencies(node);
  if (all & kDomain) stamp = mix(stamp, request.cells->fingerprint());
  if (all & kData) stamp = mix(stamp, request.data_id);
  if (all & kIteration) stamp = mix(stamp, request.iteration);
  if (all & kCall) stamp = mix(stamp, call_);
  return stamp;
}

// Finds what identifies every result of this request.
Evaluator::Pass Evaluator::prepare(const Request& request, const std::vector<int>& roots, Cancellation& cancellation) {
  Pass pass{request, cancellation, {*forest_, *request.cells}};
  pass.stamp.resize(forest_->size());
  pass.result.resize(forest_->size());
  pass.waiting_consumers.assign(forest_->size(), 0);
  pass.is_root.assign(forest_->size(), false);
  for (const int root : roots) pass.is_root[root] = true;
  pass.nodes = plan_->below(roots);
  for (const int node : pass.nodes) {
    std::uint64_t stamp = stamp_own(node, request);
    for (const int child : forest_->children(node)) {
      stamp = mix(stamp, child < 0 ? 0 : pass.stamp[child]);
      if (child >= 0) ++pass.waiting_consumers[child];
    }
    pass.stamp[node] = stamp;
    // What was kept of another tile makes room for this one's.
    if (kept_stamp_[node] != stamp) kept_[node] = nullptr;
  }
  if (roots != waves_roots_ || request.cells->shape() != waves_cells_) {
    waves_roots_ = roots;
    waves_cells_ = request.cells->shape();
    // Small portions stay in caches, and what is let go of serves the next one. Devices want large ones.
    constexpr std::uint64_t kPortion = 128u << 20;
    const std::uint64_t budget = options_.memory_budget;
    waves_ = plan_->waves(roots, waves_cells_, devices_.empty() ? std::min(budget, kPortion) : budget);
  }
  return pass;
}

std::vector<ResultPtr> Evaluator::evaluate(const Request& request, const std::vector<int>& roots,
                                           Cancellation* cancellation) {
  Cancellation none;
  return evaluate_roots(request, roots, cancellation ? *cancellation : none, false, Placing::roots_on_host);
}

std::vector<ResultPtr> Evaluator::evaluate_step(const Request& request, const std::vector<int>& roots,
                                                Cancellation* cancellation, Placing placing) {
  Cancellation none;
  return evaluate_roots(request, roots, cancellation ? *cancellation : none, true, placing);
}

// Nodes that control, in the order of the script's children: what a node has as its first child comes before what it
// has as its second, and all below a node before the node itself.
std::vector<int> Evaluator::controls_below(const std::vector<int>& roots) const {
  std::vector<int> found;
  std::vector<bool> seen(forest_->size(), false);
  std::vector<std::pair<int, std::size_t>> path;  // node, next child
  for (const int root : roots) {
    if (!seen[root]) path.emplace_back(root, 0);
    seen[root] = true;
    while (!path.empty()) {
      auto& [node, next] = path.back();
      const std::vector<int>& children = forest_->children(node);
      if (next == children.size()) {
        if (forest_->node(node).capabilities().solver != nullptr) found.push_back(node);
        path.pop_back();
        continue;
      }
      const int child = children[next++];
      if (child < 0 || seen[child]) continue;
      seen[child] = true;
      path.emplace_back(child, 0);
    }
  }
  return found;
}

std::map<int, ResultPtr> Evaluator::run_controls(const Request& request, const std::vector<int>& roots,
                                                 Cancellation& cancellation) {
  std::map<int, ResultPtr> results;
  if (!plan_->has_controls()) return results;
  for (const int index : controls_below(roots)) {
    const Node& node = forest_->node(index);
    const SolverNode* solver = node.capabilities().solver;
    const auto start = std::chrono::steady_clock::now();
    const double inside_before = timing_.total_seconds;
    const auto made = std::make_shared<Result>();
    Evaluation evaluation(node, request, *pool_, {}, *made);
    try {
      solver->control(*this, evaluation, cancellation);
    } catch (const Cancelled&) {
      throw;
    } catch (const memory::OutOfMemory&) {
      throw;
    } catch (const std::exception& error) {
      evaluation.fail(error.what());
    }
    Contract::finish(evaluation);
    results[index] = made;
    // What the loop had evaluated is counted there.
    const double own_seconds = seconds_since(start) - (timing_.total_seconds - inside_before);
    ClassTiming& timing = timing_.classes[node.node_class().name];
    timing.seconds += own_seconds;
    timing_.total_seconds += own_seconds;
    ++timing.evaluations;
    ++timing.batches;
  }
  return results;
}

std::vector<ResultPtr> Evaluator::evaluate_roots(const Request& request, const std::vector<int>& roots,
                                                 Cancellation& cancellation, bool step, Placing placing) {
  update_plan(roots);
  const auto controlled = run_controls(request, roots, cancellation);
  for (;;) try {
      update_plan(roots);  // controls may have changed states
      return evaluate_planned(request, roots, controlled, cancellation, step, placing);
    } catch (const Refused&) {
      // Whoever asks for nodes of the plan has to ask for others.
      const auto n = static_cast<int>(written_->size());
      if (std::any_of(roots.begin(), roots.end(), [n](int root) { return root >= n; })) throw;
      make_plan();
    }
}

std::vector<ResultPtr> Evaluator::evaluate_planned(const Request& request, const std::vector<int>& roots,
                                                   const std::map<int, ResultPtr>& controlled,
                                                   Cancellation& cancellation, bool step, Placing placing) {
  const auto start = std::chrono::steady_clock::now();
  const double processor_start = processor_seconds();
  Pass pass = prepare(request, roots, cancellation);
  pass.step = step;
  pass.placing = placing;
  for (const auto& [node, result] : controlled) pass.result[node] = result;
  for (const auto& wave : waves_) {
    if (waves_.size() > 1) pass.nodes = plan_->below(wave);
    run_wave(pass, wave);
  }

  std::vector<ResultPtr> results;
  results.reserve(roots.size());
  for (const int root : roots) results.push_back(pass.result[root]);
  if (!devices_.empty() && placing != Placing::roots_where_made) bring_results_to_host(results);
  timing_.total_seconds += seconds_since(start);
  timing_.processor_seconds += processor_seconds() - processor_start;
  return results;
}

ResultPtr Evaluator::evaluate(const Request& request, const std::string& node) {
  return evaluate(request, std::vector<int>{written_->find(node)}).front();
}

void Evaluator::run_wave(Pass& pass, std::span<const int> roots) {
  const std::vector<int>& nodes = pass.nodes;
  pass.needed.assign(forest_->size(), false);
  for (const int root : roots) pass.needed[root] = true;
  // From the roots down: a node whose kept result is valid ends the descent.
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const int node = *it;
    if (!pass.needed[node]) continue;
    const bool valid =
        kept_[node] && kept_stamp_[node] == pass.stamp[node] && !forest_->node(node).traits().always_evaluates;
    if (valid && !pass.result[node]) {
      pass.result[node] = kept_[node];
      pass.bytes_alive += result_bytes(*kept_[node]);
      ++timing_.classes[forest_->node(node).node_class().name].reused;
      if (!pass.pulls_back(node)) release_children(pass, node);  // it will not read them
    }
    if (pass.result[node]) {
      pass.needed[node] = false;
      if (!pass.pulls_back(node)) continue;
    }
    for (const int child : forest_->children(node))
      if (child >= 0) pass.needed[child] = true;
  }
  find_parts(pass);
  std::vector<int> wanted;
  for (const int node : nodes)
    if (pass.needed[node] && (!pass.has_parts || pass.part_of[node] < 0)) wanted.push_back(node);
  run_nodes(pass, wanted);
}

void Evaluator::run_batch(Pass& pass, std::span<const int> nodes) {
  if (pass.cancellation.check()) throw Cancelled();
  check_made(pass, nodes);
  std::size_t n_child = 0;
  for (const int node : nodes) n_child += forest_->children(node).size();
  auto& [children, made, evaluations, ready] = pass.batch;
  children.clear();
  children.reserve(n_child);  // evaluations look at their part of it
  made.clear();
  evaluations.clear();
  evaluations.reserve(nodes.size());
  for (const int node : nodes) {
    const std::size_t first = children.size();
    for (const int child : forest_->children(node))
      children.push_back(child < 0 ? nullptr : seen_by(pass, forest_->node(node), child));
    std::span<const Result*> own = std::span(children).subspan(first);
    made.push_back(std::make_shared<Result>());
    if (Contract::prepare(forest_->node(node), own, *made.back()))
      evaluations.emplace_back(forest_->node(node), pass.request, *pool_, own, *made.back());
  }
  ready.clear();
  for (Evaluation& evaluation : evaluations) ready.push_back(&evaluation);
  if (!ready.empty()) {
    BatchContext context{threads_, pass.cancellation, warnings_, notes_, verification_, *forest_};
    if (pass.placing != Placing::on_host) context.devices = devices_;
    const bool stays = pass.placing == Placing::roots_where_made &&
                       std::any_of(nodes.begin(), nodes.end(), [&](int node) { return pass.is_root[node]; });
    context.feeds_devices = !devices_.empty() && pass.active.empty() && (stays || feeds_devices(nodes));
    ClassTiming& timing = timing_.classes[forest_->node(nodes[0]).node_class().name];
    const auto start = std::chrono::steady_clock::now();
    timing.evaluations += ready.size();
    timing.on_devices += run_on_device(pass, nodes);
    if (!ready.empty()) {
      if (!devices_.empty()) {
        bring_inputs_to_host(pass, forest_->node(nodes[0]));
        context.split.changed_seconds += seconds_since(start);
      }
      Contract::evaluate_batch(context, plan_->kernel_of(nodes[0]), ready);
    }
    timing.seconds += seconds_since(start);
    timing.split.unchanged_seconds += context.split.unchanged_seconds;
    timing.split.changed_seconds += context.split.changed_seconds;
    ++timing.batches;
    for (Evaluation& evaluation : evaluations) Contract::finish(evaluation);
  }
  take_results(pass, nodes, made);
}

void Evaluator::take_results(Pass& pass, std::span<const int> nodes, std::span<std::shared_ptr<Result>> made) {
  finish_made(nodes, made);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const int node = nodes[i];
    made[i]->node = node;
    made[i]->stamp = pass.stamp[node];
    pass.bytes_alive += result_bytes(*made[i]);
    // Failures are not kept: what caused one (a Python node, say) may have been mended.
    if (keeps(pass, node) && !forest_->node(node).traits().always_evaluates &&
        made[i]->status != Result::Status::failed) {
      kept_[node] = made[i];
      kept_stamp_[node] = pass.stamp[node];
    }
    pass.result[node] = std::move(made[i]);
  }
  timing_.peak_result_bytes = std::max(timing_.peak_result_bytes, pass.bytes_alive);
  for (const int node : nodes)
    if (!pass.pulls_back(node)) release_children(pass, node);
}

// A node that mixes cells sees derivatives tile by tile. (The one along a direction is right for all tiles at once.)
const Result* Evaluator::seen_by(Pass& pass, const Node& node, int child) {
  const ResultPtr& result = pass.result[child];
  const AxisSet mixed = node.traits().mixed_axes & (set_of(Axis::time) | set_of(Axis::frequency));
  if (mixed == kNoAxes || !pass.request.derivatives || pass.request.along_direction || result->derivatives.empty())
    return result.get();
  const auto [seen, is_new] = pass.split.try_emplace({child, mixed});
  if (is_new) seen->second = split_derivatives(*pool_, *result, mixed, pass.tiles);
  return seen->second ? seen->second.get() : result.get();
}

bool Evaluator::keeps(const Pass& pass, int node) const {
  if (pass.step && (forest_->dependencies(node) & kSolvable) != 0) return false;
  return plan_->keeps(node) || pass.is_root[node];
}

void Evaluator::release_children(Pass& pass, int node) {
  for (const int child : forest_->children(node)) {
    if (child < 0 || --pass.waiting_consumers[child] > 0) continue;
    pass.split.erase(pass.split.lower_bound({child, kNoAxes}), pass.split.upper_bound({child, kAllAxes}));
    if (pass.is_root[child] || !pass.result[child]) continue;
    if (!keeps(pass, child)) {
      pass.bytes_alive -= result_bytes(*pass.result[child]);
      pass.result[child] = nullptr;
    }
  }
}

}  // namespace rimetree
