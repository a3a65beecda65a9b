// One operation with children and state. The base class enforces the contract that all nodes keep - shapes, missing
// data, failures, flags - so that a class writes only its mathematics.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/classes/node_class.h"
#include "runtime/core/node/batch_kernel.h"
#include "runtime/core/node/capabilities.h"
#include "runtime/core/node/node_names.h"
#include "runtime/core/values/evaluation.h"

namespace rimetree {

/// Values [element][cell] in extended precision.
using MovedValues = std::vector<Complex<long double>>;

/// What holds for all evaluations of a node.
/// Which numbers a result holds, as far as a class can tell before anything is evaluated.
enum class ResultNumbers : std::uint8_t {
  any,          ///< it cannot
  real,         ///< real ones
  of_children,  ///< real ones if all children hold such
};

struct NodeTraits {
  DependencySet depends_on = kNothing;  ///< beyond what the children depend on
  AxisSet varies_along = kNoAxes;       ///< axes beyond those of the children, for the estimate of memory
  /// Axes along which a cell of the result may depend on other cells of the children than that one. None: the value on
  /// a cell follows from the children's values on that cell. Derivatives with respect to the solution tiles of Parms
  /// are right only if this says so; a class that says nothing is taken to mix all.
  AxisSet mixed_axes = kAllAxes;
  /// A missing child is left out instead of making this node's result missing: its slot is empty (nullptr), or removed
  /// if it is one of the repeated ones.
  bool skips_missing = false;
  /// The result follows from the class, the state, the cells and the children and from nothing else: nodes that agree
  /// in these are evaluated once. Not so where a node's name or number counts (noise), or where it is somebody (a
  /// Parm).
  bool is_function = false;
  bool always_evaluates = false;  ///< the result must be computed anew for every request (side effects: Sink)
  bool reads_no_values = false;   ///< children's values are passed on, or read where they are: on a device, too
  bool single_threaded = false;   ///< must run on the calling thread (Python code)
  ResultNumbers numbers = ResultNumbers::any;
  friend bool operator==(const NodeTraits&, const NodeTraits&) = default;
};

class Node {
 public:
  explicit Node(const State& state) : state_(state) {}
  virtual ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Who it is; set by the forest.
  std::string name() const;
  const std::string& origin() const { return names_->origin(named_as_); }
  const NodeClass& node_class() const { return *class_; }
  Algebra algebra() const { return class_->algebra; }
  const State& state() const { return state_; }
  int index() const { return index_; }
  const TensorShape& dims() const { return dims_; }
  const NodeTraits& traits() const { return traits_; }

  // How the forest binds it to its children, in this order; it never changes afterwards.

  /// Dimensions of the result from those of the children (nullptr: absent). Throws ShapeError saying expected against
  /// got.
  virtual TensorShape result_dims(std::span<const TensorShape* const> children) const = 0;
  /// Keeps what follows from the dimensions of the children.
  virtual void bind(std::span<const TensorShape* const> /*children*/) {}
  virtual NodeTraits own_traits() const { return {}; }

  /// What the node can do, or is, besides.
  virtual Capabilities capabilities() const { return {}; }
  /// nullptr: on the host only.
  const DevicePath* device_path() const { return capabilities().device; }
  std::size_t n_unknown() const;

  /// Elements of its result that are 0 whatever the data, from those of its children.
  virtual ZeroElements zero_elements(const Evaluation& /*evaluation*/) const { return 0; }

  /// For a batch of nodes like this one; a class overrides it where one call for all is faster.
  virtual std::unique_ptr<BatchKernel> make_kernel() const;

  /// The result in extended precision where all children are moved by `step` times their derivatives along kDirection,
  /// to check derivatives with. False: the class can be evaluated in double precision only.
  virtual bool evaluate_moved(const Evaluation& /*evaluation*/, long double /*step*/, MovedValues& /*values*/) const {
    return false;
  }

 protected:
  /// The mathematics: reads evaluation.child(...), calls set(...). Any exception becomes a Failure of this node, but
  /// for Cancelled and memory::OutOfMemory, which end the evaluation.
  virtual void evaluate(Evaluation& evaluation) const = 0;
  /// Adds to the adjoints of the children what follows from that of the result; cells where the latter is zero must not
  /// contribute, be their values NaN. The default throws.
  virtual void pull_back(PullBack& pull) const;

 private:
  friend class BatchKernel;
  friend class Forest;
  State state_;
  const NodeClass* class_ = nullptr;
  const NodeNames* names_ = nullptr;  // the forest's
  int index_ = -1;
  int named_as_ = -1;  // whose name it has: its own, or that of the node on whose behalf a plan has added it
  TensorShape dims_;
  NodeTraits traits_;
};

}  // namespace rimetree
