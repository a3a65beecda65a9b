// What whoever evaluates a forest may choose: threads, memory, devices, and how far nodes are taken together.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/device/device_context.h"
#include "runtime/evaluate/placement.h"

namespace rimetree {

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

}  // namespace rimetree
