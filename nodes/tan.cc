// Tan: tan x
//
// Child: x, scalar or tensor, in rad.
// State: none. Result: dimensions of the child; real for a real child, complex for a complex one; dimensionless.
// Flags: those of the child. Derivative: exact, by dual numbers.
// MeqTrees: Tan.
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

struct TanBody {
  template <class N>
  static N apply(N x) {
    return tan(x);
  }
};

class Tan final : public ElementwiseNode<TanBody> {
 public:
  using ElementwiseNode::ElementwiseNode;
  static NodeClass info() {
    return {.name = "Tan",
            .summary = "Tangent.",
            .formula = "tan x",
            .result = "dimensions of the child; real for a real child, complex for a complex one; dimensionless",
            .reference = "MeqTrees Tan",
            .children = {
                {.label = "x", .shape = "scalar or tensor", .unit = "rad", .doc = "argument, each element by itself"}}};
  }
};

RIMETREE_REGISTER_NODE(Tan);

}  // namespace rimetree
