// ConjTranspose: A^H, the last two dimensions exchanged and every element conjugated
//
// Child: x, matrix [n,m] or stack [source,n,m]; a scalar or stack of scalars [source] is conjugated. State: none.
// Result: [m,n] or [source,m,n], unit and type of the child.
// Flags: they stay with their element. Derivative: exact. MeqTrees: ConjTranspose, its name for Transpose(conj=True).
#include "runtime/cell/transposition.h"
#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/values/pull_back.h"

namespace rimetree {

class ConjTranspose final : public Transposition<ConjTranspose> {
 public:
  using Transposition::Transposition;

  static NodeClass info() {
    return {.name = "ConjTranspose",
            .algebra = Algebra::conjugate_transpose,
            .summary = "Conjugate transpose of a matrix, of each matrix of a stack, or conjugate of scalars.",
            .formula = "A^H",
            .result = "[m,n] or [source,m,n], unit and type of the child",
            .reference = "MeqTrees ConjTranspose",
            .children = {{.label = "x",
                          .shape = "any: [n,m], [source,n,m], ..",
                          .unit = "any",
                          .doc = "matrix or stack of matrices; scalars [] and [source] are conjugated"}}};
  }

  bool conjugates() const { return true; }

  /// On its own it writes nothing: PSV reads the matrices themselves, others have them transposed when they read.
  void evaluate(Evaluation& evaluation) const override {
    const Result& x = evaluation.child(0);
    evaluation.set(Vells::conjugate_transpose(evaluation.pool, x.value));
    for (const Derivative& derivative : x.derivatives)
      evaluation.add(derivative.parameter, Vells::conjugate_transpose(evaluation.pool, derivative.value));
    complete(evaluation);
  }
  bool does_nothing_else() const override { return true; }

  void pull_back(PullBack& pull) const override {
    Vells* x = pull.child(0);
    if (x == nullptr) return;
    const std::size_t plane = x->cells_per_element() * (x->is_complex() ? 2 : 1);
    const auto* from = static_cast<const double*>(pull.adjoint.host());
    double* all = x->is_complex() ? &x->complex()->re : x->real();
    const double sign_of_im = x->is_complex() ? -1 : 1;
    for (std::size_t e = 0; e < dims().size(); ++e, from += plane) {
      double* to = all + dims().transposed(e) * plane;
      for (std::size_t i = 0; i + 1 < plane; i += 2) to[i] += from[i], to[i + 1] += sign_of_im * from[i + 1];
      if (plane % 2 != 0) to[plane - 1] += from[plane - 1];
    }
  }
};

RIMETREE_REGISTER_NODE(ConjTranspose);

}  // namespace rimetree
