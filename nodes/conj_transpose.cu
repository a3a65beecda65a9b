// ConjTranspose: A^H, the last two dimensions exchanged and every element conjugated
//
// Child: x, matrix [n,m] or stack [source,n,m]; a scalar or stack of scalars [source] is conjugated. State: none.
// Result: [m,n] or [source,m,n], unit and type of the child.
// Flags: they stay with their element. Derivative: exact. MeqTrees: ConjTranspose, its name for Transpose(conj=True).
#include "runtime/cell_node.h"
#include "runtime/plugin_api.h"

namespace rimetree {

struct ConjTransposeBody {
  TensorShape dims;

  template <class In, class Out>
  RT_HD void cell(const In& in, Out out) const {
    const std::size_t elements = dims.size();
    for (std::size_t e = 0; e < elements; ++e) {
      const auto x = in(0, source_of(e));
      if constexpr (requires { x.im; })
        out[e] = conj(x);
      else
        out[e] = x;
    }
  }
  /// The child's element that becomes element e.
  RT_HD std::size_t source_of(std::size_t e) const {
    const int rank = dims.rank;
    if (rank < 2) return e;
    const auto rows = static_cast<std::size_t>(dims[rank - 2]), columns = static_cast<std::size_t>(dims[rank - 1]);
    const std::size_t matrix = e / (rows * columns), i = e / columns % rows, j = e % columns;
    return matrix * rows * columns + j * rows + i;
  }
};

class ConjTranspose final : public CellNode<ConjTranspose> {
 public:
  using CellNode::CellNode;
  static constexpr Numbers kNumbers = Numbers::same;

  static NodeClass info() {
    return {.name = "ConjTranspose",
            .summary = "Conjugate transpose of a matrix, of each matrix of a stack, or conjugate of scalars.",
            .formula = "A^H",
            .result = "[m,n] or [source,m,n], unit and type of the child",
            .reference = "MeqTrees ConjTranspose",
            .children = {{.label = "x",
                          .shape = "[n,m] or [source,n,m]",
                          .unit = "any",
                          .doc = "matrix or stack of matrices; scalars [] and [source] are conjugated"}}};
  }

  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    TensorShape dims = *children[0];
    if (dims.rank >= 2) std::swap(dims.extent[dims.rank - 1], dims.extent[dims.rank - 2]);
    return dims;
  }

  ConjTransposeBody body() const { return {dims()}; }

  /// Adjoints go back to where their elements came from, conjugated.
  void pull_back(PullBack& pull) const override {
    if (pull.child(0) == nullptr) return;
    const std::size_t plane = pull.adjoint.cells_per_element();
    for (std::size_t e = 0; e < dims().size(); ++e)
      for (std::size_t i = 0, to = body().source_of(e) * plane; i < plane; ++i)
        pull.add(0, to + i, conj(pull.adjoint.at(e, i)));
  }

  void combine_flags(Evaluation& evaluation) const override {
    const Flags& of_child = evaluation.child(0).flags;
    if (of_child.planes() < 2) return;  // the default rule gives the same
    Flags flags(evaluation.pool, dims().size(), of_child.cells());
    for (std::size_t e = 0; e < dims().size(); ++e) merge_flags(flags, e, of_child, body().source_of(e), 1);
    evaluation.set_flags(std::move(flags));
  }
};

RIMETREE_REGISTER_NODE(ConjTranspose);

}  // namespace rimetree
