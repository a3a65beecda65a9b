// Real: Re x
//
// Child: x, scalar or tensor, in any unit.
// State: none. Result: dimensions of the child; real; unit of the child.
// Flags: those of the child. Derivative: exact, by dual numbers.
// MeqTrees: Real.
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

struct RealBody {
  template <class N>
  static auto apply(N x) {
    if constexpr (requires { x.im; })
      return x.re;
    else
      return x;
  }
};

class Real final : public ElementwiseNode<RealBody, Numbers::any_to_real> {
 public:
  using ElementwiseNode::ElementwiseNode;
  static NodeClass info() {
    return {.name = "Real",
            .algebra = Algebra::real_part,
            .summary = "Real part.",
            .formula = "Re x",
            .result = "dimensions of the child; real; unit of the child",
            .reference = "MeqTrees Real",
            .children = {
                {.label = "x", .shape = "scalar or tensor", .unit = "any", .doc = "argument, each element by itself"}}};
  }
};

RIMETREE_REGISTER_NODE(Real);

}  // namespace rimetree
