// VisDataMux: the root of a tree that is run over a Measurement Set
//
// Children: pre and post (optional, any shape), sinks (any number). For each time-slot group the driver evaluates pre,
// then the sinks, then post. State: none.
// Result: scalar: the number of sinks that wrote something. Missing sinks (baselines without data) do not count.
// Flags: none. Derivative: none. MeqTrees: VisDataMux.
#include <algorithm>

#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/error.h"
#include "runtime/core/node/node.h"
#include "runtime/core/values/pull_back.h"

namespace rimetree {

class VisDataMux final : public Node, public RunStages {
 public:
  using Node::Node;
  static NodeClass info() {
    return {.name = "VisDataMux",
            .summary = "Gathers the Sinks of a tree that is run over a Measurement Set.",
            .result = "scalar: number of sinks that wrote",
            .reference = "MeqTrees VisDataMux",
            .children = {{.label = "pre",
                          .shape = "any",
                          .unit = "any",
                          .doc = "evaluated before the sinks, for each group of time slots",
                          .optional = true},
                         {.label = "post",
                          .shape = "any",
                          .unit = "any",
                          .doc = "evaluated after the sinks, for each group of time slots",
                          .optional = true},
                         {.label = "sink", .shape = "[]", .unit = "", .doc = "Sink nodes", .repeated = true}}};
  }

  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    for (std::size_t i = kFirstSink; i < children.size(); ++i)
      if (!children[i]->is_scalar())
        throw ShapeError("sink " + std::to_string(i - kFirstSink + 1) + " has dimensions " + to_string(*children[i]) +
                         "; children after \"pre\" and \"post\" must be Sink nodes, which are scalars");
    return {};
  }
  NodeTraits own_traits() const override {
    return {.depends_on = kData, .skips_missing = true, .always_evaluates = true, .reads_no_values = true};
  }

  Capabilities capabilities() const override { return {.run = this}; }
  std::vector<std::vector<int>> stages(std::span<const int> children) const override {
    std::vector<std::vector<int>> stages;
    if (children[0] >= 0) stages.push_back({children[0]});
    if (children.size() > kFirstSink) stages.emplace_back(children.begin() + kFirstSink, children.end());
    if (children[1] >= 0) stages.push_back({children[1]});
    return stages;
  }

 protected:
  void evaluate(Evaluation& evaluation) const override {
    Vells count = evaluation.make(NumberType::real, CellShape{});
    count.real()[0] = static_cast<double>(evaluation.children().size() - kFirstSink);
    evaluation.set(std::move(count));
    evaluation.set_flags({});
  }
  /// Counts sinks: no unknown moves the result.
  void pull_back(PullBack&) const override {}

 private:
  static constexpr std::size_t kFirstSink = 2;  // after pre and post
};

RIMETREE_REGISTER_NODE(VisDataMux);

}  // namespace rimetree
