// A plugin's class whose nodes differ in what its body knows: one batch, and yet to each its own.
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

struct TestPluginLineBody {
  double slope, offset;
  template <class In, class Out>
  void cell(const In& in, Out out) const {
    out[0] = slope * in(0) + typename In::Number(offset);
  }
};

class TestPluginLine final : public CellNode<TestPluginLine> {
 public:
  using CellNode::CellNode;
  static constexpr Numbers kNumbers = Numbers::same;
  static NodeClass info() {
    return {
        .name = "TestPluginLine",
        .summary = "slope x + offset.",
        .result = "scalar",
        .reference = "none",
        .children = {{.label = "x", .shape = "[]", .doc = "a number"}},
        .state = {
            {.name = "slope", .type = StateType::real, .default_value = 1.0, .doc = "of x", .per_node = true},
            {.name = "offset", .type = StateType::real, .default_value = 0.0, .doc = "at x = 0", .per_node = true}}};
  }
  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    if (!children[0]->is_scalar()) throw ShapeError("x is no scalar");
    return {};
  }
  TestPluginLineBody body() const { return {state().real("slope"), state().real("offset")}; }
};
RIMETREE_REGISTER_NODE(TestPluginLine);

}  // namespace rimetree

RIMETREE_PLUGIN("per_node");
