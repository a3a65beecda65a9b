// Divide: a / b
//
// Children: a and b, scalars or tensors of equal dimensions, any units.
// State: none. Result: the dimensions of the children; complex if any child is. A division by zero gives infinities or
// NaN, as the arithmetic of the machine does.
// Flags: per element, flagged where any child is. Derivative: exact, by dual numbers.
// MeqTrees: Divide.
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

struct DivideBody {
  template <class N>
  static N apply(N a, N b) {
    return a / b;
  }
};

class Divide final : public ElementwiseNode<DivideBody> {
 public:
  using ElementwiseNode::ElementwiseNode;
  static NodeClass info() {
    return {.name = "Divide",
            .algebra = Algebra::quotient,
            .summary = "Quotient of two children, element by element.",
            .formula = "a / b",
            .result =
                "dimensions of the children, quotient of their units; complex if any child is; division by zero gives "
                "infinities or NaN",
            .reference = "MeqTrees Divide",
            .children = {
                {.label = "a", .shape = "scalar or tensor", .unit = "any", .doc = "dividend"},
                {.label = "b",
                 .shape = "scalar or tensor",
                 .unit = "any",
                 .doc = "divisor; a scalar applies to all elements of a tensor; tensors must have equal dimensions"}}};
  }
};

RIMETREE_REGISTER_NODE(Divide);

}  // namespace rimetree
