// A plugin as it should be: one class, and something to say about itself.
#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/node/node.h"

namespace rimetree {

class TestPluginSeven final : public Node {
 public:
  using Node::Node;
  static NodeClass info() {
    return {.name = "TestPluginSeven", .summary = "The number seven.", .result = "scalar", .reference = "none"};
  }
  TensorShape result_dims(std::span<const TensorShape* const>) const override { return {}; }

 protected:
  void evaluate(Evaluation& evaluation) const override {
    Vells value = evaluation.make(NumberType::real, {});
    value.real()[0] = 7;
    evaluation.set(std::move(value));
  }
};

RIMETREE_REGISTER_NODE(TestPluginSeven);

}  // namespace rimetree

namespace {
std::string about() { return "made for tests"; }
}  // namespace

RIMETREE_PLUGIN("good", &about);
