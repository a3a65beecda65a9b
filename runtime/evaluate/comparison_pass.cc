// The children of an Objective that are compared with data where their models are computed
// (runtime/core/values/comparison.h): they are found in the tree, their inputs evaluated, and adjoints pulled on from
// there. Neither residual nor model exists as a result.
//
// Children are found by what classes say of themselves: which child they subtract (Condeq), whether they add up (Add),
// whether they compare where they compute (PSV). The rest of a residual, that is data, weights, flags and terms that
// depend on no unknown, is one result with a version, so that in a fitting loop only the arrays of the sky that have
// changed go up, and chi-square and derivatives come down. What does not fit these words, or not into memory, is
// evaluated as ever.
#include "runtime/evaluate/comparison_pass.h"

#include <algorithm>
#include <deque>

#include "runtime/core/error.h"
#include "runtime/core/fingerprint.h"
#include "runtime/core/threads/stopwatch.h"
#include "runtime/core/values/comparison.h"
#include "runtime/core/values/flag_rules.h"
#include "runtime/evaluate/objective.h"

namespace rimetree {

/// What a residual is in these terms; no terms where it is not.
ComparisonPass::Compared ComparisonPass::find_terms(int node) const {
  Compared found{.node = node};
  const auto is_own = [&](int child) {
    return forward_.waiting_consumers(child) == 1 && reverse_.waiting_pulls(child) == 1;
  };
  const std::span<const int> children = forest_.children(node);
  if (forest_.node(node).algebra() != Algebra::residual || !is_own(node)) return found;
  constexpr std::size_t kModel = 1;  // the child that is subtracted
  for (std::size_t i = 0; i < children.size(); ++i)
    if (i != kModel && children[i] >= 0 && reverse_.is_active(children[i])) return found;
  found.model = children[kModel];
  if (found.model < 0 || !reverse_.is_active(found.model) || !is_own(found.model)) return found;
  std::vector<int> terms{found.model};
  if (forest_.node(found.model).algebra() == Algebra::sum) {
    terms.clear();
    for (const int child : forest_.children(found.model))
      if (child >= 0 && reverse_.is_active(child)) terms.push_back(child);
  }
  const bool all = std::all_of(terms.begin(), terms.end(), [&](int term) {
    return plan_.kernel_of(term).compares() && is_own(term) && forest_.node(term).dims() == forest_.node(node).dims();
  });
  if (all) found.terms = std::move(terms);
  return found;
}

/// The results that have to be there: all that a residual is made from, but for itself, the terms and their sum.
std::vector<int> ComparisonPass::inputs_of(const Compared& compared) const {
  std::vector<int> inputs;
  const auto add = [&](int node) {
    for (const int child : forest_.children(node))
      if (child >= 0 && child != compared.model && !compared.is_term(child)) inputs.push_back(child);
  };
  add(compared.node);
  if (!compared.model_is_term()) add(compared.model);
  for (const int term : compared.terms) add(term);
  return inputs;
}

/// Whether all is there, and what identifies what does not change.
bool ComparisonPass::prepare(Compared& compared) const {
  for (const int child : forest_.children(compared.node))
    if (child >= 0 && child != compared.model)
      compared.missing |= forward_.result(child)->status == Result::Status::missing;
  compared.version = state_.own_stamp(compared.node, forward_.request());
  if (!compared.model_is_term())
    compared.version = mix(compared.version, state_.own_stamp(compared.model, forward_.request()));
  // How terms see their rows may follow from their state.
  for (const int term : compared.terms)
    compared.version = mix(compared.version, state_.own_stamp(term, forward_.request()));
  for (const int input : inputs_of(compared)) {
    const Result& result = *forward_.result(input);
    if (!result.ok() && !(compared.missing && result.status == Result::Status::missing)) return false;
    // Flags that change with unknowns would be those of another residual each time.
    if (reverse_.is_active(input) && !result.flags.empty()) return false;
    compared.version =
        mix(compared.version, reverse_.is_active(input) ? static_cast<std::uint64_t>(input) : forward_.stamp(input));
  }
  return true;
}

/// The residual with nothing in place of its terms, whose flags are there nevertheless.
ResultPtr ComparisonPass::residual_without(const Compared& compared, BatchContext& context,
                                           std::span<PullBack* const> terms) const {
  const auto evaluate_with = [&](int node, const std::vector<const Result*>& children) {
    auto made = std::make_shared<Result>();
    std::vector<const Result*> seen = children;
    std::span<const Result*> span = seen;
    if (!Contract::prepare(forest_.node(node), span, *made)) return made;
    Evaluation evaluation(forest_.node(node), forward_.request(), *state_.pool, span, *made);
    Evaluation* const batch[] = {&evaluation};
    Contract::evaluate_batch(context, plan_.kernel_of(node), batch);
    Contract::finish(evaluation);
    return made;
  };
  std::deque<Result> nothing;
  for (const PullBack* term : terms) {
    nothing.emplace_back();
    nothing.back().value = zeros(*state_.pool, NumberType::complex, term->inputs.node.dims(), {});
    nothing.back().flags = union_of_child_flags(term->inputs);
    nothing.back().status = Result::Status::ok;
  }
  const auto in_place = [&](int node, const Result* model) {
    std::vector<const Result*> children;
    for (const int child : forest_.children(node)) {
      const auto at = std::find(compared.terms.begin(), compared.terms.end(), child);
      if (child < 0)
        children.push_back(nullptr);
      else if (model != nullptr && child == compared.model)
        children.push_back(model);
      else if (at != compared.terms.end())
        children.push_back(&nothing[static_cast<std::size_t>(at - compared.terms.begin())]);
      else
        children.push_back(forward_.result(child).get());
    }
    return children;
  };
  if (compared.model_is_term()) return evaluate_with(compared.node, in_place(compared.node, nullptr));
  const auto model = evaluate_with(compared.model, in_place(compared.model, nullptr));
  return evaluate_with(compared.node, in_place(compared.node, model.get()));
}

/// Residuals whose terms are of the same batches. False: not here; nothing has been added then.
bool ComparisonPass::compare_group(const Objective& objective, std::vector<Compared>& group, ResidualSums& sums,
                                   bool& any) {
  std::vector<int> inputs;
  for (const Compared& compared : group)
    for (const int input : inputs_of(compared)) inputs.push_back(input);
  std::sort(inputs.begin(), inputs.end());
  inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
  forward_.run_wave(inputs);

  BatchContext context = state_.batch_context(forward_.cancellation());
  context.devices = state_.placement.devices();
  std::deque<SeenInputs> seen;
  std::deque<PullBack> pulls;
  std::vector<Comparison> batch;
  batch.reserve(group.size());  // they are referred to
  const Vells unused;
  for (Compared& compared : group) {
    if (!prepare(compared)) return false;
    if (compared.missing) continue;
    Comparison& comparison = batch.emplace_back();
    for (const int term : compared.terms) {
      const std::span<const int> own = forest_.children(term);
      seen.emplace_back(forest_.node(term), forward_.request(), *state_.pool, reverse_.results_of(own));
      if (!seen.back().evaluation) return false;
      const Evaluation& evaluation = *seen.back().evaluation;
      pulls.emplace_back(evaluation, unused, reverse_.child_adjoints(evaluation, own), reverse_.gradient());
      reverse_.set_tangents(pulls.back(), term);
      comparison.terms.push_back(&pulls.back());
    }
    comparison.version = compared.version;
    comparison.rest = [&, this] { return residual_without(compared, context, comparison.terms); };
  }
  if (!batch.empty()) {
    const Node& node = batch.front().terms.front()->inputs.node;
    ClassTiming& timing = state_.timing.of(node);
    Stopwatch watch;
    if (!plan_.kernel_of(node.index()).compare(context, batch, objective.slope(), sums)) return false;
    timing.seconds += watch.lap();
    timing.evaluations += pulls.size();
    timing.pulled_back += pulls.size();
    ++timing.batches;
    any = true;
  }
  for (const Compared& compared : group) finish(compared);
  reverse_.pull_wave(inputs);
  return true;
}

/// Marks a residual, the sum of its terms and these as pulled back.
void ComparisonPass::finish(const Compared& compared) {
  std::vector<int> done{compared.node};
  if (!compared.model_is_term()) done.push_back(compared.model);
  done.insert(done.end(), compared.terms.begin(), compared.terms.end());
  for (const int node : done) reverse_.finish(node);
}

std::vector<int> ComparisonPass::run(int root, const Objective& objective, ResidualSums& sums, bool& any) {
  const std::span<const int> children = forest_.children(root);
  std::vector<int> others;
  std::map<std::vector<int>, std::vector<Compared>> groups;
  for (const int child : children) {
    Compared found;
    if (state_.placement.has_devices() && forward_.request().verify == 0) found = find_terms(child);
    if (found.terms.empty()) {
      others.push_back(child);
      continue;
    }
    std::vector<int> batches;
    for (const int term : found.terms) batches.push_back(plan_.batch_of(term));
    groups[batches].push_back(std::move(found));
  }
  for (auto& [batches, group] : groups) {
    if (forward_.cancellation().check()) throw Cancelled();
    if (compare_group(objective, group, sums, any)) continue;
    for (const Compared& compared : group) others.push_back(compared.node);
  }
  // In the order of the children.
  std::sort(others.begin(), others.end());
  std::vector<int> ordered;
  for (const int child : children)
    if (std::binary_search(others.begin(), others.end(), child)) ordered.push_back(child);
  return ordered;
}

}  // namespace rimetree
