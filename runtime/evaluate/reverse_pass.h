// The gradient of one real number: values from the leaves up, then adjoints from the root down.
#pragma once

#include <map>
#include <optional>

#include "runtime/core/values/pull_back.h"
#include "runtime/evaluate/contract.h"
#include "runtime/evaluate/forward_pass.h"

namespace rimetree {

class Objective;
struct ResidualSums;

/// A real number and its derivatives.
struct ValueAndGradient {
  ResultPtr value;    ///< scalar; not ok where something failed or there are no data: there is no gradient then
  Gradient gradient;  ///< with respect to all unknowns below
};

/// What a node sees of its children outside a forward evaluation.
struct SeenInputs {
  SeenInputs(const Node& node, const Request& request, memory::Pool& pool, std::vector<const Result*> all)
      : children(std::move(all)) {
    std::span<const Result*> seen = children;
    if (Contract::prepare(node, seen, decided)) evaluation.emplace(node, request, pool, seen, decided);
  }
  SeenInputs(const SeenInputs&) = delete;

  std::vector<const Result*> children;
  Result decided;
  std::optional<Evaluation> evaluation;  ///< nothing where the outcome is decided without the class
};

class ReversePass {
 public:
  /// Tangents of nodes, along the request's direction.
  using Tangents = std::map<int, ResultPtr>;
  /// The nodes below the root whose tangents pull_back() of their consumers asks for.
  static std::vector<int> wanted_tangents(const EvaluatedForest& evaluated, int root);

  /// The request, the cancellation and the state must outlive it.
  ReversePass(EvaluatorState& state, const Request& request, int root, Cancellation& cancellation, Tangents tangents);
  /// Throws Error where the root is not one real number or a class on the way has no derivatives in reverse mode.
  ValueAndGradient run();

  // What a comparison where the model is computed (comparison_pass.h) does in place of a part of the pass.

  ForwardPass& forward() { return forward_; }
  Gradient& gradient() { return gradient_; }
  bool is_active(int node) const { return active_[static_cast<std::size_t>(node)]; }
  /// How many consumers of a node have not been pulled back yet.
  int waiting_pulls(int node) const { return waiting_pulls_[static_cast<std::size_t>(node)]; }
  /// Pulls everything below the roots that waits for no other consumer, from the adjoints that are there.
  void pull_wave(std::span<const int> roots);
  /// Where the adjoints of an evaluation's children are collected, made where they do not exist yet. With `originals`,
  /// those of conjugate transposes are not made, and it gets those of what they are the transposes of.
  std::vector<Vells*> child_adjoints(const Evaluation& evaluation, std::span<const int> children,
                                     std::vector<Vells*>* originals = nullptr);
  /// The results of some nodes as a consumer sees them; nullptr for -1.
  std::vector<const Result*> results_of(std::span<const int> nodes) const;
  void set_tangents(PullBack& pull, int node) const;
  /// Notes that a node needs no more pulling.
  void finish(int node);

 private:
  void mark_active();
  ResultPtr sum_objective(const Objective& objective);
  std::vector<std::vector<int>> waves(std::span<const int> roots) const;
  void pull_batch(std::span<const int> nodes);
  Vells& adjoint_of(int node);
  int original_of(int node) const;

  EvaluatorState& state_;
  const Forest& forest_;
  const Plan& plan_;
  const int root_;
  ForwardPass forward_;
  std::vector<bool> active_;        // by node: depends on unknowns; its children's results stay until it is pulled back
  std::vector<int> waiting_pulls_;  // by node: active consumers still to be pulled back
  std::vector<Vells> adjoints_;     // by node
  Gradient gradient_;
  Tangents tangents_;
};

}  // namespace rimetree
