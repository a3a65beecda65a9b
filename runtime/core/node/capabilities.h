// What only some classes of nodes can do or are, each as a small interface. A node says which of them it has
// (Node::capabilities); nobody asks for its class.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/cells/axes.h"
#include "runtime/core/cells/tile.h"

namespace rimetree {

class DeviceContext;
class DevicePath;
class Forest;
class Objective;
class SolverNode;
struct DeviceChoice;
struct Request;
struct Review;
struct TensorShape;

/// A node that holds unknowns: the solvable coefficients of a Parm.
class UnknownsHolder {
 public:
  virtual ~UnknownsHolder() = default;
  virtual std::size_t n_unknown() const = 0;
  /// Whether each time-slot group of a run starts with the values that the run began with.
  virtual bool starts_anew() const { return false; }
  /// Logarithm of the prior probability density of the unknowns. Adds `weight` times its derivatives to `slope` unless
  /// that is empty.
  virtual double log_prior(std::span<double> slope, double weight) const = 0;
};

/// What a class would do with a batch of nodes, before there are data.
struct Description {
  std::string text;    ///< method and reason; empty where there is nothing to choose
  double seconds = 0;  ///< estimate on one core; 0: none
};

/// Nodes that would be evaluated together.
struct ExpectedBatch {
  const Request& request;
  const Forest& forest;
  std::span<const int> nodes;
  /// For each slot of the first node the cells on which the child may vary; extent 1 where it cannot.
  std::span<const CellShape> children;
  std::span<const std::unique_ptr<DeviceContext>> devices;  ///< as in BatchContext
};

/// A node whose class chooses between methods.
class MethodChoice {
 public:
  virtual ~MethodChoice() = default;
  /// How a batch that this node is the first of would be evaluated.
  virtual Description describe(const ExpectedBatch& batch) const = 0;
};

/// What a node takes from the data of a request, or puts there.
struct DataUse {
  std::string column;
  Baseline baseline;
  bool writes = false;  ///< else it reads
  bool writes_flags = false;
};

/// A node that says in which order nodes are evaluated on each time-slot group of a run over data.
class RunStages {
 public:
  virtual ~RunStages() = default;
  /// Nodes that are evaluated together, stage by stage. `children`: of the node, by slot, -1 where absent.
  virtual std::vector<std::vector<int>> stages(std::span<const int> children) const = 0;
};

/// A node that looks at the forest that it is part of, once that has been built and again when constants in it have
/// changed (runtime/core/node/review.h).
class Reviewer {
 public:
  virtual ~Reviewer() = default;
  /// Throws Error where the node can only give nonsense, and warns of what is hardly meant.
  virtual void review(const Review& review) const = 0;
};

/// A node whose result is some elements of its child's: Algebra::selection.
class ElementSelection {
 public:
  virtual ~ElementSelection() = default;
  /// Which element of a child of these dimensions becomes an element of the result.
  virtual std::size_t selected_element(std::size_t element, const TensorShape& child) const = 0;
};

/// nullptr: the node is no such thing. What is pointed at lives as long as the node.
struct Capabilities {
  const DevicePath* device = nullptr;  ///< many nodes are evaluated on a device by one launch
  const UnknownsHolder* unknowns = nullptr;
  /// Evaluating the node is a loop over evaluations of what is below it.
  const SolverNode* solver = nullptr;
  const Objective* objective = nullptr;  ///< a sum over residuals, which may be formed some at a time
  const MethodChoice* method = nullptr;
  const DataUse* data = nullptr;
  const RunStages* run = nullptr;
  const DeviceChoice* devices = nullptr;  ///< it chooses the devices of its forest
  const Reviewer* reviewer = nullptr;
  const ElementSelection* selection = nullptr;
};

}  // namespace rimetree
