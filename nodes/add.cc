// Add: a + b + ...
//
// Children: any number of scalars or tensors of equal dimensions, any unit; a missing child is left out.
// State: none. Result: the children's dimensions and unit; complex if any child is.
// Flags: per element, flagged where any child is. Derivative: exact, by dual numbers.
// MeqTrees: Add.
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

struct AddBody {
  static constexpr bool kKeepsZero = true;
  template <class N>
  static N apply(N a, N b) {
    return a + b;
  }
};

class Add final : public ElementwiseNode<AddBody> {
 public:
  using ElementwiseNode::ElementwiseNode;
  static NodeClass info() {
    return {.name = "Add",
            .algebra = Algebra::sum,
            .summary = "Sum of its children, element by element.",
            .formula = "a + b + ...",
            .result = "dimensions and unit of the children; complex if any child is",
            .reference = "MeqTrees Add",
            .children =
                {{.label = "term", .shape = "any", .doc = "scalars or tensors of equal dimensions", .repeated = true}},
            .minimum_children = 1};
  }
  NodeTraits own_traits() const override {
    NodeTraits traits = ElementwiseNode::own_traits();
    traits.skips_missing = true;
    return traits;
  }

  /// A sum passes its adjoint on as it is, unless a child is spread over cells or is real where the sum is complex.
  void pull_back(PullBack& pull) const override {
    const auto like_the_sum = [&](const Vells* child) {
      return child == nullptr || (child->type() == pull.adjoint.type() && child->dims() == pull.adjoint.dims() &&
                                  child->cells() == pull.adjoint.cells());
    };
    const std::size_t n = pull.inputs.children().size();
    for (std::size_t slot = 0; slot < n; ++slot)
      if (!like_the_sum(pull.child(slot))) return ElementwiseNode::pull_back(pull);
    for (std::size_t slot = 0; slot < n; ++slot) pull.pass_on(slot);
  }
};

RIMETREE_REGISTER_NODE(Add);

}  // namespace rimetree
