// A plugin with a class whose name another one has already, and one of its own, which it registers twice.
#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/node/node.h"

namespace rimetree {

class TestPluginSeven final : public Node {
 public:
  using Node::Node;
  static NodeClass info() {
    return {.name = "TestPluginSeven", .summary = "Not seven.", .result = "scalar", .reference = "none"};
  }
  TensorShape result_dims(std::span<const TensorShape* const>) const override { return {}; }

 protected:
  void evaluate(Evaluation& evaluation) const override { evaluation.set_missing(); }
};

class TestPluginEight final : public Node {
 public:
  using Node::Node;
  static NodeClass info() {
    return {.name = "TestPluginEight", .summary = "Eight.", .result = "scalar", .reference = "none"};
  }
  TensorShape result_dims(std::span<const TensorShape* const>) const override { return {}; }

 protected:
  void evaluate(Evaluation& evaluation) const override { evaluation.set_missing(); }
};

RIMETREE_REGISTER_NODE(TestPluginSeven);
RIMETREE_REGISTER_NODE(TestPluginEight);
namespace again {
RIMETREE_REGISTER_NODE(TestPluginEight);
}

}  // namespace rimetree

RIMETREE_PLUGIN("clashing");
