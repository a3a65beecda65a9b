// Sin: sin x
//
// Child: x, scalar or tensor, in rad.
// State: none. Result: dimensions of the child; real for a real child, complex for a complex one; dimensionless.
// Flags: those of the child. Derivative: exact, by dual numbers.
// MeqTrees: Sin.
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

struct SinBody {
  template <class N>
  static N apply(N x) {
    return sin(x);
  }
};

class Sin final : public ElementwiseNode<SinBody> {
 public:
  using ElementwiseNode::ElementwiseNode;
  static NodeClass info() {
    return {.name = "Sin",
            .algebra = Algebra::sine,
            .summary = "Sine.",
            .formula = "sin x",
            .result = "dimensions of the child; real for a real child, complex for a complex one; dimensionless",
            .reference = "MeqTrees Sin",
            .children = {
                {.label = "x", .shape = "scalar or tensor", .unit = "rad", .doc = "argument, each element by itself"}}};
  }
};

RIMETREE_REGISTER_NODE(Sin);

}  // namespace rimetree
