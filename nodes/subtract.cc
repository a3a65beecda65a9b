// Subtract: a - b
//
// Children: a and b, scalars or tensors of equal dimensions, of the same unit.
// State: none. Result: the dimensions and unit of the children; complex if any child is.
// Flags: per element, flagged where any child is. Derivative: exact, by dual numbers.
// MeqTrees: Subtract.
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

struct SubtractBody {
  static constexpr bool kKeepsZero = true;
  template <class N>
  static N apply(N a, N b) {
    return a - b;
  }
};

class Subtract final : public ElementwiseNode<SubtractBody> {
 public:
  using ElementwiseNode::ElementwiseNode;
  static NodeClass info() {
    return {.name = "Subtract",
            .algebra = Algebra::difference,
            .summary = "Difference of two children, element by element.",
            .formula = "a - b",
            .result = "dimensions and unit of the children; complex if any child is",
            .reference = "MeqTrees Subtract",
            .children = {{.label = "a", .shape = "scalar or tensor", .unit = "any", .doc = "from which is subtracted"},
                         {.label = "b",
                          .shape = "scalar or tensor",
                          .unit = "that of a",
                          .doc = "what is subtracted; a scalar applies to all elements of a tensor; tensors must have "
                                 "equal dimensions"}}};
  }
};

RIMETREE_REGISTER_NODE(Subtract);

}  // namespace rimetree
