// MatrixInvert22: [[d, -b], [-c, a]] / (a d - b c) of [[a, b], [c, d]]
//
// Child: x, [2,2] or stack [source,2,2]; of a scalar or stack of scalars [source] the reciprocal. State: none.
// Result: dimensions of the child, reciprocal unit, complex. A singular matrix gives infinities or NaN.
// Flags: a cell is flagged where any element is. Derivative: exact, by dual numbers. MeqTrees: MatrixInvert22.
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"
#include "runtime/math/jones.h"

namespace rimetree {

struct MatrixInvert22Body {
  TensorShape dims;

  std::size_t items() const { return dims.rank < 2 ? dims.size() : dims.size() / 4; }
  template <class In, class Out>
  void item(const In& in, std::size_t s, Out out) const {
    using T = typename In::Real;
    if (dims.rank < 2) {
      *out = Complex<T>(T(1)) / in(0, s);
      return;
    }
    const std::size_t e = 4 * s;
    const Jones<T> r = inverse(Jones<T>{in(0, e), in(0, e + 1), in(0, e + 2), in(0, e + 3)});
    out[0] = r.xx, out[1] = r.xy, out[2] = r.yx, out[3] = r.yy;
  }
};

class MatrixInvert22 final : public CellNode<MatrixInvert22> {
 public:
  using CellNode::CellNode;
  static constexpr Numbers kNumbers = Numbers::any_to_complex;

  static NodeClass info() {
    return {.name = "MatrixInvert22",
            .summary = "Inverse of a 2x2 matrix, of each matrix of a stack, or reciprocal of scalars.",
            .formula = "[[d, -b], [-c, a]] / (a d - b c)",
            .result = "dimensions of the child, reciprocal unit, complex; singular matrices give infinities or NaN",
            .reference = "Cramer's rule; MeqTrees MatrixInvert22",
            .children = {{.label = "x",
                          .shape = "[2,2], [source,2,2], [] or [source]",
                          .unit = "any",
                          .doc = "matrix or stack of matrices; of scalars [] and [source] the reciprocals"}}};
  }

  TensorShape result_dims(std::span<const TensorShape* const> children) const override { return *children[0]; }

  MatrixInvert22Body body() const { return {dims()}; }

  /// What is off the diagonal keeps its place: [[d, -b], [-c, a]].
  ZeroElements zero_elements(const Evaluation& evaluation) const override {
    constexpr ZeroElements kOffDiagonal = 0x6666666666666666;
    return dims().rank < 2 ? 0 : evaluation.child(0).zeros & kOffDiagonal;
  }
};

RIMETREE_REGISTER_NODE(MatrixInvert22);

}  // namespace rimetree
