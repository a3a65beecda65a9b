// Cos: cos x
//
// Child: x, scalar or tensor, in rad.
// State: none. Result: dimensions of the child; real for a real child, complex for a complex one; dimensionless.
// Flags: those of the child. Derivative: exact, by dual numbers.
// MeqTrees: Cos.
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

struct CosBody {
  template <class N>
  static N apply(N x) {
    return cos(x);
  }
};

class Cos final : public ElementwiseNode<CosBody> {
 public:
  using ElementwiseNode::ElementwiseNode;
  static NodeClass info() {
    return {.name = "Cos",
            .algebra = Algebra::cosine,
            .summary = "Cosine.",
            .formula = "cos x",
            .result = "dimensions of the child; real for a real child, complex for a complex one; dimensionless",
            .reference = "MeqTrees Cos",
            .children = {
                {.label = "x", .shape = "scalar or tensor", .unit = "rad", .doc = "argument, each element by itself"}}};
  }
};

RIMETREE_REGISTER_NODE(Cos);

}  // namespace rimetree
