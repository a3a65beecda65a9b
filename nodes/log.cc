// Log: ln x
//
// Child: x, scalar or tensor, in dimensionless.
// State: none. Result: dimensions of the child; real for a real child, complex for a complex one; dimensionless; zero
// gives -infinity, a negative real number NaN.
// Flags: those of the child. Derivative: exact, by dual numbers.
// MeqTrees: Log.
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

struct LogBody {
  template <class N>
  static N apply(N x) {
    return log(x);
  }
};

class Log final : public ElementwiseNode<LogBody> {
 public:
  using ElementwiseNode::ElementwiseNode;
  static NodeClass info() {
    return {.name = "Log",
            .summary = "Natural logarithm.",
            .formula = "ln x",
            .result =
                "dimensions of the child; real for a real child, complex for a complex one; dimensionless; zero gives "
                "-infinity, a negative real number NaN",
            .reference = "MeqTrees Log",
            .children = {{.label = "x",
                          .shape = "scalar or tensor",
                          .unit = "dimensionless",
                          .doc = "argument, each element by itself"}}};
  }
};

RIMETREE_REGISTER_NODE(Log);

}  // namespace rimetree
