// The contract every node keeps, in one place: what happens before and after a class's mathematics.
//   failed child   -> the result fails with the children's failures; nothing is computed
//   missing child  -> the result is missing, unless the class skips missing children and has one left
//   flags          -> a cell is flagged where any child is, unless the class says otherwise
//   exception      -> a Failure naming the node, its class and the user's script line
//   outcome        -> dimensions, cells, flags and derivatives must fit the node and the request
#pragma once

#include <optional>

#include "runtime/node.h"

namespace rimetree {

class Contract {
 public:
  /// An evaluation ready for the class, or nothing if the outcome is already decided (it is then in `decided`).
  /// `children`: one per slot, nullptr where an optional child is absent.
  static std::optional<Evaluation> prepare(const Node& node, const Request& request, memory::Pool& pool,
                                           std::span<const Result* const> children, Result& decided);
  /// Calls the class for the whole batch; an exception that it lets through fails every node of the batch (Cancelled
  /// and memory::OutOfMemory go on to the caller).
  static void evaluate_batch(BatchContext& context, std::span<Evaluation* const> batch);
  /// Checks what the class produced, applies the default rule for flags, and gives the result.
  static Result finish(Evaluation& evaluation);
};

}  // namespace rimetree
