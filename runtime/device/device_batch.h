// Evaluates nodes on a device: what they need and is not there goes up, launches compute all of them and their
// derivatives (one for each program; nodes of one batch that are alike share theirs), and results stay there as slices
// of one block.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/node/node.h"
#include "runtime/device/device_context.h"
#include "runtime/device/device_path.h"

namespace rimetree {

/// Values larger than this go up by themselves, and are found under this key by whoever wants them there; smaller ones
/// go up together: a copy of a few numbers takes as long as one of this many bytes.
inline constexpr std::size_t kSmallArrayBytes = 64 << 10;
memory::ArrayKey resident_key(const Result& result);

struct DeviceBatch {
  const DevicePath* path;                    ///< of plans without programs
  std::span<Evaluation* const> evaluations;  ///< of nodes of one batch, or of groups that are evaluated as one node
  std::span<const DevicePlan> plans;         ///< of each
  std::uint64_t owner = 0;                   ///< tells arrays of this batch from those of others
  /// Nodes of whose results small ones go up together.
  std::function<std::uint64_t(int node)> group_of;
};

/// Queues everything and sets values and derivatives, but no flags. Throws memory::OutOfMemory where there is no room;
/// what is set then is to be set anew.
void evaluate_on_device(DeviceContext& device, const DeviceBatch& batch);

/// Evaluates all nodes, in as many parts as memory makes necessary. Gives those for which there is no room even by
/// themselves, as if nothing had happened to them; `why` then says what was missing.
std::vector<Evaluation*> evaluate_as_fits(DeviceContext& device, const DeviceBatch& batch, std::string& why);

}  // namespace rimetree
