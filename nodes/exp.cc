// Exp: exp(x)
//
// Child: x, scalar or tensor, in dimensionless.
// State: none. Result: dimensions of the child; real for a real child, complex for a complex one; dimensionless.
// Flags: those of the child. Derivative: exact, by dual numbers.
// MeqTrees: Exp.
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

struct ExpBody {
  template <class N>
  static N apply(N x) {
    return exp(x);
  }
};

class Exp final : public ElementwiseNode<ExpBody> {
 public:
  using ElementwiseNode::ElementwiseNode;
  static NodeClass info() {
    return {.name = "Exp",
            .algebra = Algebra::exponential,
            .summary = "Exponential function.",
            .formula = "exp(x)",
            .result = "dimensions of the child; real for a real child, complex for a complex one; dimensionless",
            .reference = "MeqTrees Exp",
            .children = {{.label = "x",
                          .shape = "scalar or tensor",
                          .unit = "dimensionless",
                          .doc = "argument, each element by itself"}}};
  }
};

RIMETREE_REGISTER_NODE(Exp);

}  // namespace rimetree
