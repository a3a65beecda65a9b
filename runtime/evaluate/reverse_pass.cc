// The reverse pass: values from the leaves up, then adjoints from the root down, batch by batch. What a node's
// pull_back reads, its children's results, is kept from the way up until it has been pulled back. The children of an
// Objective are taken in waves, each up and down, such that what is kept stays within the memory budget; what several
// waves share is evaluated once, collects adjoints from all of them, and is pulled back with the last.
#include "runtime/evaluate/reverse_pass.h"

#include <algorithm>
#include <set>

#include "runtime/core/error.h"
#include "runtime/core/threads/stopwatch.h"
#include "runtime/evaluate/comparison_pass.h"
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
std::vector<int> nodes_of_children(const Evaluation& evaluation, std::span<const int> children,
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

std::vector<int> ReversePass::wanted_tangents(const EvaluatedForest& evaluated, int root) {
  std::vector<int> wanted;
  const int roots[] = {root};
  for (const int node : evaluated.plan().below(roots))
    for (const std::size_t slot : evaluated.plan().kernel_of(node).tangent_slots())
      if (const int child = evaluated.forest().children(node)[slot]; child >= 0) wanted.push_back(child);
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  return wanted;
}

ReversePass::ReversePass(EvaluatorState& state, const Request& request, int root, Cancellation& cancellation,
                         Tangents tangents)
    : state_(state),
      forest_(state.evaluated.forest()),
      plan_(state.evaluated.plan()),
      root_(root),
      // A gradient is asked for in a loop over values of unknowns, like as not.
      forward_(state, request, {root}, cancellation, {.step = true}),
      active_(forest_.size(), false),
      waiting_pulls_(forest_.size(), 0),
      adjoints_(forest_.size()),
      tangents_(std::move(tangents)) {
  mark_active();
  forward_.hold_inputs_of(active_);
}

void ReversePass::mark_active() {
  const int roots[] = {root_};
  for (const int node : plan_.below(roots)) {
    const std::size_t n_unknown = forest_.node(node).n_unknown();
    if (n_unknown > 0) gradient_.include(node, n_unknown);
    bool active = n_unknown > 0 || node == root_;
    for (const int child : forest_.children(node)) active = active || (child >= 0 && active_[child]);
    active_[node] = active;
    if (!active) continue;
    for (const int child : forest_.children(node))
      if (child >= 0) ++waiting_pulls_[child];
  }
}

ValueAndGradient ReversePass::run() {
  if (const Objective* objective = forest_.node(root_).capabilities().objective) {
    ResultPtr value = sum_objective(*objective);
    return {std::move(value), std::move(gradient_)};
  }
  const int roots[] = {root_};
  forward_.run_wave(roots);
  ResultPtr value = forward_.result(root_);
  if (value->ok()) {
    if (value->value.is_complex() || !value->value.dims().is_scalar() || value->value.size() != 1)
      throw Error("node \"" + forest_.node(root_).name() + "\" has dimensions " + to_string(value->value.dims()) +
                  " on cells " + to_string(value->value.cells()) + (value->value.is_complex() ? ", complex" : "") +
                  "; a gradient is that of one real number");
    adjoints_[root_] = zeros(*state_.pool, NumberType::real, {}, {});
    adjoints_[root_].real()[0] = 1;
    pull_wave(roots);
  }
  return {std::move(value), std::move(gradient_)};
}

// Halves the roots until what one part keeps, values and adjoints, fits the budget. Nodes that depend on no unknown are
// let go on the way, as always, but counted as if they were not.
std::vector<std::vector<int>> ReversePass::waves(std::span<const int> roots) const {
  std::uint64_t bytes = 0;
  for (const int node : plan_.below(roots))
    bytes += plan_.result_bytes(node, forward_.request().cells->shape()) * (active_[node] ? 2 : 1);
  if (bytes <= state_.options.memory_budget || roots.size() <= 1) return {std::vector<int>(roots.begin(), roots.end())};
  const auto half = roots.size() / 2;
  std::vector<std::vector<int>> parts = waves(roots.first(half));
  for (auto& wave : waves(roots.subspan(half))) parts.push_back(std::move(wave));
  return parts;
}

ResultPtr ReversePass::sum_objective(const Objective& objective) {
  ResidualSums all;
  bool any = false;
  const std::vector<int> children = ComparisonPass(state_, *this).run(root_, objective, all, any);
  for (const std::vector<int>& wave : waves(children)) {
    if (wave.empty()) break;
    forward_.run_wave(wave);
    SeenInputs inputs(objective, forward_.request(), *state_.pool, results_of(wave));
    const auto& evaluation = inputs.evaluation;
    if (inputs.decided.status == Result::Status::failed)
      return std::make_shared<const Result>(std::move(inputs.decided));
    if (evaluation) {
      any = true;
      BatchContext context = state_.batch_context(forward_.cancellation());
      objective.add_residuals(context, *evaluation, all);
      const Vells unused;
      PullBack pull(*evaluation, unused, child_adjoints(*evaluation, wave), gradient_);
      objective.pull_residuals(context, pull, objective.slope());
    }
    for (const int child : wave) {
      --waiting_pulls_[child];
      forward_.release(child);
    }
    pull_wave(wave);
  }
  objective.warn_of_bad_weights(all, state_.warnings);
  if (!any) return std::make_shared<const Result>();
  return scalar_result(*state_.pool, objective.value_of(all, forest_, &gradient_, 1));
}

void ReversePass::pull_wave(std::span<const int> roots) {
  const std::vector<int> nodes = plan_.below(roots);
  for (std::size_t k = nodes.size(); k > 0;) {
    const int level = forest_.level(nodes[k - 1]);
    std::map<int, std::vector<int>> batches;
    for (; k > 0 && forest_.level(nodes[k - 1]) == level; --k) {
      const int node = nodes[k - 1];
      // Nodes that another wave needs as well have consumers that are still to come.
      if (active_[node] && waiting_pulls_[node] == 0) batches[plan_.batch_of(node)].push_back(node);
    }
    for (auto& [id, members] : batches) {
      std::reverse(members.begin(), members.end());
      pull_batch(members);
    }
  }
}

Vells& ReversePass::adjoint_of(int node) {
  Vells& adjoint = adjoints_[node];
  if (adjoint.empty()) {
    const Vells& value = forward_.result(node)->value;
    adjoint = zeros(*state_.pool, value.type(), value.dims(), value.cells());
    forward_.take_bytes(value.bytes());
  }
  return adjoint;
}

/// The node of whose value that of `node` is the conjugate transpose, and is read there; -1: none.
int ReversePass::original_of(int node) const {
  const Node& own = forest_.node(node);
  if (own.node_class().algebra != Algebra::conjugate_transpose) return -1;
  const int child = forest_.children(node).front();
  const Vells* original = forward_.result(node)->value.original();
  if (original == nullptr || child < 0 || forward_.result(child) == nullptr) return -1;
  const Vells& value = forward_.result(child)->value;
  return original->type() == value.type() && original->dims() == value.dims() && original->cells() == value.cells()
             ? child
             : -1;
}

std::vector<Vells*> ReversePass::child_adjoints(const Evaluation& evaluation, std::span<const int> children,
                                                std::vector<Vells*>* originals) {
  std::vector<Vells*> targets;
  for (const int child : nodes_of_children(evaluation, children, forward_.results())) {
    const bool wanted = child >= 0 && active_[child];
    const int original = wanted && originals != nullptr ? original_of(child) : -1;
    if (originals != nullptr) originals->push_back(original >= 0 ? &adjoint_of(original) : nullptr);
    targets.push_back(!wanted ? nullptr : original >= 0 ? &adjoints_[child] : &adjoint_of(child));
  }
  return targets;
}

std::vector<const Result*> ReversePass::results_of(std::span<const int> nodes) const {
  std::vector<const Result*> results;
  for (const int node : nodes) results.push_back(node < 0 ? nullptr : forward_.result(node).get());
  return results;
}

void ReversePass::set_tangents(PullBack& pull, int node) const {
  for (const std::size_t slot : plan_.kernel_of(node).tangent_slots())
    if (const auto it = tangents_.find(forest_.children(node)[slot]); it != tangents_.end())
      pull.tangents[slot] = it->second;
}

void ReversePass::finish(int node) {
  waiting_pulls_[node] = -1;
  for (const int child : forest_.children(node))
    if (child >= 0) --waiting_pulls_[child];
  forward_.release_inputs_of(node);
}

void ReversePass::pull_batch(std::span<const int> nodes) {
  if (forward_.cancellation().check()) throw Cancelled();
  std::vector<std::unique_ptr<SeenInputs>> inputs(nodes.size());
  std::vector<std::optional<PullBack>> pulls(nodes.size());
  std::vector<PullBack*> ready;
  std::set<const Vells*> unmade;
  const bool to_originals = plan_.kernel_of(nodes[0]).adds_to_originals();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const int node = nodes[i];
    if (adjoints_[node].empty()) continue;  // nothing depends on it in this request
    inputs[i] = std::make_unique<SeenInputs>(forest_.node(node), forward_.request(), *state_.pool,
                                             results_of(forest_.children(node)));
    if (!inputs[i]->evaluation) continue;
    const Evaluation& evaluation = *inputs[i]->evaluation;
    std::vector<Vells*> originals;
    std::vector<Vells*> targets =
        child_adjoints(evaluation, forest_.children(node), to_originals ? &originals : nullptr);
    for (std::size_t slot = 0; slot < originals.size(); ++slot)
      if (originals[slot] != nullptr && targets[slot]->empty()) unmade.insert(targets[slot]);
    pulls[i].emplace(evaluation, adjoints_[node], std::move(targets), gradient_, std::move(originals));
    set_tangents(*pulls[i], node);
    ready.push_back(&*pulls[i]);
  }
  if (!ready.empty()) {
    ClassTiming& timing = state_.timing.of(forest_.node(nodes[0]));
    const TimedScope timed(timing.seconds);
    BatchContext context = state_.batch_context(forward_.cancellation());
    context.devices = state_.placement.devices();
    plan_.kernel_of(nodes[0]).pull_back(context, ready);
    timing.pulled_back += ready.size();
  }
  for (const Vells* adjoint : unmade) forward_.take_bytes(adjoint->bytes());  // of those that were made after all
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = forest_.node(nodes[i]);
    if (pulls[i] && !pulls[i]->failure.empty())
      throw Error(failure_text({{node.name(), node.node_class().name, node.origin(), pulls[i]->failure}}));
    forward_.give_bytes(adjoints_[nodes[i]].bytes());
    adjoints_[nodes[i]] = Vells();
    finish(nodes[i]);
  }
}

}  // namespace rimetree
