// Min: smallest of x
//
// Children: x, one or more, real, of equal dimensions and unit.
// State: reduction_axes (list of axes, default all; only for a single child), tensor_axis (default -1: none).
// Result: of one child the smallest value over the reduced axes; of several the smallest of them, cell by cell;
// dimensions without tensor_axis, real, unit of the children.
// Flags: flagged cells are left out; the result is flagged (and 0) where nothing is left. Missing if
// there is nothing to begin with (tensor_axis of length 0). Not-a-number wins over
// numbers. Derivative: that of the chosen value.
// MeqTrees: Min.
#include "runtime/cell/cell_reduction.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

struct MinBody {
  static constexpr bool kRealOnly = true;
  static constexpr bool kOfNothing = false;
  static constexpr bool kLinear = false;
  template <class N>
  RT_HD static void add(N& outcome, N value, std::size_t count) {
    if (count == 0 || value < outcome || !(value == value)) outcome = value;  // not-a-number stays
  }
  template <class N>
  RT_HD static N finish(N outcome, std::size_t) {
    return outcome;
  }
};

class Min final : public CellReduction<MinBody> {
 public:
  using CellReduction::CellReduction;
  static NodeClass info() {
    return {
        .name = "Min",
        .summary = "Smallest value: of one child over cells, or of several children on each cell.",
        .formula = "smallest of x",
        .result = "dimensions of the children without tensor_axis, real, unit of the children",
        .reference = "MeqTrees Min",
        .children = {{.label = "x",
                      .shape = "any",
                      .unit = "any",
                      .doc = "values, of equal dimensions if there are several children; flagged cells are left out",
                      .repeated = true}},
        .state =
            reduction_state("With several children no axis is reduced: the smallest of them is taken on each cell"),
        .minimum_children = 1};
  }

 protected:
  bool reduces(Axis axis, std::size_t children) const override {
    return children == 1 && CellReduction::reduces(axis, children);
  }
};

RIMETREE_REGISTER_NODE(Min);

}  // namespace rimetree
