// MergeFlags: the first child with the flags of all children
//
// Children: x, any dimensions and unit; flags, any number of further children of which only the flags count, element by
// element if they have the dimensions of x, otherwise those of all their elements; missing ones are left out.
// State: flag_mask (integer mask of the bits taken from the further children, default -1: all).
// Result and derivatives: those of x, unchanged. MeqTrees: MergeFlags.
#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/error.h"
#include "runtime/core/node/node.h"
#include "runtime/core/values/flag_rules.h"
#include "runtime/core/values/pull_back.h"

namespace rimetree {

class MergeFlags final : public Node {
 public:
  explicit MergeFlags(const State& state) : Node(state), mask_(static_cast<std::int32_t>(state.integer("flag_mask"))) {}

  static NodeClass info() {
    return {.name = "MergeFlags",
            .summary = "Its first child, flagged where any of its children is.",
            .result = "the first child, with more flags",
            .reference = "MeqTrees MergeFlags",
            .children = {{.label = "x", .shape = "any", .unit = "any", .doc = "whose values are passed on"},
                         {.label = "flags",
                          .shape = "any",
                          .unit = "any",
                          .doc = "whose flags are added: element by element if the dimensions are those of x, "
                                 "otherwise the flags of all elements",
                          .repeated = true}},
            .state = {{.name = "flag_mask",
                       .type = StateType::integer,
                       .default_value = std::int64_t{-1},
                       .doc = "bits that are taken from the children \"flags\"; -1: all",
                       .limits = kInt32}}};
  }
  TensorShape result_dims(std::span<const TensorShape* const> children) const override { return *children[0]; }
  NodeTraits own_traits() const override {
    return {.mixed_axes = kNoAxes, .skips_missing = true, .is_function = true, .reads_no_values = true};
  }

 protected:
  void evaluate(Evaluation& evaluation) const override {
    if (!evaluation.has_child(0)) return evaluation.set_missing();
    const Result& x = evaluation.child(0);
    evaluation.set(x.value);
    for (const Derivative& derivative : x.derivatives) evaluation.add(derivative.parameter, derivative.value);

    const CellShape cells = flag_cells(evaluation);
    Flags merged;
    for (std::size_t i = 1; i < evaluation.children().size(); ++i) {
      const Result& child = evaluation.child(i);
      if (child.flags.empty()) continue;
      if (merged.empty()) merged = Flags(evaluation.pool, dims().size(), cells);
      const bool same = child.value.dims() == dims();
      for (std::size_t e = 0; e < dims().size(); ++e)
        merge_flags(merged, e, child.flags, same ? e : 0, same ? 1 : child.value.dims().size());
    }
    if (merged.empty()) return evaluation.set_flags(x.flags);
    for (std::size_t i = 0; i < merged.size(); ++i) merged.data()[i] &= mask_;
    for (std::size_t e = 0; e < dims().size(); ++e) merge_flags(merged, e, x.flags, e, 1);
    evaluation.set_flags(std::move(merged));
  }
  void pull_back(PullBack& pull) const override { pull.pass_on(0); }

 private:
  std::int32_t mask_;
};

RIMETREE_REGISTER_NODE(MergeFlags);

}  // namespace rimetree
