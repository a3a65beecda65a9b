// The children of an Objective that are compared with data where their models are computed (runtime/core/comparison.h):
// they are found in the tree, their inputs evaluated, and adjoints pulled on from there. Neither residual nor model
// exists as a result.
//
// Children are found by what classes say of themselves: which child they subtract (Condeq), whether they add up (Add),
// whether they compare where they compute (PSV). The rest of a residual, that is data, weights, flags and terms that
// depend on no unknown, is one result with a version, so that in a fitting loop only the arrays of the sky that have
// changed go up, and chi-square and derivatives come down. What does not fit these words, or not into memory, is
// evaluated as ever.
#include <algorithm>
#include <chrono>
#include <deque>

#include "runtime/core/comparison.h"
#include "runtime/core/error.h"
#include "runtime/core/fingerprint.h"
#include "runtime/core/flag_rules.h"
#include "runtime/evaluate/evaluator_pass.h"
#include "runtime/evaluate/objective.h"

namespace rimetree {

/// A residual: `node` subtracts `model`, which is the only term, or a sum of terms and of what depends on no unknown.
struct Evaluator::Compared {
  int node = -1, model = -1;
  std::vector<int> terms;
  std::uint64_t version = 0;
  bool missing = false;

  bool model_is_term() const { return terms.front() == model; }
  bool is_term(int child) const { return std::find(terms.begin(), terms.end(), child) != terms.end(); }
};

/// What a residual is in these terms; no terms where it is not.
Evaluator::Compared Evaluator::find_terms(const Pass& pass, int node) const {
  Compared found{.node = node};
  const auto is_own = [&](int child) { return pass.waiting_consumers[child] == 1 && pass.waiting_pulls[child] == 1; };
  const std::vector<int>& children = forest_->children(node);
  if (forest_->node(node).algebra() != Algebra::residual || !is_own(node)) return found;
  constexpr std::size_t kModel = 1;  // the child that is subtracted
  for (std::size_t i = 0; i < children.size(); ++i)
    if (i != kModel && children[i] >= 0 && pass.active[children[i]]) return found;
  found.model = children[kModel];
  if (found.model < 0 || !pass.active[found.model] || !is_own(found.model)) return found;
  std::vector<int> terms{found.model};
  if (forest_->node(found.model).algebra() == Algebra::sum) {
    terms.clear();
    for (const int child : forest_->children(found.model))
      if (child >= 0 && pass.active[child]) terms.push_back(child);
  }
  const bool all = std::all_of(terms.begin(), terms.end(), [&](int term) {
    return plan_->kernel_of(term).compares() && is_own(term) &&
           forest_->node(term).dims() == forest_->node(node).dims();
  });
  if (all) found.terms = std::move(terms);
  return found;
}

/// The results that have to be there: all that a residual is made from, but for itself, the terms and their sum.
std::vector<int> Evaluator::inputs_of(const Compared& compared) const {
  std::vector<int> inputs;
  const auto add = [&](int node) {
    for (const int child : forest_->children(node))
      if (child >= 0 && child != compared.model && !compared.is_term(child)) inputs.push_back(child);
  };
  add(compared.node);
  if (!compared.model_is_term()) add(compared.model);
  for (const int term : compared.terms) add(term);
  return inputs;
}

/// Whether all is there, and what identifies what does not change.
bool Evaluator::prepare_comparison(const Pass& pass, Compared& compared) const {
  for (const int child : forest_->children(compared.node))
    if (child >= 0 && child != compared.model)
      compared.missing |= pass.result[child]->status == Result::Status::missing;
  compared.version = stamp_own(compared.node, pass.request);
  if (!compared.model_is_term()) compared.version = mix(compared.version, stamp_own(compared.model, pass.request));
  // How terms see their rows may follow from their state.
  for (const int term : compared.terms) compared.version = mix(compared.version, stamp_own(term, pass.request));
  for (const int input : inputs_of(compared)) {
    const Result& result = *pass.result[input];
    if (!result.ok() && !(compared.missing && result.status == Result::Status::missing)) return false;
    // Flags that change with unknowns would be those of another residual each time.
    if (pass.active[input] && !result.flags.empty()) return false;
    compared.version =
        mix(compared.version, pass.active[input] ? static_cast<std::uint64_t>(input) : pass.stamp[input]);
  }
  return true;
}

/// The residual with nothing in place of its terms, whose flags are there nevertheless.
ResultPtr Evaluator::residual_without(const Pass& pass, const Compared& compared, BatchContext& context,
                                      std::span<PullBack* const> terms) const {
  const auto evaluate_with = [&](int node, const std::vector<const Result*>& children) {
    auto made = std::make_shared<Result>();
    std::vector<const Result*> seen = children;
    std::span<const Result*> span = seen;
    if (!Contract::prepare(forest_->node(node), span, *made)) return made;
    Evaluation evaluation(forest_->node(node), pass.request, *pool_, span, *made);
    Evaluation* const batch[] = {&evaluation};
    Contract::evaluate_batch(context, plan_->kernel_of(node), batch);
    Contract::finish(evaluation);
    return made;
  };
  std::deque<Result> nothing;
  for (const PullBack* term : terms) {
    nothing.emplace_back();
    nothing.back().value = zeros(*pool_, NumberType::complex, term->inputs.node.dims(), {});
    nothing.back().flags = union_of_child_flags(term->inputs);
    nothing.back().status = Result::Status::ok;
  }
  const auto in_place = [&](int node, const Result* model) {
    std::vector<const Result*> children;
    for (const int child : forest_->children(node)) {
      const auto at = std::find(compared.terms.begin(), compared.terms.end(), child);
      if (child < 0)
        children.push_back(nullptr);
      else if (model != nullptr && child == compared.model)
        children.push_back(model);
      else if (at != compared.terms.end())
        children.push_back(&nothing[static_cast<std::size_t>(at - compared.terms.begin())]);
      else
        children.push_back(pass.result[child].get());
    }
    return children;
  };
  if (compared.model_is_term()) return evaluate_with(compared.node, in_place(compared.node, nullptr));
  const auto model = evaluate_with(compared.model, in_place(compared.model, nullptr));
  return evaluate_with(compared.node, in_place(compared.node, model.get()));
}

/// Residuals whose terms are of the same batches. False: not here; nothing has been added then.
bool Evaluator::compare_group(Pass& pass, const Objective& objective, std::vector<Compared>& group, ResidualSums& sums,
                              bool& any) {
  std::vector<int> inputs;
  for (const Compared& compared : group)
    for (const int input : inputs_of(compared)) inputs.push_back(input);
  std::sort(inputs.begin(), inputs.end());
  inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
  pass.nodes = plan_->below(inputs);
  run_wave(pass, inputs);

  BatchContext context{threads_, pass.cancellation, warnings_, notes_, verification_, *forest_};
  context.devices = devices_;
  std::deque<SeenInputs> seen;
  std::deque<PullBack> pulls;
  std::vector<Comparison> batch;
  batch.reserve(group.size());  // they are referred to
  const Vells unused;
  for (Compared& compared : group) {
    if (!prepare_comparison(pass, compared)) return false;
    if (compared.missing) continue;
    Comparison& comparison = batch.emplace_back();
    for (const int term : compared.terms) {
      const std::vector<int>& own = forest_->children(term);
      std::vector<const Result*> children;
      for (const int child : own) children.push_back(child < 0 ? nullptr : pass.result[child].get());
      seen.emplace_back(forest_->node(term), pass.request, *pool_, std::move(children));
      if (!seen.back().evaluation) return false;
      const Evaluation& evaluation = *seen.back().evaluation;
      pulls.emplace_back(evaluation, unused, child_adjoints(pass, evaluation, own), pass.gradient);
      for (const std::size_t slot : plan_->kernel_of(term).tangent_slots())
        if (const auto it = pass.tangents.find(own[slot]); it != pass.tangents.end())
          pulls.back().tangents[slot] = it->second;
      comparison.terms.push_back(&pulls.back());
    }
    comparison.version = compared.version;
    comparison.rest = [&, this] { return residual_without(pass, compared, context, comparison.terms); };
  }
  if (!batch.empty()) {
    const Node& node = batch.front().terms.front()->inputs.node;
    ClassTiming& timing = timing_.classes[node.node_class().name];
    const auto start = std::chrono::steady_clock::now();
    if (!plan_->kernel_of(node.index()).compare(context, batch, objective.slope(), sums)) return false;
    timing.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    timing.evaluations += pulls.size();
    timing.pulled_back += pulls.size();
    ++timing.batches;
    any = true;
  }
  for (const Compared& compared : group) finish_comparison(pass, compared);
  timing_.peak_result_bytes = std::max(timing_.peak_result_bytes, pass.bytes_alive);
  pull_wave(pass, inputs);
  return true;
}

/// Marks a residual, the sum of its terms and these as pulled back.
void Evaluator::finish_comparison(Pass& pass, const Compared& compared) {
  std::vector<int> done{compared.node};
  if (!compared.model_is_term()) done.push_back(compared.model);
  done.insert(done.end(), compared.terms.begin(), compared.terms.end());
  for (const int node : done) {
    pass.waiting_pulls[node] = -1;
    for (const int child : forest_->children(node))
      if (child >= 0) --pass.waiting_pulls[child];
    release_children(pass, node);
  }
}

std::vector<int> Evaluator::compare_where_computed(Pass& pass, int root, const Objective& objective, ResidualSums& sums,
                                                   bool& any) {
  const std::vector<int>& children = forest_->children(root);
  std::vector<int> others;
  std::map<std::vector<int>, std::vector<Compared>> groups;
  for (const int child : children) {
    Compared found;
    if (!devices_.empty() && pass.request.verify == 0) found = find_terms(pass, child);
    if (found.terms.empty()) {
      others.push_back(child);
      continue;
    }
    std::vector<int> batches;
    for (const int term : found.terms) batches.push_back(plan_->batch_of(term));
    groups[batches].push_back(std::move(found));
  }
  for (auto& [batches, group] : groups) {
    if (pass.cancellation.check()) throw Cancelled();
    if (compare_group(pass, objective, group, sums, any)) continue;
    for (const Compared& compared : group) others.push_back(compared.node);
  }
  std::sort(others.begin(), others.end(), [&](int a, int b) {
    return std::find(children.begin(), children.end(), a) < std::find(children.begin(), children.end(), b);
  });
  return others;
}

}  // namespace rimetree
