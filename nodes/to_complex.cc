// ToComplex: re + i im
//
// Children: re and im, real scalars or tensors of equal dimensions, of the same unit.
// State: none. Result: the dimensions and unit of the children, complex.
// Flags: per element, flagged where any child is. Derivative: exact, by dual numbers.
// MeqTrees: ToComplex.
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

struct ToComplexBody {
  template <class N>
  static Complex<N> apply(N re, N im) {
    return Complex<N>(re, im);
  }
};

class ToComplex final : public ElementwiseNode<ToComplexBody, Numbers::real_to_complex> {
 public:
  using ElementwiseNode::ElementwiseNode;
  static NodeClass info() {
    return {
        .name = "ToComplex",
        .algebra = Algebra::complex_number,
        .summary = "Complex numbers from real and imaginary parts.",
        .formula = "re + i im",
        .result = "dimensions and unit of the children; complex",
        .reference = "MeqTrees ToComplex",
        .children = {
            {.label = "re", .shape = "scalar or tensor", .unit = "any", .doc = "real part"},
            {.label = "im",
             .shape = "scalar or tensor",
             .unit = "that of re",
             .doc =
                 "imaginary part; a scalar applies to all elements of a tensor; tensors must have equal dimensions"}}};
  }
};

RIMETREE_REGISTER_NODE(ToComplex);

}  // namespace rimetree
