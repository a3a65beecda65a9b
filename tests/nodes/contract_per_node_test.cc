// The contract's third part: nodes of one batch may differ in the state that their class declares per_node, and each
// keeps to its own, on the host and on devices, where one launch computes many nodes.
#include "tests/support/chosen_device.h"
#include "tests/support/contract_fixture.h"

namespace rimetree::test {
namespace {

TEST(PerNodeState, GoesToDevicesNodeByNode) {
  TestForest tree;
  tree.constant("x", array({kTimes, kFrequencies}, {1, 2, 3, 4, 5, 6}), 2);
  const std::vector<double> factors{2, 2, 3, 5};
  TestForest::Children names;
  for (const double factor : factors) {
    names.push_back("x" + std::to_string(names.size()));
    tree.node(names.back(), "TestPluginLine", {"x"}, {{"slope", factor}});
  }
  const auto built = Forest::build(tree.specs(), registry());
  std::vector<int> roots;
  for (const std::string& name : names) roots.push_back(built->find(name));
  Evaluator evaluator(built, {.threads = 1, .device = {"simulated"}, .placement = PlacementRule{1, false}});
  EXPECT_EQ(evaluator.plan().batch_of(roots.front()), evaluator.plan().batch_of(roots.back()));
  const auto results = evaluator.evaluate(tree.request, roots);
  EXPECT_EQ(evaluator.timing().classes.at("TestPluginLine").on_devices, factors.size());
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
    std::vector<double> other = from->data.vector();
    for (double& x : other) x = 2 * x + 1;
    return {StateArray{from->shape, from->type, other}};
  }
  return {array({1}, {0.5}), array({2}, {1, 2})};
}

class PerNodeTest : public ContractTest {
 protected:
  ResultPtr alone(const TestForest::Fields& fields) {
    TestForest tree = with_children(true, true);
    return tree.node("x", GetParam(), children(), fields).evaluate("x", 1);
  }
  /// Gives a field another value, the first one that the class accepts beside the others.
  bool change(const StateSpec& spec, TestForest::Fields& fields) {
    const auto now = fields.find(spec.name);
    for (const StateValue& other : others_than(now == fields.end() ? spec.default_value : now->second)) try {
        TestForest::Fields changed = fields;
        changed[spec.name] = other;
        alone(changed);
        fields = std::move(changed);
        return true;
      } catch (const Error&) {
        continue;
      }
    return false;
  }
  /// One batch of two such nodes gives what they give by themselves.
  void expect_each_keeps_to_its_own(const TestForest::Fields& own, const TestForest::Fields& others,
                                    const std::string& what) {
    const ResultPtr expected[] = {alone(own), alone(others)};
    for (const std::string& device : {std::string("none"), chosen_device()}) {
      TestForest tree = with_children(true, true);
      tree.node("x", GetParam(), children(), own).node("y", GetParam(), children(), others);
      const auto built = Forest::build(tree.specs(), registry());
      Evaluator evaluator(built, {.threads = 1, .device = {device}, .placement = PlacementRule{1, false}});
      const std::vector<int> roots{built->find("x"), built->find("y")};
      EXPECT_EQ(evaluator.plan().batch_of(roots[0]), evaluator.plan().batch_of(roots[1])) << what;
      const auto got = evaluator.evaluate(tree.request, roots);
      for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(got[i]->status, expected[i]->status) << what << " on " << device;
        if (expected[i]->ok()) expect_as_on_the_host(evaluator, *got[i], *expected[i]);
      }
    }
  }
};

TEST_P(PerNodeTest, NodesOfABatchKeepToTheirOwnState) {
  TestForest::Fields all = recipe_.state;
  for (const StateSpec& spec : registry().get(GetParam()).state) {
    if (!spec.per_node) continue;
    TestForest::Fields one = recipe_.state;
    ASSERT_TRUE(change(spec, one)) << spec.name << ": no other value of it is accepted";
    expect_each_keeps_to_its_own(recipe_.state, one, spec.name);
    EXPECT_TRUE(change(spec, all)) << spec.name << ": no other value of it is accepted beside others";
  }
  if (all != recipe_.state) expect_each_keeps_to_its_own(recipe_.state, all, "all of them");
}
INSTANTIATE_TEST_SUITE_P(AllClasses, PerNodeTest, testing::ValuesIn(all_classes()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace rimetree::test
