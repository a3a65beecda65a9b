// Evaluates nodes on a device: what they need and is not there goes up, one launch computes all of them and their
// derivatives (one for each program, where nodes differ: with real and with complex children, with derivatives and
// without), and results stay there as slices of one block.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/node.h"
#include "runtime/device/device_context.h"
#include "runtime/device/device_path.h"

namespace rimetree {

/// Values larger than this go up by themselves, and are found under this key by whoever wants them there; smaller ones
/// go up together: a copy of a few numbers takes as long as one of this many bytes.
inline constexpr std::size_t kSmallArrayBytes = 64 << 10;
memory::ArrayKey resident_key(const Result& result);

struct DeviceBatch {
  const DevicePath& path;                    ///< of nodes that have none of their own
  std::span<Evaluation* const> evaluations;  ///< of nodes of one batch
  std::span<const DevicePlan> plans;         ///< of each
  std::uint64_t owner = 0;                   ///< tells arrays of this batch from those of others
  /// Nodes of whose results small ones go up together.
  std::function<std::uint64_t(int node)> group_of;

  /// The node's own path, if it has one: state may differ in fields that are per_node.
  const DevicePath& path_of(std::size_t i) const {
    const DevicePath* own = evaluations[i]->node.device_path();
    return own != nullptr ? *own : path;
  }
};

/// Queues everything and sets values, derivatives and what goes along with them. Throws memory::OutOfMemory where there
/// is no room; what is set then is to be set anew.
void evaluate_on_device(DeviceContext& device, const DeviceBatch& batch);

/// Evaluates all nodes, in as many parts as memory makes necessary. Gives those for which there is no room even by
/// themselves, as if nothing had happened to them; `why` then says what was missing.
std::vector<Evaluation*> evaluate_as_fits(DeviceContext& device, const DeviceBatch& batch, std::string& why);

}  // namespace rimetree
