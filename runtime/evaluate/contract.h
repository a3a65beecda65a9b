// The contract every node keeps, in one place: what happens before and after a class's mathematics.
//   failed child   -> the result fails with the children's failures; nothing is computed
//   missing child  -> the result is missing, unless the class skips missing children and has one left
//   complex child  -> where the class says that it must be real the result fails
//   flags          -> a cell is flagged where any child is, unless the class says otherwise
//   exception      -> a Failure naming the node, its class and the user's script line
//   outcome        -> dimensions, cells, flags and derivatives must fit the node and the request
#pragma once

#include "runtime/core/node/node.h"

namespace rimetree {

class Contract {
 public:
  /// Whether there is something to evaluate; if not, the outcome is decided and in `result`. `children`: one per slot,
  /// nullptr where an optional child is absent; what the class is not to see is taken out of it.
  static bool prepare(const Node& node, std::span<const Result*>& children, Result& result);
  /// Calls the class for the whole batch; an exception that it lets through fails every node of the batch (Cancelled
  /// and memory::OutOfMemory go on to the caller).
  static void evaluate_batch(BatchContext& context, BatchKernel& kernel, std::span<Evaluation* const> batch);
  /// Checks what the class produced and applies the default rule for flags.
  static void finish(Evaluation& evaluation);
};

}  // namespace rimetree
