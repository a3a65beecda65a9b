// Polar: ampl exp(i phase)
//
// Children: ampl (any unit) and phase (rad), real scalars or tensors of equal dimensions.
// State: none. Result: the dimensions of the children and the unit of ampl, complex.
// Flags: per element, flagged where any child is. Derivative: exact, by dual numbers.
// MeqTrees: Polar.
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

struct PolarBody {
  template <class N>
  static Complex<N> apply(N ampl, N phase) {
    return polar(ampl, phase);
  }
};

class Polar final : public ElementwiseNode<PolarBody, Numbers::real_to_complex> {
 public:
  using ElementwiseNode::ElementwiseNode;
  static NodeClass info() {
    return {
        .name = "Polar",
        .algebra = Algebra::polar_number,
        .summary = "Complex numbers from amplitudes and phases.",
        .formula = "ampl exp(i phase)",
        .result = "dimensions of the children, unit of ampl; complex",
        .reference = "MeqTrees Polar",
        .children = {
            {.label = "ampl", .shape = "scalar or tensor", .unit = "any", .doc = "amplitude, real"},
            {.label = "phase",
             .shape = "scalar or tensor",
             .unit = "rad",
             .doc = "phase, real; a scalar applies to all elements of a tensor; tensors must have equal dimensions"}}};
  }
};

RIMETREE_REGISTER_NODE(Polar);

}  // namespace rimetree
