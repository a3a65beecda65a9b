// Identity: x
//
// Child: x, any shape and unit. State: none. Result, flags, derivatives and a residual's weights: those of the child,
// unchanged and shared, not copied. MeqTrees: Identity.
#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/node/node.h"
#include "runtime/core/values/pull_back.h"

namespace rimetree {

class Identity final : public Node {
 public:
  using Node::Node;
  static NodeClass info() {
    return {.name = "Identity",
            .algebra = Algebra::identity,
            .summary = "Its child, unchanged; gives an expression a name of its own.",
            .formula = "x",
            .result = "as the child",
            .reference = "MeqTrees Identity",
            .children = {{.label = "x", .shape = "any", .unit = "any", .doc = "what is passed on"}}};
  }
  TensorShape result_dims(std::span<const TensorShape* const> children) const override { return *children[0]; }
  NodeTraits own_traits() const override {
    return {.mixed_axes = kNoAxes, .is_function = true, .reads_no_values = true, .numbers = ResultNumbers::of_children};
  }
  ZeroElements zero_elements(const Evaluation& evaluation) const override { return evaluation.child(0).zeros; }

 protected:
  void evaluate(Evaluation& evaluation) const override {
    evaluation.set(evaluation.child(0).value);
    for (const Derivative& derivative : evaluation.child(0).derivatives)
      evaluation.add(derivative.parameter, derivative.value);
    evaluation.set_flags(evaluation.child(0).flags);
    evaluation.result.weight = evaluation.child(0).weight;
  }
  void pull_back(PullBack& pull) const override { pull.pass_on(0); }
};

RIMETREE_REGISTER_NODE(Identity);

}  // namespace rimetree
