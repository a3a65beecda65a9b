// Sqr: x^2
//
// Child: x, scalar or tensor, in any unit.
// State: none. Result: dimensions of the child; real for a real child, complex for a complex one; unit of the child
// squared.
// Flags: those of the child. Derivative: exact, by dual numbers.
// MeqTrees: Sqr.
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

struct SqrBody {
  template <class N>
  static N apply(N x) {
    return x * x;
  }
};

class Sqr final : public ElementwiseNode<SqrBody> {
 public:
  using ElementwiseNode::ElementwiseNode;
  static NodeClass info() {
    return {.name = "Sqr",
            .summary = "Square (of a complex number: x*x, not |x|^2).",
            .formula = "x^2",
            .result =
                "dimensions of the child; real for a real child, complex for a complex one; unit of the child squared",
            .reference = "MeqTrees Sqr",
            .children = {
                {.label = "x", .shape = "scalar or tensor", .unit = "any", .doc = "argument, each element by itself"}}};
  }
};

RIMETREE_REGISTER_NODE(Sqr);

}  // namespace rimetree
