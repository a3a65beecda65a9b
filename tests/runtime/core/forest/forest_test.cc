// Forest: structure, order, dependencies, and changing a node's state.
#include "runtime/core/forest/forest.h"

#include <gtest/gtest.h>

#include "tests/support/test_nodes.h"

namespace rimetree {
namespace {

using test::ForestUnderTest;

std::vector<int> listed(std::span<const int> nodes) { return {nodes.begin(), nodes.end()}; }

const std::map<std::string, StateValue> kDomainLeaf{{"depends_on", std::vector<std::string>{"domain"}}};

TEST(Forest, MayBeDescribedInAnyOrder) {
  ForestUnderTest under_test;
  under_test.node("top", "Combine", {"a", "b"});
  under_test.node("a", "Combine", {"leaf"});
  under_test.node("leaf", "Leaf");
  under_test.node("b", "Leaf");
  const auto forest = under_test.build();
  ASSERT_EQ(forest->size(), 4u);
  const int top = forest->find("top"), a = forest->find("a"), b = forest->find("b"), leaf = forest->find("leaf");
  EXPECT_EQ(listed(forest->children(top)), (std::vector<int>{a, b}));
  EXPECT_EQ(listed(forest->parents(leaf)), std::vector<int>{a});
  EXPECT_EQ(forest->roots(), std::vector<int>{top});
  EXPECT_EQ(forest->level(leaf), 0);
  EXPECT_EQ(forest->level(b), 0);
  EXPECT_EQ(forest->level(a), 1);
  EXPECT_EQ(forest->level(top), 2) << "the longest path counts";
  EXPECT_EQ(forest->order(), (std::vector<int>{leaf, b, a, top})) << "by level, then as described";
  EXPECT_EQ(forest->node(a).name(), "a");
  EXPECT_EQ(forest->node(a).origin(), "script.py:2");
  EXPECT_EQ(forest->node(a).index(), a);
  EXPECT_EQ(forest->node(a).node_class().name, "Combine");
}

TEST(Forest, ChildrenGoToTheirSlots) {
  ForestUnderTest under_test;
  for (const char* name : {"one", "two", "three", "four"}) under_test.node(name, "Leaf");
  using Children = std::vector<std::pair<std::string, std::string>>;
  const auto slots = [&](const Children& children) {
    auto specs = under_test.specs;
    specs.push_back({"x", "Slots", {}, children, "script.py:9"});
    const auto forest = Forest::build(specs, under_test.registry);
    return listed(forest->children(forest->find("x")));
  };
  EXPECT_EQ(slots({{"", "one"}}), (std::vector<int>{0, -1}));
  EXPECT_EQ(slots({{"", "one"}, {"", "two"}, {"", "three"}, {"", "four"}}), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(slots({{"b", "two"}, {"a", "one"}}), (std::vector<int>{0, 1})) << "labels may come in any order";
  EXPECT_EQ(slots({{"rest", "three"}, {"rest", "four"}, {"a", "one"}}), (std::vector<int>{0, -1, 2, 3}));
  EXPECT_EQ(slots({{"", "one"}, {"", ""}, {"", "three"}}), (std::vector<int>{0, -1, 2})) << "left out by position";
  EXPECT_EQ(slots({{"", "one"}, {"b", ""}, {"rest", "four"}}), (std::vector<int>{0, -1, 3})) << "left out by label";
}

TEST(Forest, AChildUsedTwiceHasTheParentOnce) {
  ForestUnderTest under_test;
  under_test.node("leaf", "Leaf");
  under_test.node("top", "Combine", {"leaf", "leaf"});
  const auto forest = under_test.build();
  EXPECT_EQ(listed(forest->children(1)), (std::vector<int>{0, 0}));
  EXPECT_EQ(listed(forest->parents(0)), std::vector<int>{1});
}

TEST(Forest, NodesThatAreAlikeShareTheirState) {
  ForestUnderTest under_test;
  const std::vector<std::string> domain{"domain"}, data{"data"};
  for (const auto& [name, depends_on] : {std::pair{"a", domain}, {"b", domain}, {"c", data}})
    under_test.node(name, "Leaf", {}, {{"depends_on", depends_on}});
  const auto forest = under_test.build();
  const auto list = [&](int node) { return &forest->node(node).state().text_list("depends_on"); };
  EXPECT_EQ(list(0), list(1));
  EXPECT_EQ(*list(2), data);
  forest->set_state(0, {{"depends_on", data}});
  EXPECT_EQ(*list(0), data);
  EXPECT_EQ(*list(1), domain) << "a change is one of that node only";
}

TEST(Forest, NamesAreFoundHoweverManyAndHoweverLongTheyAre) {
  ForestUnderTest under_test;
  const std::string prefix(40, 'x');
  for (int i = 0; i < 1000; ++i) under_test.node((i % 2 ? prefix : "") + std::to_string(i), "Leaf");
  const auto forest = under_test.build();
  for (int i = 0; i < 1000; ++i) {
    const std::string name = (i % 2 ? prefix : "") + std::to_string(i);
    ASSERT_EQ(forest->find(name), i);
    ASSERT_EQ(forest->node(i).name(), name);
    ASSERT_EQ(forest->node(i).origin(), "script.py:" + std::to_string(i + 1));
  }
  EXPECT_THROW(forest->find(prefix), Error);
  EXPECT_THROW(forest->find(""), Error);
}

TEST(Forest, DependenciesComeThroughChildren) {
  ForestUnderTest under_test;
  under_test.node("constant", "Leaf");
  under_test.node("domain", "Leaf", {}, kDomainLeaf);
  under_test.node("fit", "Leaf", {}, {{"depends_on", std::vector<std::string>{"parameter", "iteration"}}});
  under_test.node("low", "Combine", {"constant"});
  under_test.node("mid", "Combine", {"low", "domain"});
  under_test.node("top", "Combine", {"mid", "fit"});
  const auto forest = under_test.build();
  EXPECT_EQ(forest->dependencies(forest->find("low")), kNothing);
  EXPECT_EQ(forest->dependencies(forest->find("mid")), kDomain);
  EXPECT_EQ(forest->dependencies(forest->find("top")), kDomain | kParameter | kSolvable | kIteration);
}

TEST(Forest, UnknownNamesComeWithSimilarOnes) {
  ForestUnderTest under_test;
  under_test.node("V:0:1", "Leaf");
  under_test.node("K:0:1", "Leaf");
  try {
    under_test.build()->find("V:0:2");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the forest has no node \"V:0:2\"; it has V:0:1");
  }
}

TEST(Forest, AnEmptyOneIsAForest) {
  const auto forest = ForestUnderTest().build();
  EXPECT_EQ(forest->size(), 0u);
  EXPECT_TRUE(forest->roots().empty());
}

TEST(Forest, ADeepChainIsNoProblem) {
  ForestUnderTest under_test;
  under_test.node("n0", "Leaf");
  for (int i = 1; i < 20000; ++i) under_test.node("n" + std::to_string(i), "Combine", {"n" + std::to_string(i - 1)});
  EXPECT_EQ(under_test.build()->level(19999), 19999);
}

class SetState : public ::testing::Test {
 protected:
  void SetUp() override {
    under_test.node("leaf", "Leaf", {}, {{"value", 2.0}});
    under_test.node("shaped", "Shaped", {}, {{"shape", StateArray{{2}, NumberType::real, {2, 2}}}});
    forest = under_test.build();
  }
  void expect_refused(int node, const std::map<std::string, StateValue>& fields, const std::string& part) {
    const Node* const before = &forest->node(node);
    const auto version = forest->state_version(node);
    try {
      forest->set_state(node, fields);
      FAIL() << "was accepted";
    } catch (const StateError& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
    EXPECT_EQ(&forest->node(node), before) << "the old node must stay";
    EXPECT_EQ(forest->state_version(node), version);
  }
  ForestUnderTest under_test;
  std::shared_ptr<Forest> forest;
};

TEST_F(SetState, ReplacesWhatIsNamedAndKeepsTheRest) {
  forest->set_state(0, {{"flag", std::int64_t{4}}});
  EXPECT_EQ(forest->node(0).state().integer("flag"), 4);
  EXPECT_EQ(forest->node(0).state().real("value"), 2.0);
  EXPECT_EQ(forest->state_version(0), 1u);
  EXPECT_EQ(forest->state_version(1), 0u);
  EXPECT_EQ(forest->node(0).name(), "leaf");
  EXPECT_EQ(forest->node(0).origin(), "script.py:1");
  EXPECT_EQ(forest->node(0).index(), 0);
}

TEST_F(SetState, RefusesBadFieldsAndLeavesTheNodeAsItWas) {
  expect_refused(0, {{"valeu", 1.0}}, "unknown state field \"valeu\"");
  expect_refused(0, {{"value", std::string("x")}}, "must be a real number");
  expect_refused(0, {{"depends_on", std::vector<std::string>{"weather"}}}, "weather");
}

TEST_F(SetState, RefusesOtherDimensions) {
  expect_refused(1, {{"shape", StateArray{{1}, NumberType::real, {3}}}}, "[3], but the forest was built with [2,2]");
}

TEST_F(SetState, DependenciesFollowTheState) {
  ForestUnderTest other;
  other.node("leaf", "Leaf");
  other.node("top", "Combine", {"leaf"});
  const auto tree = other.build();
  EXPECT_EQ(tree->dependencies(1), kNothing);
  tree->set_state(0, kDomainLeaf);
  EXPECT_EQ(tree->dependencies(0), kDomain);
  EXPECT_EQ(tree->dependencies(1), kDomain);
}

TEST_F(SetState, DependenciesFollowByEveryPathAndBack) {
  ForestUnderTest other;
  for (const char* name : {"leaf", "domain"}) other.node(name, "Leaf");
  other.node("left", "Combine", {"leaf"});
  other.node("far", "Combine", {"left", "domain"});
  other.node("top", "Combine", {"far", "leaf"});
  const auto tree = other.build();
  const std::map<std::string, StateValue> nothing{{"depends_on", std::vector<std::string>{}}};
  const auto of = [&](const char* name) { return tree->dependencies(tree->find(name)); };
  tree->set_state(tree->find("leaf"), {{"depends_on", std::vector<std::string>{"iteration"}}});
  EXPECT_EQ(of("left"), kIteration);
  EXPECT_EQ(of("top"), kIteration);
  tree->set_state(tree->find("domain"), kDomainLeaf);
  EXPECT_EQ(of("left"), kIteration);
  EXPECT_EQ(of("far"), kDomain | kIteration);
  EXPECT_EQ(of("top"), kDomain | kIteration);
  tree->set_state(tree->find("leaf"), nothing);
  EXPECT_EQ(of("left"), kNothing);
  EXPECT_EQ(of("top"), kDomain);
}

TEST_F(SetState, DependenciesOfManyNodesAreFollowedWhereTheyChange) {
  ForestUnderTest other;  // by the whole forest for each of them this would take minutes
  constexpr int kMany = 20000;
  for (int i = 0; i < kMany; ++i) other.node("leaf" + std::to_string(i), "Leaf");
  for (int i = 0; i < kMany; ++i) other.node("top" + std::to_string(i), "Combine", {"leaf" + std::to_string(i)});
  const auto tree = other.build();
  for (int i = 0; i < kMany; i += 2) tree->set_state(i, kDomainLeaf);
  for (int i = 0; i < kMany; ++i) ASSERT_EQ(tree->dependencies(kMany + i), i % 2 == 0 ? kDomain : kNothing);
}

}  // namespace
}  // namespace rimetree
