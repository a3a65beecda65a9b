// Whether children have the dimensions that their class says (ChildSpec::shape).
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/core/classes/node_class.h"
#include "runtime/core/values/tensor_shape.h"

namespace rimetree {

/// Throws ShapeError if a child has none of the dimensions of its specification. These are alternatives, such as
/// "[3] or [source,3]" or "[S], [S,2,2] or []". A number is a length; a name is the same length in all children of a
/// node, and in children of a repeated specification a length of each. Any other text, such as "any", is prose for
/// readers. nullptr: an optional child that there is not.
void require_dims(const NodeClass& node_class, std::span<const TensorShape* const> children);

/// The same for many nodes: those of one class mostly have children of the same dimensions, which are read but once.
class DimsCheck {
 public:
  void require(const NodeClass& node_class, std::span<const TensorShape* const> children);

 private:
  std::unordered_map<const NodeClass*, std::vector<std::optional<TensorShape>>> good_;  // the last that were
};

}  // namespace rimetree
