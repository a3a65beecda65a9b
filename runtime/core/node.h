// One operation with children and state. The base class enforces the contract that all nodes keep - shapes, missing
// data, failures, flags - so that a class writes only its mathematics.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/cancellation.h"
#include "runtime/core/evaluation.h"
#include "runtime/core/node_class.h"
#include "runtime/core/verification.h"
#include "runtime/core/warnings.h"

namespace rimetree {

class DeviceContext;
class DevicePath;
class Evaluator;
class Forest;
class PullBack;
struct Comparison;
struct ResidualSums;
class ThreadPool;

/// Values [element][cell] in extended precision.
using MovedValues = std::vector<Complex<long double>>;

/// Wall time of a batch that was no arithmetic, as far as its class tells.
struct BatchSplit {
  double unchanged_seconds = 0;  ///< preparing or copying what has not changed since the last batch: avoidable
  double changed_seconds = 0;    ///< preparing or copying what is new
};

/// What a batch of evaluations runs with.
struct BatchContext {
  ThreadPool& threads;
  Cancellation& cancellation;
  Warnings& warnings;
  Warnings& notes;             ///< how things were done and why: for reports, no cause for concern
  Verification& verification;  ///< takes what Request::verify asks for
  const Forest& forest;
  BatchSplit split = {};
  /// Devices that may be used; none: the host only.
  std::span<const std::unique_ptr<DeviceContext>> devices = {};
  /// Whether some consumer reads the results on a device: a class that computes there leaves them there.
  bool feeds_devices = false;
};

/// What a class would do with a batch of nodes, before there are data.
struct Description {
  std::string text;    ///< method and reason; empty where there is nothing to choose
  double seconds = 0;  ///< estimate on one core; 0: none
};

class Node {
 public:
  explicit Node(const State& state) : state_(state) {}
  virtual ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Who it is; set by the forest.
  const std::string& name() const { return name_; }
  const std::string& origin() const { return origin_; }
  const NodeClass& node_class() const { return *class_; }
  Algebra algebra() const { return class_->algebra; }
  const State& state() const { return state_; }
  int index() const { return index_; }
  const TensorShape& dims() const { return dims_; }

  /// Dimensions of the result from those of the children (nullptr: absent). Called once, when the forest is built;
  /// throws ShapeError saying expected against got.
  virtual TensorShape result_dims(std::span<const TensorShape* const> children) const = 0;

  /// What the result depends on beyond what the children depend on.
  virtual DependencySet own_dependencies() const { return kNothing; }
  /// Axes along which the result varies beyond those of the children, for the estimate of memory.
  virtual std::vector<Axis> own_axes() const { return {}; }
  /// Whether a missing child is left out instead of making this node's result missing: its slot is empty (nullptr), or
  /// removed if it is one of the repeated ones.
  virtual bool skips_missing() const { return false; }
  /// Whether the result must be computed anew for every request (side effects: Sink).
  virtual bool always_evaluates() const { return false; }
  /// Whether children's values need not be brought to the host first: they are passed on, or read where they are.
  virtual bool reads_no_values() const { return false; }
  /// Nodes that must run on the calling thread (Python code).
  virtual bool single_threaded() const { return false; }

  /// How the class is evaluated on devices; nullptr: on the host only.
  virtual const DevicePath* device_path() const { return nullptr; }

  /// Whether evaluating the node is a loop over evaluations of what is below it (Solver). The evaluator then calls
  /// control() before all other nodes of a request, instead of evaluating its children and it.
  virtual bool controls() const { return false; }
  virtual void control(Evaluator& /*evaluator*/, Evaluation& /*evaluation*/, Cancellation& /*cancellation*/) const {}

  /// How `n_node` nodes like this one would be evaluated together. `children`: for each slot the cells on which the
  /// child may vary (extent 1 where it cannot). `devices`: as in BatchContext.
  virtual Description describe(const Request&, std::span<const CellShape> /*children*/, std::size_t /*n_node*/,
                               std::span<const std::unique_ptr<DeviceContext>> /*devices*/) const {
    return {};
  }

  /// Evaluates many nodes of the same class, state and shapes by one call, called on one of them. The default spreads
  /// evaluate() over all threads; a class overrides it where one call for all is faster.
  virtual void evaluate_batch(BatchContext& context, std::span<Evaluation* const> batch) const;

  // Reverse mode: the gradient of a real objective, whatever the number of unknowns (see runtime/core/pull_back.h).

  /// How many unknowns the node itself holds: the solvable coefficients of a Parm.
  virtual std::size_t n_unknown() const { return 0; }
  /// Children of which pull_back() wants to know a tangent (PullBack::tangent).
  virtual std::vector<std::size_t> tangent_slots() const { return {}; }
  /// The result in extended precision where all children are moved by `step` times their derivatives along kDirection,
  /// to check derivatives with. False: the class can be evaluated in double precision only.
  virtual bool evaluate_moved(const Evaluation& /*evaluation*/, long double /*step*/, MovedValues& /*values*/) const {
    return false;
  }
  /// Logarithm of the prior probability density of the node's unknowns. Adds `weight` times its derivatives to `slope`
  /// unless that is empty.
  virtual double log_prior(std::span<double> /*slope*/, double /*weight*/) const { return 0; }
  /// Pulls many nodes of one batch back by one call, called on one of them. The default spreads pull_back() over all
  /// threads; a class overrides it where one call for all is faster. Adjoints are added in an order that does not
  /// depend on the threads.
  virtual void pull_back_batch(BatchContext& context, std::span<PullBack* const> batch) const;

  // Comparison with data where a model is computed (see runtime/core/comparison.h).

  /// Whether compare_batch() does something where there are devices.
  virtual bool compares() const { return false; }
  /// Subtracts the terms of each comparison, nodes of the same batches, from its rest; adds up chi-square, and adds to
  /// the adjoints of the terms' children those of `slope` times it. Called on the first term of the first one. False:
  /// it cannot be done so; nothing has been added.
  virtual bool compare_batch(BatchContext&, std::span<Comparison> /*batch*/, double /*slope*/,
                             ResidualSums& /*sums*/) const {
    return false;
  }

 protected:
  /// The mathematics: reads evaluation.child(...), calls set(...). Any exception becomes a Failure of this node, but
  /// for Cancelled and memory::OutOfMemory, which end the evaluation.
  virtual void evaluate(Evaluation& evaluation) const = 0;
  /// Makes the evaluation's outcome a Failure of its node.
  static void fail(Evaluation& evaluation, const std::string& message);
  /// Adds to the adjoints of the children what follows from that of the result; cells where the latter is zero must not
  /// contribute, be their values NaN. The default throws.
  virtual void pull_back(PullBack& pull) const;
  /// Runs pull_back() and notes an exception as the failure of the share.
  static void pull_back_guarded(PullBack& pull);
  /// Runs evaluate() and turns an exception into a Failure.
  static void evaluate_guarded(const Node& node, Evaluation& evaluation);

 private:
  friend class ForestBuilder;
  State state_;
  std::string name_, origin_;
  const NodeClass* class_ = nullptr;
  int index_ = -1;
  TensorShape dims_;
};

}  // namespace rimetree
