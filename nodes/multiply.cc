// Multiply: a * b * ...
//
// Children: any number of scalars or tensors of equal dimensions, any units. Unlike a term of Add, a missing factor
// makes the product missing: there is no number that it could stand for.
// State: none. Result: the dimensions of the children; complex if any child is.
// Flags: per element, flagged where any child is. Derivative: exact.
// MeqTrees: Multiply.
#include <algorithm>

#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/node/review.h"

namespace rimetree {

struct MultiplyBody {
  template <class N>
  static N apply(N a, N b) {
    return a * b;
  }
};

class Multiply final : public ElementwiseNode<MultiplyBody>, public Reviewer {
 public:
  using ElementwiseNode::ElementwiseNode;
  static NodeClass info() {
    return {.name = "Multiply",
            .algebra = Algebra::product,
            .summary = "Product of its children, element by element (MatrixMultiply gives matrix products).",
            .formula = "a * b * ...",
            .result = "dimensions of the children, product of their units; complex if any child is",
            .reference = "MeqTrees Multiply",
            .children = {{.label = "factor",
                          .shape = "scalar or tensor",
                          .unit = "any",
                          .doc = "a scalar applies to all elements of a tensor; tensors must have equal dimensions",
                          .repeated = true}},
            .state = {{.name = "elementwise",
                       .type = StateType::boolean,
                       .default_value = false,
                       .doc = "says that 2x2 matrices are meant to be multiplied element by element: there is no "
                              "warning then"}},
            .minimum_children = 1};
  }

  ZeroElements zero_elements(const Evaluation& evaluation) const override {
    ZeroElements zeros = 0;
    for (const Result* child : evaluation.children())
      zeros |= child->value.dims().is_scalar() && child->zeros != 0 ? first_elements(dims().size()) : child->zeros;
    return zeros;
  }

  Capabilities capabilities() const override {
    Capabilities capabilities = ElementwiseNode::capabilities();
    capabilities.reviewer = this;
    return capabilities;
  }
  void review(const Review& review) const override {
    const auto is_matrix = [](const TensorShape* dims) {
      return dims->rank >= 2 && (*dims)[dims->rank - 1] == 2 && (*dims)[dims->rank - 2] == 2;
    };
    if (!state().boolean("elementwise") && std::count_if(review.dims.begin(), review.dims.end(), is_matrix) > 1)
      review.warn(
          "multiplies 2x2 matrices element by element; the product of matrices is a @ b (MatrixMultiply). If "
          "it is meant so, write rt.Multiply(a, b, elementwise=True)");
  }
};

RIMETREE_REGISTER_NODE(Multiply);

}  // namespace rimetree
