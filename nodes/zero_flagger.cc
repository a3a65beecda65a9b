// ZeroFlagger: flags the child where "child OPER 0" holds
//
// Child: x, any dimensions and unit.
// State: oper (string: EQ, NE, GE, LE, GT or LT, default NE), flag_bit (integer mask, default 1).
// Result and derivatives: the child's, unchanged. Flags: those of the child, and flag_bit on elements for which the
// comparison holds. Complex values are compared by EQ and NE only. MeqTrees: ZeroFlagger.
#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/error.h"
#include "runtime/core/node/node.h"
#include "runtime/core/values/flag_rules.h"
#include "runtime/core/values/pull_back.h"

namespace rimetree {

class ZeroFlagger final : public Node {
 public:
  explicit ZeroFlagger(const State& state)
      : Node(state), oper_(state.text("oper")), bit_(static_cast<std::int32_t>(state.integer("flag_bit"))) {}

  static NodeClass info() {
    return {
        .name = "ZeroFlagger",
        .summary = "Flags values that compare with zero in a given way.",
        .formula = "flag where x OPER 0",
        .result = "the child, with more flags",
        .reference = "MeqTrees ZeroFlagger",
        .children = {{.label = "x", .shape = "any", .unit = "any", .doc = "values that are compared with zero"}},
        .state = {{.name = "oper",
                   .type = StateType::text,
                   .default_value = std::string("NE"),
                   .doc = "values are flagged if x OPER 0 is true; complex values can only be compared by EQ and NE",
                   .choices = {"EQ", "NE", "GE", "LE", "GT", "LT"}},
                  {.name = "flag_bit",
                   .type = StateType::integer,
                   .default_value = std::int64_t{1},
                   .doc = "bits that are set in the flags",
                   .limits = kInt32}}};
  }
  TensorShape result_dims(std::span<const TensorShape* const> children) const override { return *children[0]; }
  NodeTraits own_traits() const override { return {.mixed_axes = kNoAxes, .is_function = true}; }

 protected:
  void evaluate(Evaluation& evaluation) const override {
    const Result& child = evaluation.child(0);
    const Vells& x = child.value;
    if (x.is_complex() && oper_ != "EQ" && oper_ != "NE")
      throw ShapeError("complex values can only be compared by EQ or NE, not by " + oper_);
    evaluation.set(x);
    for (const Derivative& derivative : child.derivatives) evaluation.add(derivative.parameter, derivative.value);

    Flags found(evaluation.pool, x.dims().size(), x.cells());
    mark(x, found.data());
    if (child.flags.empty()) return evaluation.set_flags(std::move(found));
    Flags flags(evaluation.pool, x.dims().size(), broadcast(x.cells(), child.flags.cells()));
    for (std::size_t e = 0; e < x.dims().size(); ++e) {
      merge_flags(flags, e, found, e, 1);
      merge_flags(flags, e, child.flags, e, 1);
    }
    evaluation.set_flags(std::move(flags));
  }
  void pull_back(PullBack& pull) const override { pull.pass_on(0); }

 private:
  /// Sets the bit of all values for which the comparison holds.
  void mark(const Vells& x, std::int32_t* flags) const {
    const auto mark_where = [&](const auto* values, const auto& holds) {
      const std::int32_t bit = bit_;
      for (std::size_t i = 0; i < x.size(); ++i) flags[i] = holds(values[i]) ? bit : 0;
    };
    if (x.is_complex()) {
      const bool where_equal = oper_ == "EQ";
      return mark_where(x.complex(), [=](Complex<double> z) { return (z.re == 0 && z.im == 0) == where_equal; });
    }
    const double* const values = x.real();
    if (oper_ == "EQ") return mark_where(values, [](double a) { return a == 0; });
    if (oper_ == "NE") return mark_where(values, [](double a) { return a != 0; });
    if (oper_ == "GE") return mark_where(values, [](double a) { return a >= 0; });
    if (oper_ == "LE") return mark_where(values, [](double a) { return a <= 0; });
    if (oper_ == "GT") return mark_where(values, [](double a) { return a > 0; });
    mark_where(values, [](double a) { return a < 0; });
  }

  std::string oper_;
  std::int32_t bit_;
};

RIMETREE_REGISTER_NODE(ZeroFlagger);

}  // namespace rimetree
