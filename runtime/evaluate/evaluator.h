// Evaluates forests: finds what has to be computed for a request, runs it batch by batch on all cores, keeps what will
// be needed again and lets go of the rest.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/core/pull_back.h"
#include "runtime/core/solve_report.h"
#include "runtime/core/thread_pool.h"
#include "runtime/device/device_context.h"
#include "runtime/device/device_path.h"
#include "runtime/evaluate/plan.h"
#include "runtime/rewrite/rewriting.h"

namespace rimetree {

class Fusion;
class Objective;
struct ResidualSums;

/// Where the time went, accumulated over evaluations.
struct ClassTiming {
  std::uint64_t evaluations = 0;  ///< nodes evaluated
  std::uint64_t reused = 0;       ///< nodes whose kept result was still valid
  std::uint64_t pulled_back = 0;  ///< nodes pulled back in reverse passes
  std::uint64_t batches = 0;      ///< calls
  std::uint64_t on_devices = 0;   ///< of the nodes evaluated, those that were on a device
  double seconds = 0;             ///< wall time inside the class
  BatchSplit split;               ///< what of it was no arithmetic
};
struct TimingReport {
  std::map<std::string, ClassTiming> classes;
  double total_seconds = 0;      ///< wall time inside Evaluator::evaluate
  double processor_seconds = 0;  ///< processor time of the process meanwhile, all threads together
  /// Total less the time inside classes: what the framework itself costs.
  double overhead_seconds() const;
  std::uint64_t peak_result_bytes = 0;  ///< largest sum of results alive
};

/// When a batch whose inputs are all on the host is evaluated on a device all the same, if its class can be. One that
/// has an input on a device is evaluated there in any case. What decides is the same in every run: so are the bits.
struct PlacementRule {
  /// Fewer numbers than this are computed on the host faster than a launch and its copies are on their way.
  std::size_t least_values = 16384;
  /// Only where the inputs take no more memory than the results.
  bool weigh_bytes = true;
};

/// Where an evaluation may take place, and where it leaves its roots.
enum class Placing : std::uint8_t {
  roots_on_host,     ///< anywhere; the roots come to the host
  roots_where_made,  ///< anywhere; the roots stay where they are, for somebody who reads them there
  on_host            ///< no batch of nodes goes to a device
};

struct EvaluatorOptions {
  int threads = 0;                  ///< 0: default_threads()
  std::uint64_t memory_budget = 0;  ///< bytes for results; 0: half of the memory that is free when it starts
  DeviceChoice device;              ///< where no DeviceMemory node chooses
  /// Nothing: PlacementRule's defaults on devices, and whatever can be on emulated ones, which are there for tests.
  std::optional<PlacementRule> placement;
  /// Whether trees are evaluated node by node as they are written, and sums over sources not taken together. Nothing:
  /// as the environment variable RIMETREE_AS_WRITTEN says (1 or 0), by default they are taken together.
  std::optional<bool> as_written;
  /// Whether chains and trees of nodes of one cell are evaluated as one program (fusion.h). Nothing: as the environment
  /// variable RIMETREE_FUSE says (1 or 0), by default they are.
  std::optional<bool> fuse;
};

/// A real number and its derivatives.
struct ValueAndGradient {
  ResultPtr value;    ///< scalar; not ok where something failed or there are no data: there is no gradient then
  Gradient gradient;  ///< with respect to all unknowns below
};

/// Results that were kept, outside the evaluator that made them; see Evaluator::take_kept().
struct KeptResults {
  struct One {
    int node = 0;
    std::uint64_t stamp = 0;
    ResultPtr result;
    std::uint64_t bytes = 0;
  };
  std::vector<One> all;
  std::uint64_t plan = 0;  ///< of which plan the nodes are
};

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
  void begin_call() { ++call_; }
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
  const TimingReport& timing() const { return timing_; }
  void reset_timing() { timing_ = {}; }
  /// What nodes had to say so far, each message once.
  const Warnings& warnings() const { return warnings_; }
  Warnings& warnings() { return warnings_; }
  /// The user's.
  const Forest& forest() const { return *written_; }
  /// For nodes that control evaluations: they set the values of parameters.
  Forest& forest() { return *written_; }
  /// The one that is evaluated and that the plan is of. It may have more nodes, and other nodes in the places of some;
  /// see runtime/rewrite/rewriting.h.
  const Forest& evaluated() const { return *forest_; }
  ThreadPool& thread_pool() { return threads_; }
  /// Reports of Solvers since the log was last cleared.
  SolveLog& solves() { return solves_; }
  /// How they did what they did, each message once.
  const Warnings& notes() const { return notes_; }
  Warnings& notes() { return notes_; }
  /// What Request::verify has found since the last reset.
  VerificationReport verification() const { return verification_.report(); }
  void reset_verification() { verification_.reset(); }
  /// What each batch with something to choose would do for a request, in order of evaluation; nothing is evaluated.
  std::vector<std::pair<int, Description>> describe(const Request& request) const;
  /// As of the last evaluation or update_plan(); a change of state may make another one necessary.
  const Plan& plan() const { return *plan_; }
  void update_plan();
  /// The same, such that the plan has these nodes, too.
  void update_plan(std::span<const int> roots);
  /// From now on trees are evaluated as they are written, or not.
  void set_as_written(std::optional<bool> as_written);
  const std::optional<bool>& as_written() const { return options_.as_written; }
  memory::Pool& pool() { return *pool_; }
  const DeviceContexts& devices() const { return devices_; }
  PlacementRule placement_rule(const DeviceContext& device) const;
  int threads() const { return threads_.size(); }
  std::uint64_t memory_budget() const { return options_.memory_budget; }

