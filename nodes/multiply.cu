// Multiply: a * b * ...
//
// Children: any number of scalars or tensors of equal dimensions, any units. Unlike a term of Add, a missing factor
// makes the product missing: there is no number that it could stand for.
// State: none. Result: the dimensions of the children; complex if any child is.
// Flags: per element, flagged where any child is. Derivative: exact, by dual numbers; adjoints by the product rule.
// MeqTrees: Multiply.
#include <algorithm>

#include "runtime/cell/cell_node.h"
#include "runtime/core/plugin_api.h"
#include "runtime/core/review.h"

namespace rimetree {

struct MultiplyBody {
  template <class N>
  RT_HD static N apply(N a, N b) {
    return a * b;
  }
};

class Multiply final : public ElementwiseNode<MultiplyBody>, public Reviewer {
 public:
  using ElementwiseNode::ElementwiseNode;
  static NodeClass info() {
    return {.name = "Multiply",
            .algebra = Algebra::product,
            .summary = "Product of its children, element by element (MatrixMultiply gives matrix products).",
            .formula = "a * b * ...",
            .result = "dimensions of the children, product of their units; complex if any child is",
            .reference = "MeqTrees Multiply",
            .children = {{.label = "factor",
                          .shape = "scalar or tensor",
                          .unit = "any",
                          .doc = "a scalar applies to all elements of a tensor; tensors must have equal dimensions",
                          .repeated = true}},
            .state = {{.name = "elementwise",
                       .type = StateType::boolean,
                       .default_value = false,
                       .doc = "says that 2x2 matrices are meant to be multiplied element by element: there is no "
                              "warning then"}},
            .minimum_children = 1};
  }

  Capabilities capabilities() const override {
    Capabilities capabilities = ElementwiseNode::capabilities();
    capabilities.reviewer = this;
    return capabilities;
  }
  void review(const Review& review) const override {
    const auto is_matrix = [](const TensorShape* dims) {
      return dims->rank >= 2 && (*dims)[dims->rank - 1] == 2 && (*dims)[dims->rank - 2] == 2;
    };
    if (!state().boolean("elementwise") && std::count_if(review.dims.begin(), review.dims.end(), is_matrix) > 1)
      review.warn(
          "multiplies 2x2 matrices element by element; the product of matrices is a @ b (MatrixMultiply). If "
          "it is meant so, write rt.Multiply(a, b, elementwise=True)");
  }

 protected:
  /// Each factor's adjoint is the result's times the conjugate of all others.
  void pull_back(PullBack& pull) const override {
    with_numbers(pull.inputs, [&]<class N, class Out>(Choice<N, Out>) {
      for_each_pulled_cell<N>(pull, [&](const CellInput<N>& in, std::size_t cell) { pull_cell(pull, in, cell); });
    });
  }

 private:
  static double conjugate(double x) { return x; }
  static Complex<double> conjugate(Complex<double> z) { return conj(z); }

  template <class N>
  void pull_cell(const PullBack& pull, const CellInput<N>& in, std::size_t cell) const {
    const std::size_t n = in.n_children();
    for (std::size_t e = 0; e < dims().size(); ++e) {
      const Complex<double> adjoint = pull.adjoint.at(e, cell);
      if (adjoint == Complex<double>()) continue;
      const auto element = [&](std::size_t child) { return in.dims(child).is_scalar() ? 0 : e; };
      for (std::size_t i = 0; i < n; ++i) {
        if (pull.child(i) == nullptr) continue;
        Complex<double> slope = adjoint;
        for (std::size_t other = 0; other < n; ++other)
          if (other != i) slope = slope * conjugate(in(other, element(other)));
        pull.add(i, in.at(i, element(i)), slope);
      }
    }
  }
};

RIMETREE_REGISTER_NODE(Multiply);

}  // namespace rimetree
