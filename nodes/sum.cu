// Sum: sum of x over cells
//
// Children: x, one or more of equal dimensions and unit; several are added up together.
// State: reduction_axes (list of axes, default all), tensor_axis (default -1: none). A child that does not vary along
// a reduced axis counts once for each cell of it.
// Result: dimensions without tensor_axis, unit of the children.
// Flags: flagged cells are left out; the result is flagged (and 0) where nothing is left. Derivative: exact.
// MeqTrees: Sum; tensor_axis and several children are added here.
#include "runtime/cell/cell_reduction.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

struct SumBody {
  static constexpr bool kRealOnly = false;
  static constexpr bool kOfNothing = true;
  static constexpr bool kLinear = true;
  template <class N>
  RT_HD static void add(N& outcome, N value, std::size_t) {
    outcome += value;
  }
  template <class N>
  RT_HD static N finish(N outcome, std::size_t count) {
    (void)count;
    return outcome;
  }
};

class Sum final : public CellReduction<SumBody> {
 public:
  using CellReduction::CellReduction;
  static NodeClass info() {
    return {
        .name = "Sum",
        .algebra = Algebra::reduction,
        .summary = "Sum over cells, e.g. over time and freq; flagged cells are left out.",
        .formula = "sum of x over cells",
        .result =
            "dimensions of the children without tensor_axis, unit of the children; constant along the reduced axes",
        .reference = "MeqTrees Sum",
        .children = {{.label = "x",
                      .shape = "any",
                      .unit = "any",
                      .doc = "values, of equal dimensions if there are several children; flagged cells are left out",
                      .repeated = true}},
        .state = reduction_state("Several children are added up together"),
        .minimum_children = 1};
  }
};

RIMETREE_REGISTER_NODE(Sum);

}  // namespace rimetree
