// The contract's second part, on every class: what the host gives from a device (the one that RIMETREE_DEVICE names;
// the host's bits from a simulated one), values and derivatives, and exact derivatives in both modes. contract_test.cc
// says for which classes.
#include "tests/support/chosen_device.h"
#include "tests/support/contract_fixture.h"

namespace rimetree::test {
namespace {

/// However little there is to do.
EvaluatorOptions on(const std::string& device) {
  return {.threads = 1, .device = {device}, .placement = PlacementRule{1, false}};
}

TEST_P(ContractTest, GivesTheSameOnADevice) {
  for (const auto& [in_time, in_frequency] : {std::pair(false, false), {true, false}, {false, true}, {true, true}})
    for (const bool flagged : {false, true}) {
      TestForest tree = with_children(in_time, in_frequency);
      TestForest::Children names = children();
      if (!names.empty()) tree.flagged("flagged", names.back(), array({1, 2, 3}, {0, 0, 0, 4, 0, 0}));
      if (flagged && !names.empty()) names.back() = "flagged";
      tree.node("x", GetParam(), names, recipe_.state).evaluate("x");
      if (tree.built->node(tree.built->find("x")).device_path() == nullptr) return;
      Evaluator host(tree.built, on("none")), device(tree.built, on(chosen_device()));
      const ResultPtr expected = host.evaluate(tree.request, "x"), got = device.evaluate(tree.request, "x");
      const bool left_out = flagged && recipe_.flags == FlagRule::own;  // by the host, then
      EXPECT_EQ(host.timing().classes.at(GetParam()).on_devices, 0u);
      EXPECT_EQ(device.timing().classes.at(GetParam()).on_devices, left_out ? 0u : 1u);
      expect_ok(expected);
      expect_as_on_the_host(device, *got, *expected);
    }
}

TEST_P(ContractTest, DerivativesAreTheSameOnADevice) {
  // Each child moves along its own random directions, whose derivatives vary along other axes than the child.
  for (const auto& [in_time, in_frequency] : {std::pair(false, false), {true, false}, {true, true}}) {
    TestForest tree = with_children(in_time, in_frequency);
    const std::vector<std::string> parms = move_children(tree, in_frequency, in_time);
    tree.node("x", GetParam(), moved_children(), recipe_.state);
    tree.request.derivatives = true;
    tree.evaluate("x");
    if (tree.built->node(tree.built->find("x")).device_path() == nullptr) return;
    Evaluator host(tree.built, on("none")), device(tree.built, on(chosen_device()));
    const ResultPtr expected = host.evaluate(tree.request, "x"), got = device.evaluate(tree.request, "x");
    const ClassTiming& timing = device.timing().classes.at(GetParam());
    EXPECT_EQ(timing.on_devices, timing.evaluations);
    EXPECT_EQ(host.timing().classes.at(GetParam()).on_devices, 0u);
    expect_ok(expected);
    EXPECT_EQ(expected->derivatives.size(), parms.size());
    for (const Derivative& derivative : got->derivatives) EXPECT_NE(derivative.value.device(), nullptr);
    expect_as_on_the_host(device, *got, *expected);
  }
}

/// The result as a function of one parameter p, which moves one child along a random direction: base + p * direction.
class Moved {
 public:
  Moved(TestForest tree, const std::string& class_name, TestForest::Children names, const TestForest::Fields& state,
        std::size_t slot, StateValue direction)
      : tree_(std::move(tree)) {
    tree_.parm("p", 0).constant("direction", std::move(direction), 2);
    tree_.node("shift", "Multiply", {"direction", "p"}).node("moved", "Add", {names[slot], "shift"});
    names[slot] = "moved";
    tree_.node("x", class_name, names, state);
    tree_.evaluate("x");
    evaluator_ = std::make_unique<Evaluator>(tree_.built, EvaluatorOptions{.threads = 1});
  }
  ResultPtr at(double p, bool derivatives = false) {
    const int parm = tree_.built->find("p");
    tree_.built->set_state(parm, {{"value", p}});
    Request request = tree_.request;
    request.derivatives = derivatives;
    return evaluator_->evaluate(request, "x");
  }
  ParameterId parameter() const { return {tree_.built->find("p"), 0}; }

