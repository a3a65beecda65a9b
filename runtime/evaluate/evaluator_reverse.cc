// The reverse pass: values from the leaves up, then adjoints from the root down, batch by batch. What a node's
// pull_back reads, its children's results, is kept from the way up until it has been pulled back. The children of an
// Objective are taken in waves, each up and down, such that what is kept stays within the memory budget; what several
// waves share is evaluated once, collects adjoints from all of them, and is pulled back with the last.
#include <algorithm>
#include <chrono>

#include "runtime/core/error.h"
#include "runtime/evaluate/contract.h"
#include "runtime/evaluate/evaluator_pass.h"
#include "runtime/evaluate/objective.h"

namespace rimetree {

namespace {

std::string failure_text(const std::vector<Failure>& failures) {
  std::string text;
  for (const Failure& failure : failures)
    text += (text.empty() ? "" : "\n") + (failure.origin.empty() ? "" : failure.origin + ": ") + "node \"" +
            failure.node + "\" (" + failure.node_class + "): " + failure.message;
  return text;
}

/// Where the children of an evaluation are in the forest: -1 for a child that is absent or missing.
std::vector<int> nodes_of_children(const Evaluation& evaluation, const std::vector<int>& children,
                                   const std::vector<ResultPtr>& result) {
  std::vector<int> nodes;
  for (const int child : children) {
    if (nodes.size() == evaluation.children().size()) break;
    const Result* seen = evaluation.children()[nodes.size()];
    const Result* own = child < 0 ? nullptr : result[static_cast<std::size_t>(child)].get();
    const bool missing = own != nullptr && own->status == Result::Status::missing;
    if (seen == own && own != nullptr)
      nodes.push_back(child);
    else if (seen == nullptr && (own == nullptr || missing))
      nodes.push_back(-1);
  }
  return nodes;
}

ResultPtr scalar_result(memory::Pool& pool, double value) {
  auto result = std::make_shared<Result>();
  result->value = Vells(pool, NumberType::real, {}, {});
  result->value.real()[0] = value;
  result->status = Result::Status::ok;
  return result;
}

}  // namespace

ValueAndGradient Evaluator::value_and_gradient(const Request& request, int root, Cancellation* cancellation) {
  if (request.derivatives) throw Error("a reverse pass needs no derivatives in its request");
  const int roots[] = {root};
  for (;;) try {
      update_plan(roots);
      return gradient_planned(request, root, cancellation);
    } catch (const Refused&) {
      make_plan();
    }
}

ValueAndGradient Evaluator::gradient_planned(const Request& request, int root, Cancellation* cancellation) {
  const auto start = std::chrono::steady_clock::now();
  Cancellation none;
  std::map<int, ResultPtr> tangents = evaluate_tangents(request, root, cancellation);
  Pass pass = prepare(request, {root}, cancellation ? *cancellation : none);
  pass.step = true;  // of a loop over values of unknowns, like as not
  pass.tangents = std::move(tangents);
  start_reverse(pass, root);

  ResultPtr value;
  if (const Objective* objective = forest_->node(root).capabilities().objective) {
    value = sum_objective(pass, root, *objective);
  } else {
    const int roots[] = {root};
    run_wave(pass, roots);
    value = pass.result[root];
    if (value->ok()) {
      if (value->value.is_complex() || !value->value.dims().is_scalar() || value->value.size() != 1)
        throw Error("node \"" + forest_->node(root).name() + "\" has dimensions " + to_string(value->value.dims()) +
                    " on cells " + to_string(value->value.cells()) + (value->value.is_complex() ? ", complex" : "") +
                    "; a gradient is that of one real number");
      pass.adjoint[root] = zeros(*pool_, NumberType::real, {}, {});
      pass.adjoint[root].real()[0] = 1;
      pull_wave(pass, roots);
    }
  }
  timing_.total_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return {value, std::move(pass.gradient)};
}

// The tangents that nodes below the root want to know.
std::map<int, ResultPtr> Evaluator::evaluate_tangents(const Request& request, int root, Cancellation* cancellation) {
  std::vector<int> wanted;
  const int roots[] = {root};
  for (const int node : plan_->below(roots))
    for (const std::size_t slot : plan_->kernel_of(node).tangent_slots())
      if (const int child = forest_->children(node).at(slot); child >= 0) wanted.push_back(child);
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  Request along = request;
  along.derivatives = along.along_direction = true;
  along.verify = 0;
  std::map<int, ResultPtr> tangents;
  if (wanted.empty()) return tangents;
  Cancellation none;  // the host reads them
  const auto results = evaluate_roots(along, wanted, cancellation ? *cancellation : none, false, Placing::on_host);
  for (std::size_t i = 0; i < wanted.size(); ++i) tangents[wanted[i]] = results[i];
  return tangents;
}

void Evaluator::start_reverse(Pass& pass, int root) {
  pass.active.assign(forest_->size(), false);
  pass.waiting_pulls.assign(forest_->size(), 0);
  pass.adjoint.resize(forest_->size());
  const int roots[] = {root};
  for (const int node : plan_->below(roots)) {
    const std::size_t n_unknown = forest_->node(node).n_unknown();
    if (n_unknown > 0) pass.gradient.include(node, n_unknown);
    bool active = n_unknown > 0 || node == root;
    for (const int child : forest_->children(node)) active = active || (child >= 0 && pass.active[child]);
    pass.active[node] = active;
    if (!active) continue;
    for (const int child : forest_->children(node))
      if (child >= 0) ++pass.waiting_pulls[child];
  }
}

// Halves the roots until what one part keeps, values and adjoints, fits the budget. Nodes that depend on no unknown are
// let go on the way, as always, but counted as if they were not.
std::vector<std::vector<int>> Evaluator::reverse_waves(const Pass& pass, std::span<const int> roots) const {
  std::uint64_t bytes = 0;
  for (const int node : plan_->below(roots))
    bytes += plan_->result_bytes(node, pass.request.cells->shape()) * (pass.active[node] ? 2 : 1);
  if (bytes <= options_.memory_budget || roots.size() <= 1) return {std::vector<int>(roots.begin(), roots.end())};
  const auto half = roots.size() / 2;
  std::vector<std::vector<int>> waves = reverse_waves(pass, roots.first(half));
  for (auto& wave : reverse_waves(pass, roots.subspan(half))) waves.push_back(std::move(wave));
  return waves;
}

ResultPtr Evaluator::sum_objective(Pass& pass, int root, const Objective& objective) {
  ResidualSums all;
  bool any = false;
  const std::vector<int> children = compare_where_computed(pass, root, objective, all, any);
  for (const std::vector<int>& wave : reverse_waves(pass, children)) {
    if (wave.empty()) break;
    pass.nodes = plan_->below(wave);
    run_wave(pass, wave);
    std::vector<const Result*> present;
    for (const int child : wave) present.push_back(pass.result[child].get());
    SeenInputs inputs(objective, pass.request, *pool_, std::move(present));
    const auto& evaluation = inputs.evaluation;
    if (inputs.decided.status == Result::Status::failed)
      return std::make_shared<const Result>(std::move(inputs.decided));
    if (evaluation) {
      any = true;
      BatchContext context{threads_, pass.cancellation, warnings_, notes_, verification_, *forest_};
      objective.add_residuals(context, *evaluation, all);
      const Vells unused;
      PullBack pull(*evaluation, unused, child_adjoints(pass, *evaluation, wave), pass.gradient);
      objective.pull_residuals(context, pull, objective.slope());
    }
    for (const int child : wave) {
      --pass.waiting_pulls[child];
      if (--pass.waiting_consumers[child] > 0 || keeps(pass, child)) continue;
      pass.bytes_alive -= result_bytes(*pass.result[child]);
      pass.result[child] = nullptr;
    }
    pull_wave(pass, wave);
  }
  objective.warn_of_bad_weights(all, warnings_);
  if (!any) return std::make_shared<const Result>();
  return scalar_result(*pool_, objective.value_of(all, *forest_, &pass.gradient, 1));
}

void Evaluator::pull_wave(Pass& pass, std::span<const int> roots) {
  const std::vector<int> nodes = plan_->below(roots);
  for (std::size_t k = nodes.size(); k > 0;) {
    const int level = forest_->level(nodes[k - 1]);
    std::map<int, std::vector<int>> batches;
    for (; k > 0 && forest_->level(nodes[k - 1]) == level; --k) {
      const int node = nodes[k - 1];
      // Nodes that another wave needs as well have consumers that are still to come.
      if (pass.active[node] && pass.waiting_pulls[node] == 0) batches[plan_->batch_of(node)].push_back(node);
    }
    for (auto& [id, members] : batches) {
      std::reverse(members.begin(), members.end());
      pull_batch(pass, members);
    }
  }
}

/// Where the children's adjoints are collected, made where they do not exist yet.
std::vector<Vells*> Evaluator::child_adjoints(Pass& pass, const Evaluation& evaluation,
                                              const std::vector<int>& children) {
  std::vector<Vells*> targets;
  for (const int child : nodes_of_children(evaluation, children, pass.result)) {
    const bool wanted = child >= 0 && pass.active[child];
    if (wanted && pass.adjoint[child].empty()) {
      const Vells& value = pass.result[child]->value;
      pass.adjoint[child] = zeros(*pool_, value.type(), value.dims(), value.cells());
      pass.bytes_alive += value.bytes();
    }
    targets.push_back(wanted ? &pass.adjoint[child] : nullptr);
  }
  return targets;
}

void Evaluator::pull_batch(Pass& pass, std::span<const int> nodes) {
  if (pass.cancellation.check()) throw Cancelled();
  std::vector<std::unique_ptr<SeenInputs>> inputs(nodes.size());
  std::vector<std::optional<PullBack>> pulls(nodes.size());
  std::vector<PullBack*> ready;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const int node = nodes[i];
    if (pass.adjoint[node].empty()) continue;  // nothing depends on it in this request
    std::vector<const Result*> children;
    for (const int child : forest_->children(node)) children.push_back(child < 0 ? nullptr : pass.result[child].get());
    inputs[i] = std::make_unique<SeenInputs>(forest_->node(node), pass.request, *pool_, std::move(children));
    if (!inputs[i]->evaluation) continue;
    const Evaluation& evaluation = *inputs[i]->evaluation;
    pulls[i].emplace(evaluation, pass.adjoint[node], child_adjoints(pass, evaluation, forest_->children(node)),
                     pass.gradient);
    for (const std::size_t slot : plan_->kernel_of(node).tangent_slots())
      if (const auto it = pass.tangents.find(forest_->children(node)[slot]); it != pass.tangents.end())
        pulls[i]->tangents[slot] = it->second;
    ready.push_back(&*pulls[i]);
  }
  ClassTiming& timing = timing_.classes[forest_->node(nodes[0]).node_class().name];
  if (!ready.empty()) {
    BatchContext context{threads_, pass.cancellation, warnings_, notes_, verification_, *forest_};
    context.devices = devices_;
    const auto start = std::chrono::steady_clock::now();
    plan_->kernel_of(nodes[0]).pull_back(context, ready);
    timing.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    timing.pulled_back += ready.size();
  }
  timing_.peak_result_bytes = std::max(timing_.peak_result_bytes, pass.bytes_alive);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const int node = nodes[i];
    if (pulls[i] && !pulls[i]->failure.empty()) {
      const Node& failed = forest_->node(node);
      throw Error(failure_text({{failed.name(), failed.node_class().name, failed.origin(), pulls[i]->failure}}));
    }
    pass.bytes_alive -= pass.adjoint[node].bytes();
    pass.adjoint[node] = Vells();
    pass.waiting_pulls[node] = -1;  // done
    for (const int child : forest_->children(node))
      if (child >= 0) --pass.waiting_pulls[child];
    release_children(pass, node);
  }
}

}  // namespace rimetree
