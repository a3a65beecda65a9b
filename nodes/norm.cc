// Norm: sqrt(sum_e |x_e|^2) over the elements of the tensor (Frobenius norm)
//
// Child: x, any dimensions and unit. State: none. Result: scalar, real, unit of the child.
// Flags: union. Derivative: exact, by dual numbers; 0 where the norm is 0. MeqTrees: Norm.
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

struct NormBody {
  template <class In, class Out>
  void cell(const In& in, Out out) const {
    using Real = typename In::Real;
    Real norm = Real(0);  // hypot neither overflows nor loses its derivative at 0
    for (std::size_t e = 0; e < in.dims(0).size(); ++e) norm = hypot(norm, Real(abs(in(0, e))));
    out[0] = norm;
  }
};

class Norm final : public CellNode<Norm> {
 public:
  using CellNode::CellNode;
  static constexpr Numbers kNumbers = Numbers::any_to_real;

  static NodeClass info() {
    return {.name = "Norm",
            .summary = "Frobenius norm of a tensor, on each cell.",
            .formula = "sqrt(sum |x|^2 over elements)",
            .result = "scalar, real, unit of the child",
            .reference = "MeqTrees Norm",
            .children = {{.label = "x", .shape = "any", .unit = "any", .doc = "vector, matrix or any tensor"}}};
  }
  TensorShape result_dims(std::span<const TensorShape* const>) const override { return {}; }
  NormBody body() const { return {}; }
};

RIMETREE_REGISTER_NODE(Norm);

}  // namespace rimetree
