// Transpose: the last two dimensions exchanged, A[..,i,j] -> A[..,j,i]; with conj the conjugate transpose A^H
//
// Child: x, matrix [n,m] or stack [source,n,m]; of a scalar or stack of scalars [source] only the numbers change.
// State: conj (default false). Result: [m,n] or [source,m,n], unit and type of the child.
// Flags: they stay with their element. Derivative: exact. MeqTrees: Transpose.
#include "runtime/cell/transposition.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

class Transpose final : public Transposition<Transpose> {
 public:
  explicit Transpose(const State& state) : Transposition(state), conjugate_(state.boolean("conj")) {}

  static NodeClass info() {
    return {.name = "Transpose",
            .algebra = Algebra::transpose,
            .summary = "Transpose of a matrix or of each matrix of a stack, with conj the conjugate transpose.",
            .formula = "A^T, with conj A^H",
            .result = "[m,n] or [source,m,n], unit and type of the child",
            .reference = "MeqTrees Transpose",
            .children = {{.label = "x",
                          .shape = "any: [n,m], [source,n,m], ..",
                          .unit = "any",
                          .doc = "matrix or stack of matrices; of scalars [] and [source] only the numbers are "
                                 "conjugated"}},
            .state = {{.name = "conj",
                       .type = StateType::boolean,
                       .default_value = false,
                       .doc = "whether to conjugate as well"}}};
  }

  bool conjugates() const { return conjugate_; }

 private:
  bool conjugate_;
};

RIMETREE_REGISTER_NODE(Transpose);

}  // namespace rimetree
