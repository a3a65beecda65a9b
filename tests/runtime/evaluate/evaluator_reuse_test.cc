// Evaluator: only what a change reaches is computed again.
#include <gtest/gtest.h>

#include <atomic>

#include "tests/support/test_nodes.h"

namespace rimetree {
namespace {

using test::ForestUnderTest;
using test::grid;
using test::request;
using test::values;

using Names = std::vector<std::string>;

std::map<std::string, StateValue> depends_on(const std::string& what, double value = 1) {
  return {{"depends_on", std::vector<std::string>{what}}, {"value", value}};
}

/// top = (((constants, domain), data), parameter), iteration: every kind of dependency at a level of its own.
class Reuse : public ::testing::Test {
 protected:
  void SetUp() override {
    under_test.node("c", "Leaf");
    under_test.node("cc", "Combine", {"c"});
    under_test.node("d", "Leaf", {}, depends_on("domain"));
    under_test.node("s", "Leaf", {}, depends_on("data"));
    under_test.node("p", "Leaf", {}, depends_on("parameter"));
    under_test.node("i", "Leaf", {}, depends_on("iteration"));
    under_test.node("cd", "Combine", {"cc", "d"});
    under_test.node("cds", "Combine", {"cd", "s"});
    under_test.node("cdsp", "Combine", {"cds", "p"});
    under_test.node("top", "Combine", {"cdsp", "i"});
    forest = under_test.build();
    evaluator = std::make_unique<Evaluator>(forest, EvaluatorOptions{.threads = 2});
  }
  /// What is evaluated for a request, by name; checks that the result is that of a fresh evaluator.
  Names evaluated(const Request& of, const std::string& root = "top") {
    under_test.log->clear();
    const ResultPtr result = evaluator->evaluate(of, root);
    const Names names = under_test.log->evaluated();
    EXPECT_EQ(static_cast<int>(names.size()), under_test.log->total()) << "none of them twice";
    Evaluator fresh(forest, {.threads = 1});
    EXPECT_EQ(values(*result), values(*fresh.evaluate(of, root))) << "what is kept must be what would be computed";
    return names;
  }
  ForestUnderTest under_test;
  std::shared_ptr<Forest> forest;
  std::unique_ptr<Evaluator> evaluator;
};

TEST_F(Reuse, EverythingOnceThenNothing) {
  EXPECT_EQ(evaluated(request()), (Names{"c", "cc", "cd", "cds", "cdsp", "d", "i", "p", "s", "top"}));
  EXPECT_EQ(evaluated(request()), Names{});
  EXPECT_EQ(evaluated(request(grid())), Names{}) << "other cells that are equal";
}

TEST_F(Reuse, AnIterationComputesWhatDependsOnIt) {
  Request next = request();
  evaluated(next);
  for (next.iteration = 1; next.iteration < 4; ++next.iteration) EXPECT_EQ(evaluated(next), (Names{"i", "top"}));
}

TEST_F(Reuse, AParameterComputesItsDescendantsOnly) {
  evaluated(request());
  for (const double value : {2.0, 3.0}) {
    forest->set_state(forest->find("p"), {{"value", value}});
    EXPECT_EQ(evaluated(request()), (Names{"cdsp", "p", "top"}));
    EXPECT_EQ(evaluated(request()), Names{});
  }
}

TEST_F(Reuse, NewDataComputeWhatDependsOnThem) {
  Request next = request();
  evaluated(next);
  next.data_id = 1;
  EXPECT_EQ(evaluated(next), (Names{"cds", "cdsp", "s", "top"}));
}

TEST_F(Reuse, NewCellsLeaveConstantsAlone) {
  evaluated(request());
  EXPECT_EQ(evaluated(request(grid(2, 3, 100))), (Names{"cd", "cds", "cdsp", "d", "top"}));
  EXPECT_EQ(evaluated(request(grid(5, 4))), (Names{"cd", "cds", "cdsp", "d", "top"})) << "of another shape";
}

TEST_F(Reuse, PrecisionAndDerivativesAreNotMixedUp) {
  Request other = request();
  evaluated(other);
  other.precision = Precision::single;
  EXPECT_EQ(evaluated(other).size(), 10u);
  other.derivatives = true;
  EXPECT_EQ(evaluated(other), (Names{"cdsp", "p", "top"})) << "what depends on no solvable parameter has none";
  EXPECT_EQ(evaluator->evaluate(other, "top")->derivatives.size(), 1u);
}

TEST_F(Reuse, AnyStateChangeCounts) {
  evaluated(request());
  forest->set_state(forest->find("cc"), {{"factor", 2.0}});
  EXPECT_EQ(evaluated(request()), (Names{"c", "cc", "cd", "cds", "cdsp", "d", "top"}));
}

TEST_F(Reuse, ForgettingComputesEverythingAgain) {
  evaluated(request());
  evaluator->forget();
  EXPECT_EQ(evaluated(request()).size(), 10u);
}

TEST_F(Reuse, AnotherRootUsesWhatIsThere) {
  evaluated(request());
  EXPECT_EQ(evaluated(request(), "cd"), Names{}) << "kept for requests with other data";
  EXPECT_EQ(evaluated(request(), "d"), Names{"d"}) << "not worth keeping for its parent, which is kept";
  EXPECT_EQ(evaluated(request(), "d"), Names{}) << "kept since it was asked for";
  EXPECT_EQ(evaluated(request()), Names{});
}

TEST_F(Reuse, WithinOneRequestASharedNodeIsComputedOnce) {
  ForestUnderTest shared;
  shared.node("leaf", "Leaf");
  shared.node("both", "Combine", {"leaf", "leaf"});
  std::vector<int> roots;
  for (int k = 0; k < 50; ++k) {
    shared.node("v" + std::to_string(k), "Combine", {"both", "leaf", "both"});
    roots.push_back(2 + k);
  }
  for (const std::uint64_t budget : {std::uint64_t{1} << 30, std::uint64_t{1}}) {
    shared.log->clear();
    Evaluator of_shared(shared.build(), {.threads = 2, .memory_budget = budget});
    of_shared.evaluate(request(), roots);
    EXPECT_EQ(shared.log->calls("both"), 1) << "budget " << budget;
    EXPECT_EQ(shared.log->total(), 52) << "budget " << budget;
  }
}

TEST_F(Reuse, NodesThatAlwaysEvaluateDoButWhatIsBelowIsKept) {
  ForestUnderTest always;
  always.node("c", "Leaf");
  always.node("s", "Leaf", {}, depends_on("data"));
  always.node("cs", "Combine", {"c", "s"});
  std::vector<int> sinks;
  for (int k = 0; k < 64; ++k) {
    always.node("sink" + std::to_string(k), "Always", {"cs"});
    sinks.push_back(3 + k);
  }
  Evaluator evaluator_of_always(always.build(), {.threads = 4});
  const auto caller = std::this_thread::get_id();
  std::atomic<bool> elsewhere{false};
  always.log->on_call = [&](const Node& node) {
    if (!node.name().starts_with("sink")) return;
    if (std::this_thread::get_id() != caller) elsewhere = true;
    // Long enough for other threads to wake up and take a share, if they were given one.
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(100);
    while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
  };
  for (int k = 0; k < 3; ++k) evaluator_of_always.evaluate(request(), sinks);
  for (int k = 0; k < 64; ++k) EXPECT_EQ(always.log->calls("sink" + std::to_string(k)), 3);
  EXPECT_EQ(always.log->calls("c"), 1);
  EXPECT_FALSE(elsewhere) << "single-threaded nodes run on the calling thread";
}

TEST_F(Reuse, AStateThatPartsABatchPartsIt) {
  // The class evaluates its whole batch with the state of one node, as PSV does: after a change of one node's state
  // the two may not share a batch any more.
  ForestUnderTest whole;
  whole.node("x", "Leaf", {}, {{"value", 3.0}});
  whole.node("a", "Whole", {"x"});
  whole.node("b", "Whole", {"x"});
  const auto tree = whole.build();
  Evaluator batches(tree, {.threads = 1});
  const auto both = [&] {
    const auto results = batches.evaluate(request(), std::vector<int>{1, 2});
    return std::vector<double>{values(*results[0])[0], values(*results[1])[0]};
  };
  EXPECT_EQ(both(), (std::vector<double>{3, 3}));
  EXPECT_EQ(whole.log->batches(), std::vector<std::size_t>{2});
  tree->set_state(2, {{"scale", 10.0}});
  batches.forget();
  EXPECT_EQ(both(), (std::vector<double>{3, 30}));
  tree->set_state(2, {{"scale", 1.0}, {"tag", std::int64_t{5}}});
  batches.forget();
  whole.log->clear();
  EXPECT_EQ(both(), (std::vector<double>{3, 3}));
  EXPECT_EQ(whole.log->batches(), std::vector<std::size_t>{2}) << "and alike again they share one";
}

}  // namespace
}  // namespace rimetree
