// Freq: nu, the centres of the cells along the freq axis
//
// Children: none. State: none. Result: scalar, real, varying along freq only; cell-centre frequencies in Hz.
// Flags: none. Derivative: none. MeqTrees: Freq.
#include <algorithm>

#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/node/node.h"

namespace rimetree {

class Freq final : public Node {
 public:
  using Node::Node;
  static NodeClass info() {
    return {.name = "Freq",
            .algebra = Algebra::frequency,
            .summary = "The cell-centre frequencies in Hz.",
            .formula = "nu",
            .result = "scalar, real, Hz; varies along freq",
            .reference = "MeqTrees Freq"};
  }
  TensorShape result_dims(std::span<const TensorShape* const>) const override { return {}; }
  NodeTraits own_traits() const override {
    return {.depends_on = kDomain,
            .varies_along = set_of(Axis::frequency),
            .is_function = true,
            .numbers = ResultNumbers::real};
  }

 protected:
  void evaluate(Evaluation& evaluation) const override {
    const std::vector<double>& centre = evaluation.cells().require(Axis::frequency).centre;
    CellShape shape;
    shape[Axis::frequency] = static_cast<std::int32_t>(centre.size());
    Vells value = evaluation.make(NumberType::real, shape);
    std::copy(centre.begin(), centre.end(), value.real());
    evaluation.set(std::move(value));
  }
};

RIMETREE_REGISTER_NODE(Freq);

}  // namespace rimetree
