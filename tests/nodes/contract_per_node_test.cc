// The contract's third part: nodes of one batch may differ in the state that their class declares per_node, and each
// keeps to its own, on the host and on devices, where one launch computes many nodes.
#include "runtime/cell/cell_node.h"
#include "tests/support/chosen_device.h"
#include "tests/support/contract_fixture.h"

namespace rimetree::test {
namespace {

/// x times a factor that goes to devices with the class's body, and is per_node.
struct TestScaledBody {
  double factor;
  template <class In, class Out>
  RT_HD void cell(const In& in, Out out) const {
    out[0] = factor * in(0);
  }
};
class TestScaled final : public CellNode<TestScaled> {
 public:
  using CellNode::CellNode;
  static constexpr Numbers kNumbers = Numbers::same;
  static NodeClass info() {
    return {.name = "TestScaled",
            .children = {{.label = "x"}},
            .state = {{.name = "factor", .type = StateType::real, .default_value = 1.0, .per_node = true}}};
  }
  TensorShape result_dims(std::span<const TensorShape* const>) const override { return {}; }
  TestScaledBody body() const { return {state().real("factor")}; }
};

TEST(PerNodeState, GoesToDevicesNodeByNode) {
  registry();
  Registry::instance().add({with_factory<TestScaled>(TestScaled::info())}, "test");
  TestForest tree;
  tree.constant("x", array({kTimes, kFrequencies}, {1, 2, 3, 4, 5, 6}), 2);
  const std::vector<double> factors{2, 2, 3, 5};
  TestForest::Children names;
  for (const double factor : factors) {
    names.push_back("x" + std::to_string(names.size()));
    tree.node(names.back(), "TestScaled", {"x"}, {{"factor", factor}});
  }
  const auto built = Forest::build(tree.specs(), registry());
  std::vector<int> roots;
  for (const std::string& name : names) roots.push_back(built->find(name));
  Evaluator evaluator(built, {.threads = 1, .device = {"simulated"}, .placement = PlacementRule{1, false}});
  EXPECT_EQ(evaluator.plan().batch_of(roots.front()), evaluator.plan().batch_of(roots.back()));
  const auto results = evaluator.evaluate(tree.request, roots);
  EXPECT_EQ(evaluator.timing().classes.at("TestScaled").on_devices, factors.size());
  for (std::size_t i = 0; i < factors.size(); ++i) {
    expect_ok(results[i]);
    for (int t = 0; t < kTimes; ++t)
      for (int f = 0; f < kFrequencies; ++f)
        EXPECT_EQ(value_at(results[i]->value, 0, t, f).re, factors[i] * (1 + 3 * t + f)) << names[i];
  }
}

/// Values that a field may have instead of another one, in the order in which they are tried.
std::vector<StateValue> others_than(const StateValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return {!*flag};
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return {*integer + 1};
  if (const auto* real = std::get_if<double>(&value)) return {2 * *real + 1};
  if (const auto* text = std::get_if<std::string>(&value)) return {*text + "_other"};
  if (const auto* from = std::get_if<StateArray>(&value); from != nullptr && from->size() > 0) {
    StateArray other = *from;
    for (double& x : other.data) x = 2 * x + 1;
    return {other};
  }
  return {array({1}, {0.5}), array({2}, {1, 2})};
}

TEST_P(ContractTest, NodesOfABatchKeepToTheirOwnState) {
  std::map<std::string, StateValue> state = recipe_.state;
  for (const StateSpec& spec : registry().get(GetParam()).state)
    if (!state.contains(spec.name)) state[spec.name] = spec.default_value;
  for (const StateSpec& spec : registry().get(GetParam()).state) {
    if (!spec.per_node) continue;
    bool tried = false;
    for (const StateValue& other : others_than(state.at(spec.name))) {
      TestForest::Fields own = recipe_.state, others = recipe_.state;
      others[spec.name] = other;
      const auto alone = [&](const TestForest::Fields& fields) {
        TestForest tree = with_children(true, true);
        return tree.node("x", GetParam(), children(), fields).evaluate("x", 1);
      };
      ResultPtr expected[2];
      try {
        expected[0] = alone(own), expected[1] = alone(others);
      } catch (const Error&) {
        continue;  // a value that does not fit the others
      }
      tried = true;
      for (const std::string& device : {std::string("none"), chosen_device()}) {
        TestForest tree = with_children(true, true);
        tree.node("x", GetParam(), children(), own).node("y", GetParam(), children(), others);
        const auto built = Forest::build(tree.specs(), registry());
        Evaluator evaluator(built, {.threads = 1, .device = {device}, .placement = PlacementRule{1, false}});
        const std::vector<int> roots{built->find("x"), built->find("y")};
        EXPECT_EQ(evaluator.plan().batch_of(roots[0]), evaluator.plan().batch_of(roots[1])) << spec.name;
        const auto got = evaluator.evaluate(tree.request, roots);
        for (int i = 0; i < 2; ++i) {
          ASSERT_EQ(got[i]->status, expected[i]->status) << spec.name << " on " << device;
          if (expected[i]->ok()) expect_as_on_the_host(evaluator, *got[i], *expected[i]);
        }
      }
      break;
    }
    EXPECT_TRUE(tried) << spec.name << ": no other value of it is accepted";
  }
}

}  // namespace
}  // namespace rimetree::test
