// How a class is evaluated on devices, for classes that can be: many nodes by one launch of a program that the class
// gives, over values that stay on the device.
#pragma once

#include <optional>

#include "memory/queue.h"
#include "runtime/cell_job.h"
#include "runtime/evaluation.h"

namespace rimetree {

/// What a node would do on a device.
struct DevicePlan {
  NumberType type = NumberType::real;  ///< of the result
  CellShape cells;                     ///< of the result
  CellShape inner;                     ///< cells that are reduced to one
  std::size_t n_thread = 0;
  int variant = 0;  ///< which of the class's programs: 0 for real children, 1 for complex ones
  bool wants_time = false, wants_frequency = false;
};

class DevicePath {
 public:
  virtual ~DevicePath() = default;
  /// Nothing where the host must do it: derivatives are asked for, flags decide about values, or the class cannot. May
  /// throw what evaluate() would throw.
  virtual std::optional<DevicePlan> plan_on_device(const Evaluation& evaluation) const = 0;
  /// Queues the work for items that all have the variant.
  virtual void launch(memory::Queue& queue, const CellJob& job, int variant) const = 0;
  /// Sets the flags of the result by the class's rule; leaves them alone where the default rule does. Reads no values.
  virtual void combine_flags(Evaluation& /*evaluation*/) const {}
};

}  // namespace rimetree
