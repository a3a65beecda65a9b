// Add: a + b + ...
//
// Children: any number of scalars or tensors of equal dimensions, any unit; a missing child is left out.
// State: none. Result: the children's dimensions and unit; complex if any child is.
// Flags: per element, flagged where any child is. Derivative: exact, by dual numbers.
// MeqTrees: Add.
#include "runtime/cell_node.h"
#include "runtime/plugin_api.h"

namespace rimetree {

struct AddBody {
  template <class N>
  RT_HD static N apply(N a, N b) {
    return a + b;
  }
};

class Add final : public ElementwiseNode<AddBody> {
 public:
  using ElementwiseNode::ElementwiseNode;
  static NodeClass info() {
    return {.name = "Add",
            .summary = "Sum of its children, element by element.",
            .formula = "a + b + ...",
            .result = "dimensions and unit of the children; complex if any child is",
            .reference = "MeqTrees Add",
            .children =
                {{.label = "term", .shape = "any", .doc = "scalars or tensors of equal dimensions", .repeated = true}},
            .minimum_children = 1};
  }
  bool skips_missing() const override { return true; }
  bool is_sum() const override { return true; }
};

RIMETREE_REGISTER_NODE(Add);

}  // namespace rimetree
