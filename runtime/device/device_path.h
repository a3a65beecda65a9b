// How a class is evaluated on devices, for classes that can be: many nodes by one launch of what it has recorded, or of
// a kernel that it brings, over values that stay on the device.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "memory/device.h"
#include "memory/queue.h"
#include "runtime/core/values/evaluation.h"
#include "runtime/device/cell_job.h"
#include "runtime/program/thread_program.h"

namespace rimetree {

/// Which of a class's kernels: for real children or complex ones, of values only or of values and derivatives.
constexpr int program_variant(bool is_complex, bool derivatives) {
  return (derivatives ? 2 : 0) + (is_complex ? 1 : 0);
}

/// What a node would do on a device.
struct DevicePlan {
  explicit DevicePlan(const Evaluation& evaluation)
      : n_child(evaluation.children().size()), parameters(evaluation.parameters()) {}
  int variant() const { return program_variant(is_complex, !parameters.empty()); }
  /// Whether a child's values are read, or its derivative: kernels of classes may read all.
  bool reads(std::size_t child) const;
  bool reads(std::size_t child, const ParameterId& parameter) const;

  NumberType type = NumberType::real;  ///< of the result
  bool is_complex = false;             ///< whether children are
  CellShape cells;                     ///< of the result
  CellShape inner;                     ///< cells that are reduced to one
  std::size_t n_thread = 0;
  bool wants_time = false, wants_frequency = false;
  std::size_t n_child;                  ///< of the node: what programs read of derivatives comes after the children
  std::vector<ParameterId> parameters;  ///< with respect to which there are derivatives
  /// What was recorded, of the values and then of each derivative; none: a kernel of the class does it.
  std::vector<std::shared_ptr<const program::ThreadProgram>> programs;
};

class DevicePath {
 public:
  virtual ~DevicePath() = default;
  /// Nothing where the host must do it: flags decide about values, or the class cannot. May throw what evaluate() would
  /// throw.
  virtual std::optional<DevicePlan> plan_on_device(const Evaluation& evaluation) const = 0;
  /// Whether the device has what a plan wants: by default, whether it runs what was recorded.
  virtual bool can_run(const memory::Device& device, const DevicePlan& plan) const;
  /// Queues the work of the class's kernel for items that all have the variant.
  virtual void launch(memory::Queue& /*queue*/, const CellJob& /*job*/, int /*variant*/) const {}
  /// Sets the flags of the result by the class's rule; leaves them alone where the default rule does. Reads no values.
  virtual void combine_flags(Evaluation& /*evaluation*/) const {}
  /// Sets what else goes along with the values.
  virtual void complete(Evaluation& evaluation) const { combine_flags(evaluation); }
};

}  // namespace rimetree
