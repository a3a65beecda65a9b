// Multiply: a * b * ...
//
// Children: any number of scalars or tensors of equal dimensions, any units. Unlike a term of Add, a missing factor
// makes the product missing: there is no number that it could stand for.
// State: none. Result: the dimensions of the children; complex if any child is.
// Flags: per element, flagged where any child is. Derivative: exact, by dual numbers.
// MeqTrees: Multiply.
#include "runtime/cell_node.h"
#include "runtime/plugin_api.h"

namespace rimetree {

struct MultiplyBody {
  template <class N>
  RT_HD static N apply(N a, N b) {
    return a * b;
  }
};

class Multiply final : public ElementwiseNode<MultiplyBody> {
 public:
  using ElementwiseNode::ElementwiseNode;
  static NodeClass info() {
    return {.name = "Multiply",
            .summary = "Product of its children, element by element (MatrixMultiply gives matrix products).",
            .formula = "a * b * ...",
            .result = "dimensions of the children, product of their units; complex if any child is",
            .reference = "MeqTrees Multiply",
            .children = {{.label = "factor",
                          .shape = "scalar or tensor",
                          .unit = "any",
                          .doc = "a scalar applies to all elements of a tensor; tensors must have equal dimensions",
                          .repeated = true}},
            .minimum_children = 1};
  }
};

RIMETREE_REGISTER_NODE(Multiply);

}  // namespace rimetree
