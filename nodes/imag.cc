// Imag: Im x
//
// Child: x, scalar or tensor, in any unit.
// State: none. Result: dimensions of the child; real; unit of the child.
// Flags: those of the child. Derivative: exact, by dual numbers.
// MeqTrees: Imag.
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

struct ImagBody {
  template <class N>
  static auto apply(N x) {
    if constexpr (requires { x.im; })
      return x.im;
    else
      return N(0);
  }
};

class Imag final : public ElementwiseNode<ImagBody, Numbers::any_to_real> {
 public:
  using ElementwiseNode::ElementwiseNode;
  static NodeClass info() {
    return {.name = "Imag",
            .algebra = Algebra::imaginary_part,
            .summary = "Imaginary part; 0 for real numbers.",
            .formula = "Im x",
            .result = "dimensions of the child; real; unit of the child",
            .reference = "MeqTrees Imag",
            .children = {
                {.label = "x", .shape = "scalar or tensor", .unit = "any", .doc = "argument, each element by itself"}}};
  }
};

RIMETREE_REGISTER_NODE(Imag);

}  // namespace rimetree
