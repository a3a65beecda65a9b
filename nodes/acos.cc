// Acos: arccos x
//
// Child: x, scalar or tensor, in dimensionless. Real, from -1 to 1.
// State: none. Result: dimensions of the child; real, rad; NaN outside [-1, 1].
// Flags: those of the child. Derivative: exact, by dual numbers; 0 at -1 and 1.
// MeqTrees: Acos.
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

struct AcosBody {
  template <class N>
  static N apply(N x) {
    return acos(x);
  }
};

class Acos final : public ElementwiseNode<AcosBody, Numbers::real_to_real> {
 public:
  using ElementwiseNode::ElementwiseNode;
  static NodeClass info() {
    return {.name = "Acos",
            .summary = "Inverse cosine of real numbers, from 0 to pi.",
            .formula = "arccos x",
            .result = "dimensions of the child; real, rad; NaN outside [-1, 1]",
            .reference = "MeqTrees Acos",
            .children = {
                {.label = "x", .shape = "scalar or tensor", .unit = "dimensionless", .doc = "real, from -1 to 1"}}};
  }
};

RIMETREE_REGISTER_NODE(Acos);

}  // namespace rimetree
