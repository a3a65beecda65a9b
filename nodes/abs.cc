// Abs: |x|
//
// Child: x, scalar or tensor, in any unit.
// State: none. Result: dimensions of the child; always real; unit of the child. The derivative at x = 0 is taken as 0
// for complex numbers.
// Flags: those of the child. Derivative: exact, by dual numbers.
// MeqTrees: Abs.
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

struct AbsBody {
  template <class N>
  static auto apply(N x) {
    return abs(x);
  }
};

class Abs final : public ElementwiseNode<AbsBody, Numbers::any_to_real> {
 public:
  using ElementwiseNode::ElementwiseNode;
  static NodeClass info() {
    return {.name = "Abs",
            .summary = "Absolute value, or modulus of complex numbers.",
            .formula = "|x|",
            .result = "dimensions of the child; always real; unit of the child",
            .reference = "MeqTrees Abs",
            .children = {
                {.label = "x", .shape = "scalar or tensor", .unit = "any", .doc = "argument, each element by itself"}}};
  }
};

RIMETREE_REGISTER_NODE(Abs);

}  // namespace rimetree
