// How a class is evaluated on devices, for classes that can be: many nodes by one launch of a program that the class
// gives, over values that stay on the device.
#pragma once

#include <optional>
#include <vector>

#include "memory/device.h"
#include "memory/queue.h"
#include "runtime/core/evaluation.h"
#include "runtime/device/cell_job.h"

namespace rimetree {

/// Which of a class's programs: for real children or complex ones, of values only or of values and derivatives.
constexpr int program_variant(bool is_complex, bool derivatives) {
  return (derivatives ? 2 : 0) + (is_complex ? 1 : 0);
}

/// What a node would do on a device.
struct DevicePlan {
  explicit DevicePlan(const Evaluation& evaluation)
      : n_child(evaluation.children().size()), parameters(evaluation.parameters()) {}
  int variant() const { return program_variant(is_complex, !parameters.empty()); }

  NumberType type = NumberType::real;  ///< of the result
  bool is_complex = false;             ///< whether children are
  CellShape cells;                     ///< of the result
  CellShape inner;                     ///< cells that are reduced to one
  std::size_t n_thread = 0;
  bool wants_time = false, wants_frequency = false;
  std::size_t n_child;                  ///< that the program reads: the first ones
  std::vector<ParameterId> parameters;  ///< with respect to which there are derivatives
};

class DevicePath {
 public:
  virtual ~DevicePath() = default;
  /// Nothing where the host must do it: flags decide about values, or the class cannot. May throw what evaluate() would
  /// throw.
  virtual std::optional<DevicePlan> plan_on_device(const Evaluation& evaluation) const = 0;
  /// Whether the device has the program of a variant.
  virtual bool has_program(const memory::Device& device, int variant) const = 0;
  /// Queues the work for items that all have the variant, of nodes whose paths are all alike.
  virtual void launch(memory::Queue& queue, const CellJob& job, int variant) const = 0;
  /// Whether the launch for this node is the same as for another one of its batch, whose state may differ in fields
  /// that are per_node.
  virtual bool is_like(const DevicePath& /*other*/) const { return true; }
  /// Sets the flags of the result by the class's rule; leaves them alone where the default rule does. Reads no values.
  virtual void combine_flags(Evaluation& /*evaluation*/) const {}
  /// Sets what else goes along with the values.
  virtual void complete(Evaluation& evaluation) const { combine_flags(evaluation); }
};

}  // namespace rimetree
