// Atan2: atan2(y, x)
//
// Children: y and x, real scalars or tensors of equal dimensions, of the same unit.
// State: none. Result: the dimensions of the children, real, in radians.
// Flags: per element, flagged where any child is. Derivative: exact, by dual numbers; 0 where both are 0.
// MeqTrees: Atan2.
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

struct Atan2Body {
  template <class N>
  static N apply(N y, N x) {
    return atan2(y, x);
  }
};

class Atan2 final : public ElementwiseNode<Atan2Body, Numbers::real_to_real> {
 public:
  using ElementwiseNode::ElementwiseNode;
  static NodeClass info() {
    return {
        .name = "Atan2",
        .summary = "Angle of the point (x, y), from -pi to pi.",
        .formula = "atan2(y, x)",
        .result = "dimensions of the children; real, rad",
        .reference = "MeqTrees Atan2",
        .children = {
            {.label = "y", .shape = "scalar or tensor", .unit = "any", .doc = "ordinate, real"},
            {.label = "x",
             .shape = "scalar or tensor",
             .unit = "that of y",
             .doc =
                 "abscissa, real; a scalar applies to all elements of a tensor; tensors must have equal dimensions"}}};
  }
};

RIMETREE_REGISTER_NODE(Atan2);

}  // namespace rimetree
