// One evaluation from the leaves to the roots: which results are still valid, which have to be made, in which batches
// and where, and how long each is kept.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "runtime/core/threads/cancellation.h"
#include "runtime/evaluate/evaluator_state.h"
#include "runtime/evaluate/fused_derivatives.h"
#include "runtime/evaluate/term_programs.h"
#include "runtime/evaluate/tile_derivatives.h"

namespace rimetree {

struct DeviceBatch;

class ForwardPass {
 public:
  struct Manner {
    bool step = false;  ///< of a loop that changes solvable parameters: what depends on these is not kept
    Placing placing = Placing::roots_on_host;
  };
  /// The request, the cancellation and the state must outlive it.
  ForwardPass(EvaluatorState& state, const Request& request, const std::vector<int>& roots, Cancellation& cancellation,
              Manner manner);

  /// Evaluates all roots, in as many waves as memory makes necessary.
  void run();
  /// Evaluates some nodes and what they need. Throws Cancelled, memory::OutOfMemory, PlanRefused.
  void run_wave(std::span<const int> roots);

  const Request& request() const { return request_; }
  Cancellation& cancellation() { return cancellation_; }
  /// By node; nullptr where it has not been made or has been let go.
  const std::vector<ResultPtr>& results() const { return results_; }
  const ResultPtr& result(int node) const { return results_[static_cast<std::size_t>(node)]; }
  /// Takes a result that was made elsewhere.
  void set_result(int node, ResultPtr result) { results_[static_cast<std::size_t>(node)] = std::move(result); }
  std::uint64_t stamp(int node) const { return stamps_[static_cast<std::size_t>(node)]; }
  /// How many consumers of a node have not been evaluated yet.
  int waiting_consumers(int node) const { return waiting_consumers_[static_cast<std::size_t>(node)]; }

  /// For a pass back: the results that these nodes (by node) read stay until release_inputs_of(). They are evaluated on
  /// the host, where it goes back through them.
  void hold_inputs_of(std::vector<bool> nodes) { held_ = std::move(nodes); }
  /// A consumer of the node's children is done; those that wait for no other are let go.
  void release_inputs_of(int node);
  void release(int node);
  /// Counts memory that somebody else has taken or given back.
  void take_bytes(std::uint64_t bytes);
  void give_bytes(std::uint64_t bytes) { bytes_alive_ -= bytes; }

 private:
  /// What the evaluation of one group of nodes by one program knows.
  struct GroupRun {
    std::shared_ptr<const FusedGroup> group;
    std::vector<const Result*> results{};  ///< of the leaves
    const Fusion::Made* made = nullptr;
    CellShape shape{};
    std::optional<FusedDerivatives::Made> derived{};  ///< instead, where leaves have derivatives
    bool is_complex() const { return derived ? derived->is_complex : made->is_complex; }
    bool can_run() const { return derived.has_value() || (made != nullptr && made->program); }
  };
  bool holds_inputs(int node) const { return !held_.empty() && held_[static_cast<std::size_t>(node)]; }
  const Result* seen_by(const Node& node, int child);
  bool keeps(int node) const;
  /// Whether nodes may be evaluated as parts of others.
  bool fuses() const;
  void find_needed(std::span<const int> roots);
  void find_parts();
  void find_sums();
  void refuse_sums();
  void run_nodes(std::span<const int> nodes);
  void run_batch(std::span<const int> nodes);
  void prepare_batch(std::span<const int> nodes);
  void evaluate_batch(std::span<const int> nodes);
  std::size_t run_on_device(std::span<const int> nodes);
  void bring_inputs_to_host();
  std::vector<int> run_groups(std::span<const int> roots);
  bool must_see_flags(const FusedGroup& group, std::span<const Result* const> leaves) const;
  void run_one_by_one(std::span<const int> parts);
  void run_programs(std::span<const int> nodes, std::span<const GroupRun> runs);
  std::vector<int> run_sums(std::span<const int> nodes);
  void run_parts(const TermSum& sum);
  void run_sum_programs(std::span<const TermPrograms::Run> runs);
  void release_inputs_of_parts(std::span<const TermPrograms::Run> runs);
  void count_evaluations(std::span<const int> nodes, const DeviceContext* device = nullptr);
  struct GroupPlans;
  bool are_wanted_on_devices(std::span<const int> nodes) const;
  std::vector<Evaluation*> evaluate_on(DeviceContext& device, DeviceBatch batch);
  void note_device(const Node& node, const DeviceContext& device);
  bool plan_groups(std::span<const int> nodes, std::span<const GroupRun> runs, GroupPlans& to);
  void run_groups_on_device(std::vector<int>& nodes, std::vector<GroupRun>& runs);
  void complete_group(const GroupRun& run, Result& made);
  void take_groups(std::span<const int> nodes, std::span<const GroupRun> runs, std::span<std::shared_ptr<Result>> made,
                   const DeviceContext* device = nullptr);
  void take_results(std::span<const int> nodes, std::span<std::shared_ptr<Result>> made);

  EvaluatorState& state_;
  const Forest& forest_;
  const Plan& plan_;
  const Request& request_;
  Cancellation& cancellation_;
  const Manner manner_;
  const std::vector<int> roots_;
  TilesOnCells tiles_;
  std::vector<bool> is_root_;
  std::vector<std::uint64_t> stamps_;   // by node: identifies what the result is made from
  std::vector<ResultPtr> results_;      // by node: alive in this pass
  std::vector<std::uint64_t> bytes_;    // by node: of such a result
  std::vector<int> waiting_consumers_;  // by node: consumers still to be evaluated in this pass
  std::vector<bool> held_;              // by node; see hold_inputs_of()
  std::uint64_t bytes_alive_ = 0;
  // Of the current wave.
  std::vector<int> wave_;       // its roots
  std::vector<int> nodes_;      // below them, in evaluation order
  std::vector<bool> needed_;    // by node: to be computed
  std::vector<int> part_of_;    // by node: root of the group that it is evaluated as a part of; -1: by itself
  std::vector<bool> has_part_;  // by node
  bool has_parts_ = false;      // whether any has
  std::shared_ptr<const std::vector<TermSum>> sums_;
  std::vector<bool> in_sum_;  // by node: it is evaluated as a part of a sum of many terms
  /// By node: the sum that it is a root of; nullptr: of none.
  std::vector<const TermSum*> sum_of_;
  bool has_sums_ = false;
  std::vector<const TermSum*> refused_sums_;  // which are to be evaluated in other ways from now on
  /// By child and the axes that its parents mix: how these see it, where that is not as it is.
  std::map<std::pair<int, AxisSet>, ResultPtr> split_;
  // Of the batch being evaluated; its arrays serve all batches, since large ones are slow to get and to give back.
  struct {
    std::vector<const Result*> children;
    std::vector<std::shared_ptr<Result>> made;
    std::vector<Evaluation> evaluations;
    std::vector<Evaluation*> ready;
  } batch_;
};

}  // namespace rimetree
