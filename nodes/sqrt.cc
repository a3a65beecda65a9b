// Sqrt: sqrt(x)
//
// Child: x, scalar or tensor, in any unit. A negative real number gives NaN: make it complex first (ToComplex).
// State: none. Result: dimensions of the child; real for a real child, complex for a complex one; square root of the
// unit of the child; a negative real number gives NaN, a complex one its principal root.
// Flags: those of the child. Derivative: exact, by dual numbers; 0 at 0.
// MeqTrees: Sqrt.
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

struct SqrtBody {
  template <class N>
  static N apply(N x) {
    return sqrt(x);
  }
};

class Sqrt final : public ElementwiseNode<SqrtBody> {
 public:
  using ElementwiseNode::ElementwiseNode;
  static NodeClass info() {
    return {.name = "Sqrt",
            .summary = "Square root.",
            .formula = "sqrt(x)",
            .result =
                "dimensions of the child; real for a real child, complex for a complex one; square root of the unit of "
                "the child; a negative real number gives NaN, a complex one its principal root",
            .reference = "MeqTrees Sqrt",
            .children = {{.label = "x",
                          .shape = "scalar or tensor",
                          .unit = "any",
                          .doc = "a negative real number gives NaN: make it complex first (ToComplex)"}}};
  }
};

RIMETREE_REGISTER_NODE(Sqrt);

}  // namespace rimetree
