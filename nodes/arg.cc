// Arg: arg x
//
// Child: x, scalar or tensor, in any unit.
// State: none. Result: dimensions of the child; real, rad; pi for negative real numbers. The phase of 0 is 0; it has
// no derivative there.
// Flags: those of the child. Derivative: exact, by dual numbers.
// MeqTrees: Arg.
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

struct ArgBody {
  template <class N>
  static auto apply(N x) {
    if constexpr (requires { x.im; })
      return arg(x);
    else
      return atan2(N(0), x);
  }
};

class Arg final : public ElementwiseNode<ArgBody, Numbers::any_to_real> {
 public:
  using ElementwiseNode::ElementwiseNode;
  static NodeClass info() {
    return {.name = "Arg",
            .summary = "Phase of complex numbers, from -pi to pi.",
            .formula = "arg x",
            .result = "dimensions of the child; real, rad; pi for negative real numbers; that of zero follows its sign",
            .reference = "MeqTrees Arg",
            .children = {
                {.label = "x", .shape = "scalar or tensor", .unit = "any", .doc = "argument, each element by itself"}}};
  }
};

RIMETREE_REGISTER_NODE(Arg);

}  // namespace rimetree
