// Asin: arcsin x
//
// Child: x, scalar or tensor, in dimensionless. Real, from -1 to 1.
// State: none. Result: dimensions of the child; real, rad; NaN outside [-1, 1].
// Flags: those of the child. Derivative: exact, by dual numbers; 0 at -1 and 1.
// MeqTrees: Asin.
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

struct AsinBody {
  template <class N>
  static N apply(N x) {
    return asin(x);
  }
};

class Asin final : public ElementwiseNode<AsinBody, Numbers::real_to_real> {
 public:
  using ElementwiseNode::ElementwiseNode;
  static NodeClass info() {
    return {.name = "Asin",
            .summary = "Inverse sine of real numbers, from -pi/2 to pi/2.",
            .formula = "arcsin x",
            .result = "dimensions of the child; real, rad; NaN outside [-1, 1]",
            .reference = "MeqTrees Asin",
            .children = {
                {.label = "x", .shape = "scalar or tensor", .unit = "dimensionless", .doc = "real, from -1 to 1"}}};
  }
};

RIMETREE_REGISTER_NODE(Asin);

}  // namespace rimetree
