// Mean: mean of x over cells
//
// Children: x, one or more of equal dimensions and unit; the values of several go into one mean.
// State: reduction_axes (list of axes, default all), tensor_axis (default -1: none).
// Result: dimensions without tensor_axis, unit of the children.
// Flags: flagged cells are left out; the result is flagged (and 0) where nothing is left. Missing if
// there is nothing to begin with (tensor_axis of length 0). Derivative: exact.
// MeqTrees: Mean; tensor_axis and several children are added here.
#include "runtime/cell/cell_reduction.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

struct MeanBody {
  static constexpr bool kRealOnly = false;
  static constexpr bool kOfNothing = false;
  static constexpr bool kLinear = true;
  template <class N>
  RT_HD static void add(N& outcome, N value, std::size_t) {
    outcome += value;
  }
  template <class N>
  RT_HD static N finish(N outcome, std::size_t count) {
    return outcome / N(typename cell_detail::NumberTraits<N>::Real(static_cast<double>(count)));
  }
};

class Mean final : public CellReduction<MeanBody> {
 public:
  using CellReduction::CellReduction;
  static NodeClass info() {
    return {
        .name = "Mean",
        .summary = "Mean over cells, e.g. over time and freq; flagged cells are left out.",
        .formula = "mean of x over cells",
        .result =
            "dimensions of the children without tensor_axis, unit of the children; constant along the reduced axes",
        .reference = "MeqTrees Mean",
        .children = {{.label = "x",
                      .shape = "any",
                      .unit = "any",
                      .doc = "values, of equal dimensions if there are several children; flagged cells are left out",
                      .repeated = true}},
        .state = reduction_state("The values of several children go into one mean"),
        .minimum_children = 1};
  }
};

RIMETREE_REGISTER_NODE(Mean);

}  // namespace rimetree
