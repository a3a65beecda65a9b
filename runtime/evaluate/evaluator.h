// Evaluates forests: finds what has to be computed for a request, runs it batch by batch on all cores, keeps what will
// be needed again and lets go of the rest. This is the face of it; the work is done in passes (forward_pass.h,
// reverse_pass.h, comparison_pass.h) over the forest that is evaluated (evaluated_forest.h).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/evaluate/evaluator_state.h"
#include "runtime/evaluate/reverse_pass.h"

namespace rimetree {

class Evaluator {
 public:
  /// Throws Error where a device cannot be used.
  explicit Evaluator(std::shared_ptr<Forest> forest, EvaluatorOptions options = {});
  ~Evaluator();

  /// Results of `roots` (indices of nodes). Throws Cancelled, memory::OutOfMemory; failures of nodes are in their
  /// results. Not reentrant.
  std::vector<ResultPtr> evaluate(const Request& request, const std::vector<int>& roots,
                                  Cancellation* cancellation = nullptr);
  /// As above, for one step of a loop that changes solvable parameters: results that depend on these are not kept.
  std::vector<ResultPtr> evaluate_step(const Request& request, const std::vector<int>& roots,
                                       Cancellation* cancellation = nullptr, Placing placing = Placing::roots_on_host);
  /// One node by name, for tests and interactive use.
  ResultPtr evaluate(const Request& request, const std::string& node);

  /// A real scalar that does not vary along any axis, such as a ChiSquare, and its gradient with respect to all
  /// unknowns below it, by one pass up and one down. Throws as evaluate() does, and Error where the root is something
  /// else or a class on the way has no derivatives in reverse mode.
  ValueAndGradient value_and_gradient(const Request& request, int root, Cancellation* cancellation = nullptr);

  /// Says that what nodes look at outside of the forest (kCall) may have changed: results that depend on it are made
  /// anew. Within a call - an evaluation, a solve, a run over a set - it does not change.
  void begin_call() { ++state_->call; }
  /// Lets nodes look at the forest (Reviewer): all of them once it is built, or those above a node whose state has
  /// changed. What they warn of goes to warnings(). Throws ForestError, with all that is wrong.
  void review(std::optional<int> changed = {});

  /// Lets go of all kept results.
  void forget();
  /// Of those of some nodes.
  void forget(std::span<const int> nodes);
  /// Takes out what is kept of nodes that depend on the cells or the data, but on no unknown, and is on the host. One
  /// who goes over several tiles again and again may hold it for each of them: an evaluator keeps the last one's only.
  KeptResults take_kept();
  /// Puts back what was taken out; it serves where cells, data and states are the same as then, and else is let go.
  void put_back(KeptResults kept);
  const TimingReport& timing() const { return state_->timing; }
  void reset_timing() { state_->timing = {}; }
  /// What nodes had to say so far, each message once.
  const Warnings& warnings() const { return state_->warnings; }
  Warnings& warnings() { return state_->warnings; }
  /// The user's.
  const Forest& forest() const { return state_->evaluated.written(); }
  /// For nodes that control evaluations: they set the values of parameters.
  Forest& forest() { return state_->evaluated.written(); }
  /// The one that is evaluated and that the plan is of. It may have more nodes, and other nodes in the places of some;
  /// see runtime/rewrite/rewriting.h.
  const Forest& evaluated() const { return state_->evaluated.forest(); }
  /// How many plans there have been: nodes that are not in the user's forest are those of one plan.
  std::uint64_t n_plan() const { return state_->evaluated.n_plan(); }
  ThreadPool& thread_pool() { return state_->threads; }
  /// Reports of Solvers since the log was last cleared.
  SolveLog& solves() { return state_->solves; }
  /// How they did what they did, each message once.
  const Warnings& notes() const { return state_->notes; }
  Warnings& notes() { return state_->notes; }
  /// What Request::verify has found since the last reset.
  VerificationReport verification() const { return state_->verification.report(); }
  void reset_verification() { state_->verification.reset(); }
  /// What each batch with something to choose would do for a request, in order of evaluation; nothing is evaluated.
  std::vector<std::pair<int, Description>> describe(const Request& request) const;
  /// As of the last evaluation or update_plan(); a change of state may make another one necessary.
  const Plan& plan() const { return state_->evaluated.plan(); }
  /// What is expected to be there together of results when the roots are evaluated, values alone (Plan::peak_bytes()).
  std::uint64_t peak_bytes(std::span<const int> roots, const CellShape& cells) const {
    const EvaluatedForest& evaluated = state_->evaluated;
    return evaluated.peak_bytes(roots, cells, evaluated.parts(false, state_->placement.has_devices()));
  }
  void update_plan() { state_->update_plan(); }
  /// The same, such that the plan has these nodes, too.
  void update_plan(std::span<const int> roots) { state_->update_plan(roots); }
  /// From now on trees are evaluated as they are written, or not.
  void set_as_written(std::optional<bool> as_written) { state_->set_as_written(as_written); }
  const std::optional<bool>& as_written() const { return state_->evaluated.as_written(); }
  memory::Pool& pool() { return *state_->pool; }
  const DeviceContexts& devices() const { return state_->placement.devices(); }
  PlacementRule placement_rule(const DeviceContext& device) const { return state_->placement.rule(device); }
  int threads() const { return state_->threads.size(); }
  std::uint64_t memory_budget() const { return state_->options.memory_budget; }

 private:
  std::vector<ResultPtr> evaluate_roots(const Request& request, const std::vector<int>& roots,
                                        Cancellation& cancellation, ForwardPass::Manner manner);
  std::vector<ResultPtr> evaluate_planned(const Request& request, const std::vector<int>& roots,
                                          const std::map<int, ResultPtr>& controlled, Cancellation& cancellation,
                                          ForwardPass::Manner manner);
  std::map<int, ResultPtr> run_controls(const Request& request, const std::vector<int>& roots,
                                        Cancellation& cancellation);
  ResultPtr run_control(const Request& request, int index, Cancellation& cancellation);
  ReversePass::Tangents evaluate_tangents(const Request& request, int root, Cancellation& cancellation);

  std::unique_ptr<EvaluatorState> state_;
};

}  // namespace rimetree
