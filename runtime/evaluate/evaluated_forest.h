// The forest that is evaluated, with its plan. It is the user's, or one in which sums over sources are single nodes
// (runtime/rewrite), and it must give way to the one that was written where data are not what such a sum can take.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/core/values/request.h"
#include "runtime/core/warnings.h"
#include "runtime/evaluate/fusion.h"
#include "runtime/evaluate/plan.h"
#include "runtime/rewrite/rewriting.h"

namespace rimetree {

/// Thrown where a plan does not suit the data, and another one has to be made.
struct PlanRefused {};

class EvaluatedForest {
 public:
  /// Whether trees are read as they are written, and whether nodes of one cell are fused (EvaluatorOptions).
  struct Choice {
    std::optional<bool> as_written, fuse;
  };
  /// `notes` takes what was taken together.
  EvaluatedForest(std::shared_ptr<Forest> written, Choice choice, Warnings& notes);

  /// Plans anew; refused nodes are read as written from now on.
  void make_plan();
  /// Follows changes of the user's forest, and sees to it that the plan has these nodes. Gives whether it is a new
  /// plan.
  bool update(std::span<const int> roots);
  /// Changes the choice; gives whether that made a new plan.
  bool set_as_written(std::optional<bool> as_written);
  const std::optional<bool>& as_written() const { return choice_.as_written; }
  /// What the choice comes to, if need be by the environment.
  bool is_as_written() const;

  /// The user's.
  const Forest& written() const { return *written_; }
  Forest& written() { return *written_; }
  /// The one that the plan is of. It may have more nodes, and other nodes in the places of some.
  const Forest& forest() const { return *forest_; }
  const Plan& plan() const { return *plan_; }
  /// Nothing: no nodes are evaluated as parts of others.
  Fusion* fusion() const { return fusion_.get(); }
  /// Nothing where the forest is the user's.
  const rewrite::Rewriting* rewriting() const { return rewriting_.get(); }
  /// How many plans there have been.
  std::uint64_t n_plan() const { return n_plan_; }
  /// Whether a node's class and children are not those that were written.
  bool is_made(int node) const { return rewriting_ && rewriting_->is_made(node); }

  /// Which nodes are evaluated as parts of others: none, those with one consumer, or those of sums of many terms, too.
  enum class Parts : std::uint8_t { none, of_consumers, of_sums };

  /// Parts in evaluations of values, or of derivatives as well, on the host or with devices.
  Parts parts(bool derivatives, bool has_devices) const;
  /// Plan::peak_bytes(), where nodes that are evaluated as parts of others leave nothing.
  std::uint64_t peak_bytes(std::span<const int> roots, const CellShape& cells, Parts parts) const {
    return plan_->peak_bytes(roots, cells, unstored(parts));
  }

  /// Plan::below(), looked for once for as long as the same roots are asked for.
  std::vector<int> below(std::span<const int> roots);
  /// The roots in parts whose results fit the budget together (see Plan::portions()); made once for all tiles of one
  /// shape.
  const std::vector<std::vector<int>>& waves(const std::vector<int>& roots, const CellShape& cells,
                                             std::uint64_t budget, std::uint64_t portion, Parts parts);
  /// Identifies a node's result, but for its children; `call`: how many calls there have been.
  std::uint64_t own_stamp(int node, const Request& request, std::uint64_t call) const;

  /// Looks for children of a batch, whose results are there, that a made node does not treat as the written ones would,
  /// or (`on_host`) of which derivatives cost less as they are written. Throws PlanRefused.
  void check_inputs(std::span<const int> batch, const std::vector<ResultPtr>& result, bool on_host);
  /// Makes what made nodes give what the written ones would have given. Throws PlanRefused.
  void check_results(std::span<const int> batch, std::span<const std::shared_ptr<Result>> made, memory::Pool& pool);

 private:
  bool fuses() const;
  const std::vector<bool>& unstored(Parts parts) const;
  void check_input(int node, const std::vector<ResultPtr>& result, bool on_host, std::vector<int>& refused) const;
  void refuse(int node, const std::vector<ResultPtr>& result, std::vector<int>& refused) const;
  void start_over(std::span<const int> refused);

  std::shared_ptr<Forest> written_, forest_;
  Choice choice_;
  Warnings& notes_;
  std::unique_ptr<const rewrite::Rewriting> rewriting_;
  std::vector<int> asked_;     // nodes that were asked for though nothing in the evaluated forest needs them
  std::vector<bool> refused_;  // by node: must be read as written
  std::unique_ptr<const Plan> plan_;
  std::unique_ptr<Fusion> fusion_;
  std::uint64_t n_plan_ = 0;
  std::uint64_t plan_version_ = 0;  // of the user's forest, when it was planned
  std::vector<int> below_roots_, below_;
  std::vector<int> waves_roots_;
  CellShape waves_cells_;
  Parts waves_parts_ = Parts::none;
  std::vector<std::vector<int>> waves_;
};

}  // namespace rimetree
