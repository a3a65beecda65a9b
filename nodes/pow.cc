// Pow: a^b
//
// Children: base a (any unit) and exponent b (dimensionless), scalars or tensors of equal dimensions.
// State: none. Result: the dimensions of the children; complex (principal value) if any child is. A negative real base
// with a fractional exponent gives NaN.
// Flags: per element, flagged where any child is. Derivative: exact, by dual numbers; 0 of roots of 0.
// MeqTrees: Pow.
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

struct PowBody {
  template <class N>
  static N apply(N a, N b) {
    return pow(a, b);
  }
};

class Pow final : public ElementwiseNode<PowBody> {
 public:
  using ElementwiseNode::ElementwiseNode;
  static NodeClass info() {
    return {.name = "Pow",
            .summary = "Power, element by element.",
            .formula = "a^b",
            .result =
                "dimensions of the children; complex if any child is; a negative real base with a fractional exponent "
                "gives NaN",
            .reference = "MeqTrees Pow",
            .children = {
                {.label = "a", .shape = "scalar or tensor", .unit = "any", .doc = "base"},
                {.label = "b",
                 .shape = "scalar or tensor",
                 .unit = "dimensionless",
                 .doc = "exponent; a scalar applies to all elements of a tensor; tensors must have equal dimensions"}}};
  }
};

RIMETREE_REGISTER_NODE(Pow);

}  // namespace rimetree
