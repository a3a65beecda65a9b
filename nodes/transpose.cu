// Transpose: the last two dimensions exchanged, A[..,i,j] -> A[..,j,i]; with conj the conjugate transpose A^H
//
// Child: x, matrix [n,m] or stack [source,n,m]; of a scalar or stack of scalars [source] only the numbers change.
// State: conj (default false). Result: [m,n] or [source,m,n], unit and type of the child.
// Flags: they stay with their element. Derivative: exact. MeqTrees: Transpose.
#include "runtime/cell_node.h"
#include "runtime/plugin_api.h"

namespace rimetree {

struct TransposeBody {
  TensorShape dims;
  bool conjugate;

  template <class In, class Out>
  RT_HD void cell(const In& in, Out out) const {
    const std::size_t elements = dims.size();
    for (std::size_t e = 0; e < elements; ++e) {
      const auto x = in(0, source_of(e));
      if constexpr (requires { x.im; })
        out[e] = conjugate ? conj(x) : x;
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

class Transpose final : public CellNode<Transpose> {
 public:
  explicit Transpose(const State& state) : CellNode(state), conjugate_(state.boolean("conj")) {}
  static constexpr Numbers kNumbers = Numbers::same;

  static NodeClass info() {
    return {.name = "Transpose",
            .summary = "Transpose of a matrix or of each matrix of a stack, with conj the conjugate transpose.",
            .formula = "A^T, with conj A^H",
            .result = "[m,n] or [source,m,n], unit and type of the child",
            .reference = "MeqTrees Transpose",
            .children = {{.label = "x",
                          .shape = "[n,m] or [source,n,m]",
                          .unit = "any",
                          .doc = "matrix or stack of matrices; of scalars [] and [source] only the numbers are "
                                 "conjugated"}},
            .state = {{.name = "conj",
                       .type = StateType::boolean,
                       .default_value = false,
                       .doc = "whether to conjugate as well"}}};
  }

  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    TensorShape dims = *children[0];
    if (dims.rank >= 2) std::swap(dims.extent[dims.rank - 1], dims.extent[dims.rank - 2]);
    return dims;
  }

  TransposeBody body() const { return {dims(), conjugate_}; }

  void combine_flags(Evaluation& evaluation) const override {
    const Flags& of_child = evaluation.child(0).flags;
    if (of_child.planes() < 2) return;  // the default rule gives the same
    Flags flags(evaluation.pool, dims().size(), of_child.cells());
    for (std::size_t e = 0; e < dims().size(); ++e) merge_flags(flags, e, of_child, body().source_of(e), 1);
    evaluation.set_flags(std::move(flags));
  }

 private:
  bool conjugate_;
};

RIMETREE_REGISTER_NODE(Transpose);

}  // namespace rimetree
