#include "nodes/psv/repeated_terms.h"

#include <cstring>

#include "runtime/core/fingerprint.h"

namespace rimetree::psv {

namespace {

/// Values [source][those of the term].
Vells stack_of(memory::Pool& pool, const Vells& term, int n_source) {
  TensorShape dims{n_source};
  for (int i = 0; i < term.dims().rank; ++i) dims.append(term.dims()[i]);
  Vells all(pool, term.type(), dims, term.cells());
  auto* to = static_cast<std::byte*>(all.storage().get());
  for (int s = 0; s < n_source; ++s, to += term.bytes()) std::memcpy(to, term.host(), term.bytes());
  return all;
}

void add_over_sources(const Vells& all, Vells& sum) {
  const auto* from = static_cast<const double*>(all.host());
  double* to = sum.is_complex() ? &sum.complex()->re : sum.real();
  const std::size_t n = sum.bytes() / sizeof(double), n_all = all.bytes() / sizeof(double);
  for (std::size_t i = 0; i < n_all; ++i) to[i % n] += from[i];
}

}  // namespace

bool is_common(const TensorShape& dims, int n_source) {
  return n_source != 1 && (dims.is_scalar() || dims == TensorShape{2, 2});
}

const Result* RepeatedTerms::repeated(const ChildLayout& layout, memory::Pool& pool, const Result& term) {
  const auto [known, is_new] = results_.try_emplace(&term);
  if (!is_new) return &known->second;
  Result& all = known->second;
  all = term;
  all.stamp = mix(mix(term.stamp, std::string_view("repeated")), static_cast<std::uint64_t>(layout.n_source));
  all.value = stack_of(pool, term.value, layout.n_source);
  for (Derivative& derivative : all.derivatives) derivative.value = stack_of(pool, derivative.value, layout.n_source);
  return &all;
}

Evaluation& RepeatedTerms::see(const ChildLayout& layout, const Evaluation& evaluation) {
  std::vector<const Result*>& children = children_.emplace_back();
  for (std::size_t slot = 0; slot < evaluation.children().size(); ++slot) {
    const Result* child = evaluation.children()[slot];
    const bool repeats = slot >= kFirstJones && is_common(child->value.dims(), layout.n_source);
    children.push_back(repeats ? repeated(layout, evaluation.pool, *child) : child);
  }
  return evaluations_.emplace_back(evaluation.node, evaluation.request, evaluation.pool, children, evaluation.result);
}

PullBack& RepeatedTerms::see(const ChildLayout& layout, PullBack& pull) {
  const Evaluation& inputs = see(layout, pull.inputs);
  std::vector<Vells*> targets;
  for (std::size_t slot = 0; slot < inputs.children().size(); ++slot) {
    Vells* target = inputs.has_child(slot) ? pull.child(slot) : nullptr;
    if (target != nullptr && inputs.children()[slot] != pull.inputs.children()[slot]) {
      const auto [known, is_new] = gained_.try_emplace(target);
      const Vells& value = inputs.child(slot).value;
      if (is_new) known->second = zeros(inputs.pool, value.type(), value.dims(), value.cells());
      target = &known->second;
    }
    targets.push_back(target);
  }
  PullBack& seen = pulls_.emplace_back(inputs, pull.adjoint, std::move(targets), pull.gradient);
  seen.tangents = pull.tangents;
  given_pulls_.emplace_back(&pull, &seen);
  return seen;
}

void RepeatedTerms::finish() {
  for (const auto& [given, seen] : given_pulls_) given->failure = seen->failure;
  for (const auto& [target, gained] : gained_) add_over_sources(gained, *target);
}

}  // namespace rimetree::psv
