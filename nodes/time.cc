// Time: t, the centres of the cells along the time axis
//
// Children: none. State: none. Result: scalar, real, varying along time only; cell-centre times as MJD in seconds
// (UTC). Flags: none. Derivative: none. MeqTrees: Time.
#include <algorithm>

#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/node/node.h"

namespace rimetree {

class Time final : public Node {
 public:
  using Node::Node;
  static NodeClass info() {
    return {.name = "Time",
            .summary = "The cell-centre times as MJD in seconds (UTC).",
            .formula = "t",
            .result = "scalar, real, s; varies along time",
            .reference = "MeqTrees Time"};
  }
  TensorShape result_dims(std::span<const TensorShape* const>) const override { return {}; }
  NodeTraits own_traits() const override {
    return {
        .depends_on = kDomain, .varies_along = set_of(Axis::time), .is_function = true, .numbers = ResultNumbers::real};
  }

 protected:
  void evaluate(Evaluation& evaluation) const override {
    const std::vector<double>& centre = evaluation.cells().require(Axis::time).centre;
    CellShape shape;
    shape[Axis::time] = static_cast<std::int32_t>(centre.size());
    Vells value = evaluation.make(NumberType::real, shape);
    std::copy(centre.begin(), centre.end(), value.real());
    evaluation.set(std::move(value));
  }
};

RIMETREE_REGISTER_NODE(Time);

}  // namespace rimetree
