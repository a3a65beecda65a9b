// Matrix22: [[xx, xy], [yx, yy]]
//
// Children: xx, xy, yx, yy, scalars of one unit. State: none.
// Result: [2,2], unit of the children; complex if any child is.
// Flags: each element has those of its child. Derivative: exact. MeqTrees: Matrix22 (there a Composer).
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

struct Matrix22Body {
  template <class In, class Out>
  void cell(const In& in, Out out) const {
    for (std::size_t i = 0; i < 4; ++i) out[i] = in(i);
  }
};

class Matrix22 final : public CellNode<Matrix22> {
 public:
  using CellNode::CellNode;
  static constexpr Numbers kNumbers = Numbers::same;

  static NodeClass info() {
    const auto element = [](const char* label, const char* doc) {
      return ChildSpec{.label = label, .shape = "[]", .unit = "any", .doc = doc};
    };
    return {.name = "Matrix22",
            .algebra = Algebra::composition,
            .summary = "A 2x2 matrix of four scalars, e.g. a Jones matrix.",
            .formula = "[[xx, xy], [yx, yy]]",
            .result = "[2,2], unit of the children; complex if any child is",
            .reference = "MeqTrees Matrix22",
            .children = {element("xx", "first row, first column"), element("xy", "first row, second column"),
                         element("yx", "second row, first column"), element("yy", "second row, second column")}};
  }

  TensorShape result_dims(std::span<const TensorShape* const>) const override { return {2, 2}; }

  Matrix22Body body() const { return {}; }

  ZeroElements zero_elements(const Evaluation& evaluation) const override {
    ZeroElements zeros = 0;
    for (std::size_t i = 0; i < 4; ++i) zeros |= (evaluation.child(i).zeros & 1) << i;
    return zeros;
  }

  void combine_flags(Evaluation& evaluation) const override {
    Flags flags;
    for (std::size_t i = 0; i < 4; ++i) {
      if (evaluation.child(i).flags.empty()) continue;
      if (flags.empty()) flags = Flags(evaluation.pool, 4, flag_cells(evaluation));
      merge_flags(flags, i, evaluation.child(i).flags, 0, 1);
    }
    evaluation.set_flags(std::move(flags));
  }
};

RIMETREE_REGISTER_NODE(Matrix22);

}  // namespace rimetree
