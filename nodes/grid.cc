// Grid: the centres of the cells along any axis, or their widths
//
// Children: none. State: axis (string: time, freq, l or m), width (default false: centres).
// Result: scalar, real, varying along that axis only; s of MJD (UTC), Hz, or direction cosines.
// Flags: none. Derivative: none. MeqTrees: Grid.
#include <algorithm>

#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/node/node.h"

namespace rimetree {

class Grid final : public Node {
 public:
  explicit Grid(const State& state)
      : Node(state), axis_(axis_from_name(state.text("axis"))), widths_(state.boolean("width")) {}
  static NodeClass info() {
    return {.name = "Grid",
            .summary = "The centres of the cells along an axis of the request, or their widths.",
            .result =
                "scalar, real; varies along the axis; seconds of MJD (UTC) for time (of widths: s), Hz for freq, "
                "direction cosines for l and m",
            .reference = "MeqTrees Grid",
            .state = {{.name = "axis", .type = StateType::text, .doc = "time, freq, l or m"},
                      {.name = "width",
                       .type = StateType::boolean,
                       .default_value = false,
                       .doc = "gives the widths of the cells, in time the longest EXPOSURE of a slot"}}};
  }
  TensorShape result_dims(std::span<const TensorShape* const>) const override { return {}; }
  NodeTraits own_traits() const override {
    return {.depends_on = kDomain, .varies_along = set_of(axis_), .is_function = true, .numbers = ResultNumbers::real};
  }

 protected:
  void evaluate(Evaluation& evaluation) const override {
    const AxisGrid& grid = evaluation.cells().require(axis_);
    const std::vector<double>& numbers = widths_ ? grid.width : grid.centre;
    CellShape shape;
    shape[axis_] = static_cast<std::int32_t>(numbers.size());
    Vells value = evaluation.make(NumberType::real, shape);
    std::copy(numbers.begin(), numbers.end(), value.real());
    evaluation.set(std::move(value));
  }

 private:
  Axis axis_;
  bool widths_;
};

RIMETREE_REGISTER_NODE(Grid);

}  // namespace rimetree
