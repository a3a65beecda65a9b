// Conj: x*
//
// Child: x, scalar or tensor, in any unit.
// State: none. Result: dimensions of the child; real for a real child, complex for a complex one; unit of the child.
// Flags: those of the child. Derivative: exact, by dual numbers.
// MeqTrees: Conj.
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

struct ConjBody {
  static constexpr bool kKeepsZero = true;
  template <class N>
  static auto apply(N x) {
    if constexpr (requires { x.im; })
      return conj(x);
    else
      return x;
  }
};

class Conj final : public ElementwiseNode<ConjBody> {
 public:
  using ElementwiseNode::ElementwiseNode;
  static NodeClass info() {
    return {.name = "Conj",
            .algebra = Algebra::conjugate,
            .summary = "Complex conjugate of each element (ConjTranspose also transposes).",
            .formula = "x*",
            .result = "dimensions of the child; real for a real child, complex for a complex one; unit of the child",
            .reference = "MeqTrees Conj",
            .children = {
                {.label = "x", .shape = "scalar or tensor", .unit = "any", .doc = "argument, each element by itself"}}};
  }
};

RIMETREE_REGISTER_NODE(Conj);

}  // namespace rimetree