 private:
  struct Pass;        // one evaluate() call
  struct Refused {};  // thrown where a plan does not suit the data, and another one has to be made
  bool is_as_written() const;
  bool fuses() const;
  void make_plan();
  void check_made(const Pass& pass, std::span<const int> nodes);
  void check_made(const Pass& pass, int node, std::vector<int>& refused) const;
  void refuse(const Pass& pass, int node, std::vector<int>& refused) const;
  void start_over(std::span<const int> refused);
  void finish_made(std::span<const int> nodes, std::span<const std::shared_ptr<Result>> made);
  std::vector<ResultPtr> evaluate_planned(const Request& request, const std::vector<int>& roots,
                                          const std::map<int, ResultPtr>& controlled, Cancellation& cancellation,
                                          bool step, Placing placing);
  ValueAndGradient gradient_planned(const Request& request, int root, Cancellation* cancellation);
  void choose_devices();
  std::uint64_t stamp_own(int node, const Request& request) const;
  std::vector<ResultPtr> evaluate_roots(const Request& request, const std::vector<int>& roots,
                                        Cancellation& cancellation, bool step, Placing placing);
  std::vector<int> controls_below(const std::vector<int>& roots) const;
  std::map<int, ResultPtr> run_controls(const Request& request, const std::vector<int>& roots,
                                        Cancellation& cancellation);
  const Result* seen_by(Pass& pass, const Node& node, int child);
  bool keeps(const Pass& pass, int node) const;
  Pass prepare(const Request& request, const std::vector<int>& roots, Cancellation& cancellation);
  void run_wave(Pass& pass, std::span<const int> roots);
  void find_parts(Pass& pass) const;
  void run_nodes(Pass& pass, std::span<const int> nodes);
  void run_batch(Pass& pass, std::span<const int> nodes);
  struct GroupRun;
  std::vector<int> run_groups(Pass& pass, std::span<const int> roots);
  void run_programs(Pass& pass, std::span<const int> nodes, std::span<const GroupRun> runs);
  void take_results(Pass& pass, std::span<const int> nodes, std::span<std::shared_ptr<Result>> made);
  DeviceContext* place(const Pass& pass, std::span<const int> nodes, std::vector<DevicePlan>& plans) const;
  bool feeds_devices(std::span<const int> nodes) const;
  bool is_expected_on_device(const Batch& batch, const CellShape& cells) const;
  bool is_worth_a_launch(const DeviceContext& device, std::span<Evaluation* const> batch,
                         std::span<const DevicePlan> plans) const;
  std::size_t run_on_device(Pass& pass, std::span<const int> nodes);
  void bring_inputs_to_host(const Pass& pass, const Node& node);
  void release_children(Pass& pass, int node);
  std::map<int, ResultPtr> evaluate_tangents(const Request& request, int root, Cancellation* cancellation);
  void start_reverse(Pass& pass, int root);
  std::vector<std::vector<int>> reverse_waves(const Pass& pass, std::span<const int> roots) const;
  ResultPtr sum_objective(Pass& pass, int root, const Objective& objective);
  /// Compares with data where the models are computed, as far as there are devices for it; gives the other children.
  std::vector<int> compare_where_computed(Pass& pass, int root, const Objective& objective, ResidualSums& sums,
                                          bool& any);
  struct Compared;
  Compared find_terms(const Pass& pass, int node) const;
  std::vector<int> inputs_of(const Compared& compared) const;
  bool prepare_comparison(const Pass& pass, Compared& compared) const;
  ResultPtr residual_without(const Pass& pass, const Compared& compared, BatchContext& context,
                             std::span<PullBack* const> terms) const;
  bool compare_group(Pass& pass, const Objective& objective, std::vector<Compared>& group, ResidualSums& sums,
                     bool& any);
  void finish_comparison(Pass& pass, const Compared& compared);
  void pull_wave(Pass& pass, std::span<const int> roots);
  void pull_batch(Pass& pass, std::span<const int> nodes);
  std::vector<Vells*> child_adjoints(Pass& pass, const Evaluation& evaluation, const std::vector<int>& children);

  std::shared_ptr<Forest> written_, forest_;             // the user's, and the one that is evaluated
  std::unique_ptr<const rewrite::Rewriting> rewriting_;  // nothing where they are the same
  std::vector<int> asked_;     // nodes that were asked for though nothing in the evaluated forest needs them
  std::vector<bool> refused_;  // by node: must be read as written
  std::unique_ptr<const Plan> plan_;
  std::unique_ptr<Fusion> fusion_;  // nothing: no nodes are evaluated as parts of others
  std::uint64_t n_plan_ = 0;        // how many have been made
  std::uint64_t plan_version_;      // of the forest, when it was planned
  std::uint64_t call_ = 0;
  EvaluatorOptions options_;
  ThreadPool threads_;
  std::shared_ptr<memory::Pool> pool_;
  std::vector<ResultPtr> kept_;            // by node
  std::vector<std::uint64_t> kept_stamp_;  // what the kept result was made from
  // The last division into waves: the same for every tile of one shape.
  std::vector<int> waves_roots_;
  CellShape waves_cells_;
  std::vector<std::vector<int>> waves_;
  TimingReport timing_;
  DeviceChoice device_choice_;
  DeviceContexts devices_;
  Warnings warnings_, notes_;
  Verification verification_;
  SolveLog solves_;
};

}  // namespace rimetree
