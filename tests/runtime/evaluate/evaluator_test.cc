// Evaluator: same bits for any number of threads and any budget; memory, failures, cancellation, timing.
#include "runtime/evaluate/evaluator.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "memory/host_device.h"
#include "runtime/core/error.h"
#include "tests/support/test_nodes.h"

namespace rimetree {
namespace {

using test::ForestUnderTest;
using test::grid;
using test::request;
using test::values;

std::map<std::string, StateValue> depends_on_all(const std::vector<std::string>& what, double value) {
  return {{"depends_on", what}, {"value", value}};
}

/// A tangled forest of `n` nodes from a fixed linear congruential sequence; returns its roots.
std::vector<int> tangle(ForestUnderTest& under_test, int n) {
  std::uint32_t seed = 12345;
  const auto draw = [&](int below) {
    seed = seed * 1664525u + 1013904223u;
    return static_cast<int>((seed >> 8) % static_cast<std::uint32_t>(below));
  };
  const std::vector<std::vector<std::string>> kinds{{}, {"domain"}, {"parameter"}, {"domain", "data"}};
  for (int i = 0; i < n; ++i) {
    const std::string name = "n" + std::to_string(i);
    if (i < 12) {
      under_test.node(name, "Leaf", {}, depends_on_all(kinds[static_cast<std::size_t>(i % 4)], 0.1 * i + 1));
      continue;
    }
    std::vector<std::string> children;
    for (int k = draw(3) + 1; k > 0; --k) children.push_back("n" + std::to_string(std::max(0, i - 1 - draw(30))));
    under_test.node(name, "Combine", children, {{"factor", 1.0 + draw(3)}});
  }
  return under_test.build()->roots();
}

/// Every number of the results and their derivatives, as bits.
std::vector<std::uint64_t> bits(const std::vector<ResultPtr>& results) {
  std::vector<std::uint64_t> all;
  for (const ResultPtr& result : results) {
    EXPECT_TRUE(result->ok());
    for (const double value : values(*result)) all.push_back(std::bit_cast<std::uint64_t>(value));
    for (const Derivative& derivative : result->derivatives)
      for (std::size_t i = 0; i < derivative.value.size(); ++i)
        all.push_back(std::bit_cast<std::uint64_t>(derivative.value.real()[i]));
  }
  return all;
}

TEST(Evaluator, SameBitsForAnyNumberOfThreadsAndAnyBudget) {
  ForestUnderTest under_test;
  const std::vector<int> roots = tangle(under_test, 400);
  ASSERT_GT(roots.size(), 5u);
  const auto forest = under_test.build();
  Request of = request(grid(3, 5));
  of.derivatives = true;
  Evaluator reference(forest, {.threads = 1, .memory_budget = std::uint64_t{1} << 40});
  const auto expected = bits(reference.evaluate(of, roots));
  EXPECT_GT(expected.size(), roots.size());
  const int once = under_test.log->total();
  for (const int threads : {1, 2, 4})
    for (const std::uint64_t budget : {std::uint64_t{1} << 40, std::uint64_t{20000}, std::uint64_t{1}}) {
      under_test.log->clear();
      Evaluator evaluator(forest, {.threads = threads, .memory_budget = budget});
      EXPECT_EQ(evaluator.threads(), threads);
      EXPECT_EQ(bits(evaluator.evaluate(of, roots)), expected) << threads << " threads, budget " << budget;
      EXPECT_EQ(under_test.log->total(), once) << "each node once, also over many waves; budget " << budget;
    }
}

TEST(Evaluator, ResultsComeInTheOrderOfTheRoots) {
  ForestUnderTest under_test;
  for (int i = 0; i < 5; ++i) under_test.node("n" + std::to_string(i), "Leaf", {}, {{"value", 1.0 * i}});
  under_test.node("top", "Slots", {"n1"});
  Evaluator evaluator(under_test.build(), {.threads = 2});
  const auto results = evaluator.evaluate(request(), std::vector<int>{3, 0, 5, 3, 1});
  ASSERT_EQ(results.size(), 5u);
  EXPECT_EQ(values(*results[0]), std::vector<double>{3});
  EXPECT_EQ(values(*results[1]), std::vector<double>{0});
  EXPECT_EQ(results[0], results[3]);
  EXPECT_EQ(values(*results[4]), std::vector<double>{1}) << "a root below another root";
  EXPECT_TRUE(evaluator.evaluate(request(), std::vector<int>{}).empty());
  EXPECT_THROW(evaluator.evaluate(request(), "n9"), Error);
}

TEST(Evaluator, DefaultsAreTheMachines) {
  Evaluator evaluator(ForestUnderTest().build());
  EXPECT_GE(evaluator.threads(), 1);
  EXPECT_GT(evaluator.memory_budget(), 0u);
}

/// `width` chains of `depth` nodes on the cells; returns their ends.
std::vector<int> chains(ForestUnderTest& under_test, int width, int depth) {
  std::vector<int> ends;
  for (int w = 0; w < width; ++w)
    for (int d = 0; d < depth; ++d) {
      const std::string name = std::to_string(w) + "-" + std::to_string(d);
      if (d == 0)
        under_test.node(name, "Leaf", {}, depends_on_all({"domain"}, w));
      else
        under_test.node(name, "Combine", {std::to_string(w) + "-" + std::to_string(d - 1)});
      if (d == depth - 1) ends.push_back(w * depth + d);
    }
  return ends;
}

constexpr std::uint64_t kChainBytes = 100 * sizeof(double);  // of one real result on 10 by 10 cells

/// Bytes of results that someone holds.
std::uint64_t live_bytes(Evaluator& evaluator) {
  return memory::host().statistics().bytes_in_use - evaluator.pool().idle_bytes();
}

TEST(EvaluatorMemory, PeakFollowsTheBudget) {
  ForestUnderTest under_test;
  const std::vector<int> ends = chains(under_test, 16, 6);
  const auto forest = under_test.build();
  const auto peak = [&](std::uint64_t budget) {
    Evaluator evaluator(forest, {.threads = 1, .memory_budget = budget});
    evaluator.evaluate(request(grid(10, 10)), ends);
    return evaluator.timing().peak_result_bytes;
  };
  EXPECT_EQ(peak(std::uint64_t{1} << 40), 2 * 16 * kChainBytes) << "one level and the next";
  EXPECT_EQ(peak(1), (16 + 1) * kChainBytes) << "the roots, and one chain at a time";
}

TEST(EvaluatorMemory, InteriorResultsAreReleasedWhenTheirLastConsumerIsDone) {
  ForestUnderTest under_test;
  const std::vector<int> ends = chains(under_test, 4, 10);
  Evaluator evaluator(under_test.build(), {.threads = 1});
  const std::uint64_t before = live_bytes(evaluator);
  std::uint64_t most = 0;
  under_test.log->on_call = [&](const Node&) { most = std::max(most, live_bytes(evaluator) - before); };
  auto results = evaluator.evaluate(request(grid(10, 10)), ends);
  const std::uint64_t block = memory::Pool::create(memory::host())->allocate(kChainBytes) ? 896 : 0;  // its size class
  EXPECT_LE(most, 2 * 4 * block);
  EXPECT_EQ(live_bytes(evaluator) - before, 4 * block) << "the roots stay";
  results.clear();
  EXPECT_EQ(live_bytes(evaluator) - before, 4 * block) << "kept for the next request";
  evaluator.forget();
  EXPECT_EQ(live_bytes(evaluator), before);
  EXPECT_EQ(evaluator.pool().idle_bytes(), 0u);
}

TEST(EvaluatorMemory, TileAfterTileTakesNoMoreThanTheFirst) {
  ForestUnderTest under_test;
  const std::vector<int> ends = chains(under_test, 8, 3);
  Evaluator evaluator(under_test.build(), {.threads = 1});
  std::uint64_t most = 0;
  under_test.log->on_call = [&](const Node&) { most = std::max(most, live_bytes(evaluator)); };
  evaluator.evaluate(request(grid(10, 10, 0)), ends);
  const std::uint64_t first = most;
  const auto allocations = memory::host().statistics().allocations;
  for (int tile = 1; tile < 5; ++tile) evaluator.evaluate(request(grid(10, 10, 10 * tile)), ends);
  EXPECT_EQ(most, first) << "results of the last tile must be gone while the next one is computed";
  EXPECT_EQ(memory::host().statistics().allocations, allocations) << "nothing is allocated after the first tile";
}

TEST(EvaluatorMemory, PeakIsRightWhenAKeptRootIsReusedBelowAnother) {
  ForestUnderTest under_test;
  std::vector<int> leaves = chains(under_test, 4, 1);
  under_test.node("sum", "Combine", {"0-0", "1-0", "2-0", "3-0"});
  under_test.node("top", "Combine", {"sum"});
  under_test.node("over", "Combine", {"top"});
  Evaluator evaluator(under_test.build(), {.threads = 1});
  evaluator.evaluate(request(grid(10, 10)), leaves);
  EXPECT_EQ(evaluator.timing().peak_result_bytes, 4 * kChainBytes);
  evaluator.evaluate(request(grid(10, 10)), "over");
  EXPECT_EQ(evaluator.timing().peak_result_bytes, 5 * kChainBytes);
}

TEST(EvaluatorMemory, ResultsOutliveTheEvaluator) {
  ForestUnderTest under_test;
  under_test.node("x", "Leaf", {}, depends_on_all({}, 4));
  ResultPtr result;
  {
    Evaluator evaluator(under_test.build(), {.threads = 1});
    result = evaluator.evaluate(request(), "x");
  }
  EXPECT_EQ(values(*result), std::vector<double>{4});
}

TEST(EvaluatorFailures, ABatchCallThatThrowsFailsAllItsNodes) {
  ForestUnderTest under_test;
  under_test.node("x", "Leaf");
  under_test.node("a", "Whole", {"x"}, {{"throws", true}});
  under_test.node("b", "Whole", {"x"}, {{"throws", true}});
  under_test.node("c", "Whole", {"x"});
  const auto forest = under_test.build();
  Evaluator evaluator(forest, {.threads = 2});
  const auto results = evaluator.evaluate(request(), std::vector<int>{1, 2, 3});
  for (const int k : {0, 1}) {
    ASSERT_EQ(results[k]->status, Result::Status::failed);
    ASSERT_EQ(results[k]->failures.size(), 1u);
    EXPECT_EQ(results[k]->failures[0].message, "the whole batch is spoilt");
    EXPECT_EQ(results[k]->failures[0].node, k == 0 ? "a" : "b");
    EXPECT_EQ(results[k]->failures[0].origin, k == 0 ? "script.py:2" : "script.py:3");
  }
  EXPECT_TRUE(results[2]->ok());
}

TEST(EvaluatorFailures, OutOfMemoryEndsTheEvaluationAndIsNotKept) {
  for (const int threads : {1, 4}) {
    ForestUnderTest under_test;
    for (int i = 0; i < 10; ++i) under_test.node("n" + std::to_string(i), "Awkward", {}, {{"how", std::string("ok")}});
    const auto forest = under_test.build();
    Evaluator evaluator(forest, {.threads = threads});
    forest->set_state(7, {{"how", std::string("runs out of memory")}});
    EXPECT_THROW(evaluator.evaluate(request(), forest->roots()), memory::OutOfMemory) << threads;
    forest->set_state(7, {{"how", std::string("ok")}});
    for (const ResultPtr& result : evaluator.evaluate(request(), forest->roots())) EXPECT_TRUE(result->ok());
  }
}

TEST(EvaluatorCancellation, MidBatchLeavesTheEvaluatorUsable) {
  for (const int threads : {1, 4}) {
    ForestUnderTest under_test;
    std::vector<int> roots = tangle(under_test, 300);
    const auto forest = under_test.build();
    Evaluator reference(forest, {.threads = 1});
    const auto expected = bits(reference.evaluate(request(), roots));
    Evaluator evaluator(forest, {.threads = threads, .memory_budget = 5000});
    for (const int stop_after : {1, 5, 50, 200}) {
      Cancellation cancellation;
      std::atomic<int> calls{0};
      under_test.log->on_call = [&](const Node&) {
        if (++calls == stop_after) cancellation.request();
      };
      EXPECT_THROW(evaluator.evaluate(request(grid(2, 3, stop_after)), roots, &cancellation), Cancelled);
      EXPECT_GE(calls, stop_after);
      EXPECT_LT(calls, 300);
    }
    under_test.log->on_call = nullptr;
    EXPECT_EQ(bits(evaluator.evaluate(request(), roots)), expected);
  }
}

TEST(EvaluatorCancellation, WhatWasFinishedBeforeIsNotLost) {
  ForestUnderTest under_test;
  under_test.node("c", "Leaf");
  under_test.node("d", "Leaf", {}, depends_on_all({"domain"}, 1));
  under_test.node("top", "Combine", {"c", "d"});
  Evaluator evaluator(under_test.build(), {.threads = 1});
  Cancellation cancellation;
  under_test.log->on_call = [&](const Node& node) {
    if (node.name() == "top") cancellation.request();
  };
  EXPECT_THROW(evaluator.evaluate(request(), {2}, &cancellation), Cancelled);
  under_test.log->clear();
  under_test.log->on_call = nullptr;
  EXPECT_TRUE(evaluator.evaluate(request(), "top")->ok());
  EXPECT_EQ(under_test.log->calls("c"), 0) << "kept from before";
}

TEST(EvaluatorCancellation, BeforeTheStartNothingIsComputed) {
  ForestUnderTest under_test;
  under_test.node("x", "Leaf");
  under_test.node("sink", "Always", {"x"});
  Evaluator evaluator(under_test.build(), {.threads = 1});
  Cancellation cancellation;
  cancellation.request();
  EXPECT_THROW(evaluator.evaluate(request(), {0}, &cancellation), Cancelled);
  EXPECT_EQ(under_test.log->total(), 0);
  // Nor where a class does not look: the child is there already, its parent runs on the calling thread.
  evaluator.evaluate(request(), "x");
  EXPECT_THROW(evaluator.evaluate(request(), {1}, &cancellation), Cancelled);
  EXPECT_EQ(under_test.log->calls("sink"), 0);
}

TEST(EvaluatorTiming, CountsAndSumsAddUp) {
  ForestUnderTest under_test;
  chains(under_test, 5, 3);
  const auto forest = under_test.build();
  Evaluator evaluator(forest, {.threads = 1});
  evaluator.evaluate(request(), forest->roots());
  evaluator.evaluate(request(), forest->roots());
  const TimingReport& timing = evaluator.timing();
  ASSERT_EQ(timing.classes.size(), 2u);
  const ClassTiming& leaf = timing.classes.at("Leaf");
  const ClassTiming& combine = timing.classes.at("Combine");
  EXPECT_EQ(leaf.evaluations, 5u);
  EXPECT_EQ(leaf.batches, 1u);
  EXPECT_EQ(leaf.reused, 0u);
  EXPECT_EQ(combine.evaluations, 10u);
  EXPECT_EQ(combine.batches, 2u) << "one for each level";
  EXPECT_EQ(combine.reused, 5u) << "the roots, the second time";
  EXPECT_GT(leaf.seconds, 0);
  EXPECT_GT(timing.overhead_seconds(), 0);
  EXPECT_DOUBLE_EQ(timing.overhead_seconds() + leaf.seconds + combine.seconds, timing.total_seconds);
  evaluator.reset_timing();
  EXPECT_EQ(evaluator.timing().total_seconds, 0);
  EXPECT_TRUE(evaluator.timing().classes.empty());
}

TEST(Warnings, EachKindIsSaidOnce) {
  Warnings warnings;
  warnings.add("large cells", "first");
  warnings.add("large cells", "second");
  warnings.add("other", "third");
  EXPECT_EQ(warnings.list(), (std::vector<std::string>{"first", "third"}));
}

}  // namespace
}  // namespace rimetree
