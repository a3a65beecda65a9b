// Evaluates nodes on a device: what they need and is not there goes up, one launch computes all of them (one for real
// and one for complex children, where a batch has both), and results stay there as slices of one block.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "runtime/device_context.h"
#include "runtime/device_path.h"
#include "runtime/node.h"

namespace rimetree {

struct DeviceBatch {
  std::span<Evaluation* const> evaluations;  ///< of nodes of one batch
  std::span<const DevicePlan> plans;         ///< of each
  std::uint64_t owner = 0;                   ///< tells arrays of this batch from those of others
  /// Nodes of whose results small ones go up together.
  std::function<std::uint64_t(int node)> group_of;
};

/// Queues everything and sets values and flags. Throws memory::OutOfMemory where there is no room; nothing is set then
/// but flags.
void evaluate_on_device(DeviceContext& device, const DeviceBatch& batch);

}  // namespace rimetree
