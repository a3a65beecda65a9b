// Where the time of evaluations went.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "runtime/core/node/batch_kernel.h"

namespace rimetree {

/// Of the nodes of one class, accumulated over evaluations.
struct ClassTiming {
  std::uint64_t evaluations = 0;  ///< nodes evaluated
  std::uint64_t reused = 0;       ///< nodes whose kept result was still valid
  std::uint64_t pulled_back = 0;  ///< nodes pulled back in reverse passes
  std::uint64_t batches = 0;      ///< calls
  std::uint64_t on_devices = 0;   ///< of the nodes evaluated, those that were on a device
  double seconds = 0;             ///< wall time inside the class
  BatchSplit split;               ///< what of it was no arithmetic
};

struct TimingReport {
  std::map<std::string, ClassTiming> classes;
  double total_seconds = 0;      ///< wall time inside Evaluator::evaluate
  double processor_seconds = 0;  ///< processor time of the process meanwhile, all threads together
  /// Total less the time inside classes: what the framework itself costs.
  double overhead_seconds() const;
  std::uint64_t peak_result_bytes = 0;  ///< largest sum of results alive

  ClassTiming& of(const Node& node) { return classes[node.node_class().name]; }
};

}  // namespace rimetree