 private:
  TestForest tree_;
  std::unique_ptr<Evaluator> evaluator_;
};

TEST_P(ContractTest, DerivativeAgreesWithFiniteDifferences) {
  for (std::size_t slot = 0; slot < recipe_.children.size(); ++slot) {
    ChildRecipe direction = recipe_.children[slot];
    if (!direction.differentiable) continue;
    direction.base = 0;
    direction.spread = direction.step;
    Moved moved(with_children(true, true), GetParam(), children(), recipe_.state, slot,
                child_values(slot + 100, direction, 2, true, true));
    const ResultPtr result = moved.at(0, true);
    expect_ok(result);
    const Vells* derivative = result->derivative(moved.parameter());
    const bool side_effect = GetParam() == "Sink" || GetParam() == "VisDataMux";
    const bool flags_only = GetParam() == "MergeFlags" && slot > 0;
    if (side_effect || flags_only) {
      EXPECT_EQ(derivative, nullptr);
      continue;
    }
    ASSERT_NE(derivative, nullptr) << "child " << slot;
    EXPECT_EQ(derivative->type(), result->value.type());
    // The five-point formula: its error is h^4 f^(5)/30 ~ 1e-13 f^(5), and rounding adds ~1e-16 f/h = 1e-13 f. With
    // f^(5) of a few hundred times f at most (all recipes keep phases and exponents of order 1), 1e-9 has a margin.
    constexpr double h = 1e-3;
    const ResultPtr far_below = moved.at(-2 * h), below = moved.at(-h), above = moved.at(h),
                    far_above = moved.at(2 * h);
    for (std::size_t e = 0; e < result->value.dims().size(); ++e)
      for (int t = 0; t < kTimes; ++t)
        for (int f = 0; f < kFrequencies; ++f) {
          const auto v = [&](const ResultPtr& r) { return value_at(r->value, e, t, f); };
          const Complex<double> expected = (1 / (12 * h)) * (v(far_below) - v(far_above) + 8.0 * (v(above) - v(below)));
          const double scale = 1 + abs(v(result)) + abs(expected);
          expect_near(value_at(*derivative, e, t, f), expected, 1e-9 * scale);
        }
  }
}

TEST_P(ContractTest, ReverseDerivativeAgreesWithForward) {
  // Every child moves along two directions, in time and frequency, each with a parameter of its own; what is compared
  // is the gradient of sum |x - c|^2 over all cells, whose adjoint is different for every number of the result.
  TestForest tree = with_children(true, true);
  const std::vector<std::string> parms = move_children(tree, true, true);
  tree.node("x", GetParam(), moved_children(), recipe_.state);
  const bool complex = tree.evaluate("x")->value.is_complex();
  tree.constant("c", complex ? StateValue(complex_array({}, {{0.3, 0.7}})) : StateValue(0.3));
  tree.node("residual", "Subtract", {"x", "c"}).node("objective", "ChiSquare", {"residual"});
  tree.request.derivatives = true;
  const ResultPtr forward = tree.evaluate("objective", 2);
  expect_ok(forward);
  tree.request.derivatives = false;
  ValueAndGradient reverse = tree.evaluator->value_and_gradient(tree.request, tree.built->find("objective"));
  expect_ok(reverse.value);
  // To rounding: where derivatives are wanted a node may be evaluated on the host instead of a device.
  EXPECT_NEAR(reverse.value->value.real()[0], forward->value.real()[0], 1e-14 * forward->value.real()[0]);
  double largest = 0;
  for (const Derivative& derivative : forward->derivatives) largest = std::max(largest, abs(derivative.value.at(0)));
  for (const std::string& parm : parms) {
    const int index = tree.built->find(parm);
    const Vells* expected = forward->derivative({index, 0});
    ASSERT_EQ(reverse.gradient.of(index).size(), 1u);
    // Both are exact but for rounding, in sums of some 100 terms of the size of the largest.
    EXPECT_NEAR(reverse.gradient.of(index)[0], expected ? expected->real()[0] : 0, 1e-13 * (1 + largest)) << parm;
  }
}

}  // namespace
}  // namespace rimetree::test
