// Negate: -x
//
// Child: x, scalar or tensor, in any unit.
// State: none. Result: dimensions of the child; real for a real child, complex for a complex one; unit of the child.
// Flags: those of the child. Derivative: exact, by dual numbers.
// MeqTrees: Negate.
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

struct NegateBody {
  static constexpr bool kKeepsZero = true;
  template <class N>
  static N apply(N x) {
    return -x;
  }
};

class Negate final : public ElementwiseNode<NegateBody> {
 public:
  using ElementwiseNode::ElementwiseNode;
  static NodeClass info() {
    return {.name = "Negate",
            .algebra = Algebra::negation,
            .summary = "The child with its sign reversed.",
            .formula = "-x",
            .result = "dimensions of the child; real for a real child, complex for a complex one; unit of the child",
            .reference = "MeqTrees Negate",
            .children = {
                {.label = "x", .shape = "scalar or tensor", .unit = "any", .doc = "argument, each element by itself"}}};
  }
};

RIMETREE_REGISTER_NODE(Negate);

}  // namespace rimetree
