// A forest that has just been built, as one of its nodes looks at it (Reviewer).
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>

#include "runtime/core/values/result.h"

namespace rimetree {

class Forest;

struct Review {
  /// As the script has it; and the number of the node in it.
  const Forest& forest;
  int node;
  /// Dimensions of the children, as in Node::result_dims.
  std::span<const TensorShape* const> dims;
  /// The result of the child in a slot, if it depends on nothing, so that it will be the same for every request.
  /// nullptr: it depends on something, is absent, or has no value.
  std::function<const Result*(std::size_t slot)> constant;
  /// Directions that a node has found good: many baselines share one sky.
  std::set<const Result*>& good_directions;
  /// What the user should know. The node and its script line go before it.
  std::function<void(const std::string& message)> warn;
};

}  // namespace rimetree
