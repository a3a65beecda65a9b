// Whatever is wrong with a forest is found when it is built, all of it at once, each with its node and script line.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/test_nodes.h"

namespace rimetree {
namespace {

using test::ForestUnderTest;

/// The message about a node, "" if there is none or more than one.
std::string about(const std::vector<BuildError>& errors, const std::string& node) {
  std::string message;
  int count = 0;
  for (const BuildError& error : errors)
    if (error.node == node) {
      message = error.message;
      ++count;
    }
  return count == 1 ? message : "";
}

std::vector<std::string> all_about(const std::vector<BuildError>& errors, const std::string& node) {
  std::vector<std::string> messages;
  for (const BuildError& error : errors)
    if (error.node == node) messages.push_back(error.message);
  return messages;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(ForestErrors, AllKindsAtOnceEachWithNodeAndLine) {
  ForestUnderTest forest;
  forest.node("good", "Leaf");                                         // script.py:1
  forest.node("typo", "Laef");                                         // 2
  forest.node("badstate", "Leaf", {}, {{"value", std::string("x")}});  // 3
  forest.node("nochild", "Pair", {"good"});                            // 4
  forest.node("toomany", "Pair", {"good", "good", "good"});            // 5
  forest.node("absent", "Combine", {"nowhere"});                       // 6
  forest.node("loop1", "Combine", {"loop2"});                          // 7
  forest.node("loop2", "Combine", {"loop1"});                          // 8
  forest.node("two", "Shaped", {}, {{"shape", 2.0}});                  // 9
  forest.node("three", "Shaped", {}, {{"shape", 3.0}});                // 10
  forest.node("shapes", "Pair", {"two", "three"});                     // 11
  forest.node("good", "Leaf");                                         // 12
  forest.node("few", "Combine");                                       // 13
  forest.specs.push_back({"label", "Pair", {}, {{"a", "good"}, {"c", "good"}}, "script.py:14"});
  forest.specs.push_back({"twice", "Pair", {}, {{"a", "good"}, {"b", "good"}, {"a", "good"}}, "script.py:15"});

  const auto errors = forest.errors();
  EXPECT_EQ(about(errors, "typo"), "unknown node class \"Laef\"; did you mean Leaf?");
  EXPECT_TRUE(contains(about(errors, "badstate"), "state field \"value\" must be a real number"));
  EXPECT_TRUE(contains(about(errors, "nochild"), "child \"b\" is missing; children are a any, b that of a"));
  EXPECT_TRUE(contains(about(errors, "toomany"), "too many children"));
  EXPECT_TRUE(contains(about(errors, "absent"), "child \"nowhere\" does not exist"));
  const auto loop = all_about(errors, "loop1").empty() ? about(errors, "loop2") : about(errors, "loop1");
  EXPECT_TRUE(contains(loop, "\"loop1\" -> \"loop2\"") || contains(loop, "\"loop2\" -> \"loop1\"")) << loop;
  EXPECT_TRUE(contains(about(errors, "shapes"), "[2] and [3]")) << about(errors, "shapes");
  EXPECT_EQ(about(errors, "good"), "defined twice; the first definition is at script.py:1");
  EXPECT_TRUE(contains(about(errors, "few"), "needs at least 1 of child \"term\""));
  const auto label = all_about(errors, "label");
  ASSERT_EQ(label.size(), 1u) << "what is missing because of a misspelt label is no error of its own";
  EXPECT_TRUE(contains(label[0], "unknown child label \"c\""));
  EXPECT_TRUE(contains(about(errors, "twice"), "child \"a\" is given twice"));

  for (const BuildError& error : errors) {
    EXPECT_NE(error.node, "two") << "a sound node is no error: " << error.message;
    const auto spec = std::find_if(forest.specs.rbegin(), forest.specs.rend(),
                                   [&](const NodeSpec& candidate) { return candidate.name == error.node; });
    ASSERT_NE(spec, forest.specs.rend());
    EXPECT_EQ(error.origin, spec->origin) << error.node;
  }
}

TEST(ForestErrors, TheTextListsThemOneALine) {
  ForestUnderTest forest;
  forest.node("a", "Nothing1234");
  forest.node("b", "Combine", {"nowhere"});
  try {
    forest.build();
    FAIL();
  } catch (const ForestError& error) {
    const std::string text = error.what();
    EXPECT_EQ(text,
              "2 errors in the forest:\n"
              "  script.py:1: node \"a\": unknown node class \"Nothing1234\"\n"
              "  script.py:2: node \"b\": child \"nowhere\" does not exist");
  }
}

TEST(ForestErrors, EveryMissingChildOfANodeIsNamed) {
  ForestUnderTest forest;
  forest.node("pair", "Pair");
  const auto messages = all_about(forest.errors(), "pair");
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_TRUE(contains(messages[0], "child \"a\" is missing"));
  EXPECT_TRUE(contains(messages[1], "child \"b\" is missing"));
}

TEST(ForestErrors, AChildThatDoesNotExistHidesNoOtherError) {
  ForestUnderTest forest;
  forest.node("leaf", "Leaf");
  forest.node("pair", "Pair", {"nowhere"});
  const auto messages = all_about(forest.errors(), "pair");
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_TRUE(contains(messages[0], "\"nowhere\" does not exist"));
  EXPECT_TRUE(contains(messages[1], "child \"b\" is missing"));
  // It still takes its position: the next one is not mistaken for it.
  forest.specs.pop_back();
  forest.specs.push_back({"pair", "Pair", {}, {{"", "nowhere"}, {"", "leaf"}, {"b", "leaf"}}, "script.py:2"});
  const auto more = all_about(forest.errors(), "pair");
  ASSERT_EQ(more.size(), 2u);
  EXPECT_TRUE(contains(more[1], "child \"b\" is given twice: children are a any, b that of a, in this order"));
}

TEST(ForestErrors, ARequiredChildCannotBeLeftOut) {
  ForestUnderTest forest;
  forest.node("leaf", "Leaf");
  forest.node("pair", "Pair", {"leaf", ""});
  forest.node("rest", "Slots", {"leaf", "leaf", ""});
  EXPECT_TRUE(contains(about(forest.errors(), "pair"), "child \"b\" is missing"));
  EXPECT_TRUE(contains(about(forest.errors(), "rest"), "a repeated child is left out"));
}

TEST(ForestErrors, AClassWithoutChildrenTakesNone) {
  ForestUnderTest forest;
  forest.node("leaf", "Leaf");
  forest.node("other", "Leaf", {"leaf"});
  EXPECT_EQ(about(forest.errors(), "other"), "too many children; the class takes no children");
}

TEST(ForestErrors, EveryCycleIsReportedWithItsPath) {
  ForestUnderTest forest;
  forest.node("self", "Combine", {"self"});
  forest.node("a", "Combine", {"b"});
  forest.node("b", "Combine", {"c"});
  forest.node("c", "Combine", {"a"});
  forest.node("above", "Combine", {"a"});  // leads into two cycles, is in none
  forest.node("x", "Combine", {"y", "c"});
  forest.node("y", "Combine", {"x"});
  const auto errors = forest.errors();
  EXPECT_EQ(errors.size(), 3u);
  EXPECT_EQ(about(errors, "self"), "is its own ancestor: \"self\" -> \"self\"");
  EXPECT_TRUE(about(errors, "above").empty());
  const auto has = [&](const std::string& path) {
    return std::any_of(errors.begin(), errors.end(), [&](const auto& error) { return contains(error.message, path); });
  };
  EXPECT_TRUE(has("\"a\" -> \"b\" -> \"c\" -> \"a\"") || has("\"b\" -> \"c\" -> \"a\" -> \"b\"") ||
              has("\"c\" -> \"a\" -> \"b\" -> \"c\""));
  EXPECT_TRUE(has("\"x\" -> \"y\" -> \"x\"") || has("\"y\" -> \"x\" -> \"y\""));
}

TEST(ForestErrors, ShapesWithinACycleAreNotJudged) {
  ForestUnderTest forest;
  forest.node("scalar", "Combine", {"vector"});
  forest.node("vector", "Slots", {"scalar"});
  const auto errors = forest.errors();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_TRUE(contains(errors[0].message, "is its own ancestor"));
}

TEST(ForestErrors, ACycleHidesNoErrorElsewhere) {
  ForestUnderTest forest;
  forest.node("two", "Shaped", {}, {{"shape", 2.0}});
  forest.node("self", "Combine", {"self"});
  forest.node("wrong", "Combine", {"two"});
  const auto errors = forest.errors();
  EXPECT_EQ(errors.size(), 2u);
  EXPECT_TRUE(contains(about(errors, "wrong"), "[2], expected a scalar"));
}

TEST(ForestErrors, WhatFollowsFromAnErrorIsNotReportedAgain) {
  ForestUnderTest forest;
  forest.node("typo", "Laef");
  forest.node("middle", "Pair", {"typo", "typo"});
  forest.node("top", "Combine", {"middle"});
  const auto errors = forest.errors();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].node, "typo");
}

TEST(ForestErrors, ANodeMustHaveAName) {
  ForestUnderTest forest;
  forest.node("", "Leaf");
  EXPECT_EQ(about(forest.errors(), ""), "has no name");
}

TEST(ForestErrors, AClassThatThrowsWhenMadeIsAnErrorOfTheNode) {
  ForestUnderTest forest;
  forest.node("leaf", "Leaf", {}, {{"depends_on", std::vector<std::string>{"weather"}}});
  EXPECT_EQ(about(forest.errors(), "leaf"), "no such dependency: weather");
}

/// Throws what is no std::exception: when it is made, or when it is asked for its dimensions.
class Throwing final : public Node {
 public:
  explicit Throwing(const State& state) : Node(state) {
    if (state.text("when") == "made") throw 42;
  }
  static NodeClass info() {
    return {.name = "Throwing", .state = {{.name = "when", .type = StateType::text, .per_node = true}}};
  }
  TensorShape result_dims(std::span<const TensorShape* const>) const override { throw 42; }

 protected:
  void evaluate(Evaluation&) const override {}
};

TEST(ForestErrors, WhatIsNoExceptionIsAnErrorOfTheNode) {
  ForestUnderTest forest;
  NodeClass throwing = Throwing::info();
  throwing.make = [](const State& state) -> std::shared_ptr<Node> { return std::make_shared<Throwing>(state); };
  forest.registry.add({throwing}, "this test");
  forest.node("made", "Throwing", {}, {{"when", std::string("made")}});
  forest.node("asked", "Throwing", {}, {{"when", std::string("asked")}});
  const auto errors = forest.errors();
  EXPECT_EQ(about(errors, "made"), "threw something that is no std::exception");
  EXPECT_EQ(about(errors, "asked"), "threw something that is no std::exception");
}

}  // namespace
}  // namespace rimetree
