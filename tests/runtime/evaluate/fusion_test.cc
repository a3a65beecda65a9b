// Trees of nodes evaluated as one program give, bit by bit, what the same nodes give one by one: values, flags, missing
// data and failures; and nobody notices but memory.
#include <gtest/gtest.h>

#include "tests/support/random_rime.h"
#include "tests/support/same_bits.h"

namespace rimetree {
namespace {

using test::array, test::RandomRime, test::TestForest, test::Trouble;

struct Outcome {
  std::vector<ResultPtr> results;
  TimingReport timing;
  std::shared_ptr<Forest> forest;
  std::unique_ptr<Evaluator> evaluator;
};

Outcome evaluated(const std::vector<NodeSpec>& specs, const Request& request, const std::vector<std::string>& roots,
                  bool fuse, int threads = 2, std::uint64_t budget = 0) {
  Outcome outcome;
  outcome.forest = Forest::build(specs, test::registry());
  outcome.evaluator = std::make_unique<Evaluator>(
      outcome.forest,
      EvaluatorOptions{
          .threads = threads, .memory_budget = budget, .device = {"none", 0}, .as_written = true, .fuse = fuse});
  std::vector<int> nodes;
  for (const std::string& root : roots) nodes.push_back(outcome.forest->find(root));
  outcome.results = outcome.evaluator->evaluate(request, nodes);
  outcome.timing = outcome.evaluator->timing();
  return outcome;
}

std::vector<std::string> failures_of(const Result& result) {
  std::vector<std::string> all;
  for (const Failure& one : result.failures)
    all.push_back(one.node + "|" + one.node_class + "|" + one.origin + "|" + one.message);
  return all;
}

std::uint64_t evaluations_of(const TimingReport& timing) {
  std::uint64_t n = 0;
  for (const auto& [name, one] : timing.classes) n += one.evaluations;
  return n;
}

class FusionTest : public ::testing::TestWithParam<Trouble> {};

std::string name_of(const ::testing::TestParamInfo<Trouble>& info) {
  static const char* const kNames[] = {"None", "Flagged", "FlaggedByElement", "Missing", "Failing"};
  return kNames[static_cast<int>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(Troubles, FusionTest,
                         ::testing::Values(Trouble::none, Trouble::flagged, Trouble::flagged_by_element,
                                           Trouble::missing, Trouble::failing),
                         name_of);

TEST_P(FusionTest, GivesWhatNodesGiveOneByOne) {
  int smaller = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    const RandomRime rime(seed, GetParam());
    const auto specs = rime.tree.specs();
    const Outcome fused = evaluated(specs, rime.tree.request, rime.roots, true),
                  single = evaluated(specs, rime.tree.request, rime.roots, false);
    for (std::size_t i = 0; i < rime.roots.size(); ++i) {
      SCOPED_TRACE("seed " + std::to_string(seed) + " " + rime.roots[i]);
      EXPECT_EQ(failures_of(*fused.results[i]), failures_of(*single.results[i]));
      test::expect_same_bits(*fused.results[i], *single.results[i]);
    }
    EXPECT_EQ(evaluations_of(fused.timing), evaluations_of(single.timing)) << seed;
    smaller += fused.timing.peak_result_bytes < single.timing.peak_result_bytes;
    if (HasFailure()) return;
  }
  EXPECT_GT(smaller, 5);
}

/// The same numbers; zeros may differ in sign, since single nodes add zeros that a program knows to be none.
void expect_same_numbers(const Vells& a, const Vells& b) {
  ASSERT_EQ(a.empty(), b.empty());
  if (a.empty()) return;
  ASSERT_EQ(a.type(), b.type());
  ASSERT_TRUE(a.dims() == b.dims() && a.cells() == b.cells());
  const auto numbers = [](const Vells& values) {
    const auto* first = static_cast<const double*>(values.host());
    return std::vector<double>(first, first + values.bytes() / sizeof *first);
  };
  EXPECT_EQ(numbers(a), numbers(b));
}

TEST_P(FusionTest, GivesTheDerivativesOfNodesOneByOne) {
  std::size_t n_derivative = 0;
  for (unsigned seed = 300; seed < 360; ++seed) {
    const RandomRime rime(seed, GetParam());
    Request request = rime.tree.request;
    request.derivatives = true;
    const auto specs = rime.tree.specs();
    const Outcome single = evaluated(specs, request, rime.roots, false);
    for (const int threads : {1, 2}) {
      const Outcome fused = evaluated(specs, request, rime.roots, true, threads);
      for (std::size_t i = 0; i < rime.roots.size(); ++i) {
        SCOPED_TRACE("seed " + std::to_string(seed) + " " + rime.roots[i]);
        EXPECT_EQ(failures_of(*fused.results[i]), failures_of(*single.results[i]));
        test::expect_alike(*fused.results[i], *single.results[i], expect_same_numbers);
        n_derivative += fused.results[i]->derivatives.size();
      }
      EXPECT_EQ(evaluations_of(fused.timing), evaluations_of(single.timing)) << seed;
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(n_derivative, 500u);
}

/// x -> sin(x) -> ... as a chain of n nodes n0, n1, ...
TestForest chain(int n, std::size_t cells) {
  TestForest tree;
  std::vector<double> time, values;
  for (std::size_t i = 0; i < cells; ++i) {
    time.push_back(5e9 + double(i));
    values.push_back(0.001 * double(i));
  }
  tree.request.cells = test::cells(time, {1e9});
  tree.constant("x", array({std::int64_t(cells), 1}, values), 2);
  tree.constant("one", 0.5);
  tree.node("n0", "Add", {"x", "one"});
  for (int i = 1; i < n; ++i) {
    const std::string before = "n" + std::to_string(i - 1);
    if (i % 2 == 0)
      tree.node("n" + std::to_string(i), "Multiply", {before, "one"});
    else
      tree.node("n" + std::to_string(i), "Sin", {before});
  }
  return tree;
}

TEST(Fusion, KeepsNothingInBetween) {
  TestForest tree = chain(3, 5000);
  TestForest::Children terms;
  for (int i = 0; i < 8; ++i) {
    terms.push_back("term" + std::to_string(i));
    tree.constant("c" + std::to_string(i), double(i)).node(terms.back(), "Multiply", {"x", "c" + std::to_string(i)});
  }
  tree.node("sum", "Add", terms);
  const Outcome fused = evaluated(tree.specs(), tree.request, {"sum"}, true),
                single = evaluated(tree.specs(), tree.request, {"sum"}, false);
  test::expect_same_bits(*fused.results[0], *single.results[0]);
  // The constants and the sum; else all terms as well.
  EXPECT_LE(fused.timing.peak_result_bytes, 2 * 5000 * sizeof(double) + 64);
  EXPECT_GE(single.timing.peak_result_bytes, 9 * 5000 * sizeof(double));
  EXPECT_EQ(fused.timing.classes.at("Multiply").evaluations, 8u);
}

TEST(Fusion, WhatIsAskedForIsThere) {
  const TestForest tree = chain(6, 300);
  const std::vector<std::string> roots{"n5", "n2", "n3"};
  const Outcome fused = evaluated(tree.specs(), tree.request, roots, true),
                single = evaluated(tree.specs(), tree.request, roots, false);
  for (std::size_t i = 0; i < roots.size(); ++i) test::expect_same_bits(*fused.results[i], *single.results[i]);
  // Later, too, where it was a part before.
  const int n4 = fused.forest->find("n4");
  test::expect_same_bits(*fused.evaluator->evaluate(tree.request, std::vector<int>{n4})[0],
                         *single.evaluator->evaluate(tree.request, std::vector<int>{n4})[0]);
}

TEST(Fusion, InAStepWhatIsAskedForIsThere) {
  TestForest tree = chain(1, 300);
  tree.parm("p", 0.7).node("y", "Multiply", {"x", "p"}).node("sine", "Sin", {"y"});
  for (const bool fuse : {true, false}) {
    Evaluator evaluator(Forest::build(tree.specs(), test::registry()),
                        {.device = {"none", 0}, .as_written = true, .fuse = fuse});
    const Forest& forest = evaluator.forest();
    const auto results = evaluator.evaluate_step(tree.request, {forest.find("sine"), forest.find("y")});
    EXPECT_EQ(results[0]->value.real()[7], std::sin(results[1]->value.real()[7]));
  }
}

TEST(Fusion, WhatIsKeptBetweenEvaluationsIsNoPart) {
  TestForest tree = chain(1, 300);
  // y depends on the cells only, its consumer on a parameter as well.
  tree.parm("p", 0.7).node("y", "Sin", {"x"}).node("z", "Multiply", {"y", "p"});
  const Outcome fused = evaluated(tree.specs(), tree.request, {"z"}, true);
  fused.evaluator->reset_timing();
  fused.forest->set_state(fused.forest->find("p"), {{"value", 0.9}});
  fused.evaluator->evaluate(tree.request, std::vector<int>{fused.forest->find("z")});
  const TimingReport& timing = fused.evaluator->timing();
  EXPECT_FALSE(timing.classes.contains("Sin") && timing.classes.at("Sin").evaluations > 0);
  EXPECT_EQ(timing.classes.at("Multiply").evaluations, 1u);
}

TEST(Fusion, NodesWithSeveralConsumersAreEvaluatedOnce) {
  TestForest tree = chain(3, 300);
  tree.node("square", "Multiply", {"n2", "n2"}).node("sum", "Add", {"n2", "square"});
  const Outcome fused = evaluated(tree.specs(), tree.request, {"sum"}, true),
                single = evaluated(tree.specs(), tree.request, {"sum"}, false);
  test::expect_same_bits(*fused.results[0], *single.results[0]);
  EXPECT_EQ(fused.timing.classes.at("Sin").evaluations, 1u);
  EXPECT_EQ(evaluations_of(fused.timing), evaluations_of(single.timing));
}

TEST(Fusion, WhatIsReadSeveralTimesWithinAGroupIsNotInMemory) {
  TestForest tree = chain(3, 5000);
  tree.node("square", "Multiply", {"n2", "n2"}).node("sum", "Add", {"n2", "square"}).node("end", "Sqr", {"sum"});
  tree.node("elsewhere", "Negate", {"n1"}).node("both", "Composer", {"end", "elsewhere"});
  const Outcome fused = evaluated(tree.specs(), tree.request, {"end"}, true),
                single = evaluated(tree.specs(), tree.request, {"end"}, false);
  test::expect_same_bits(*fused.results[0], *single.results[0]);
  EXPECT_LE(fused.timing.peak_result_bytes, 2 * 5000 * sizeof(double) + 64);  // x and the end
  // n1 is read from elsewhere.
  test::expect_same_bits(*evaluated(tree.specs(), tree.request, {"both"}, true).results[0],
                         *evaluated(tree.specs(), tree.request, {"both"}, false).results[0]);
}

TEST(Fusion, OneLargeResultIsDividedAmongThreads) {
  const TestForest tree = chain(4, 40000);
  const Outcome one = evaluated(tree.specs(), tree.request, {"n3"}, true, 1);
  for (const bool fuse : {true, false})
    for (const int threads : {2, 3, 7})
      test::expect_same_bits(*evaluated(tree.specs(), tree.request, {"n3"}, fuse, threads).results[0], *one.results[0]);
}

/// Functions of stacks of n numbers, and of n matrices: "end" of both, "chain" of the numbers only.
TestForest stacks(std::int64_t n, std::int64_t n_time) {
  TestForest tree;
  std::vector<double> time, numbers, matrices;
  for (std::int64_t t = 0; t < n_time; ++t) time.push_back(5e9 + double(t));
  for (std::int64_t i = 0; i < n * n_time; ++i) numbers.push_back(std::sin(0.37 * double(i)));
  for (std::int64_t i = 0; i < 4 * n; ++i) matrices.push_back(std::cos(0.21 * double(i)));
  tree.request.cells = test::cells(time, {1e9});
  tree.constant("a", array({n, n_time, 1}, numbers), 2).constant("m", array({n, 2, 2}, matrices)).parm("p", 0.8);
  tree.node("scaled", "Multiply", {"a", "p"}).node("sine", "Sin", {"scaled"}).node("chain", "Add", {"sine", "a"});
  tree.node("terms", "MatrixMultiply", {"chain", "m"}).node("sum", "Add", {"terms", "m"});
  tree.node("complex", "ToComplex", {"sum", "terms"}).node("square", "Multiply", {"complex", "complex"});
  tree.node("end", "MatrixMultiply", {"square", "m"});
  return tree;
}

TEST(Fusion, StacksAreMappedOver) {
  for (const std::int64_t n : {2, 8, 9, 12, 100})
    for (const std::string root : {"chain", "end"})
      for (const bool derives : {false, true})
        for (const int threads : {1, 3}) {
          SCOPED_TRACE(std::to_string(n) + root);
          TestForest tree = stacks(n, 300);
          tree.request.derivatives = derives;
          const Outcome fused = evaluated(tree.specs(), tree.request, {root}, true, threads),
                        single = evaluated(tree.specs(), tree.request, {root}, false, threads);
          test::expect_alike(*fused.results[0], *single.results[0], expect_same_numbers);
          EXPECT_EQ(fused.results[0]->derivatives.size(), derives ? 1u : 0u);
          EXPECT_EQ(evaluations_of(fused.timing), evaluations_of(single.timing));
          // Beside the children no more than what comes out is in memory.
          EXPECT_LT(fused.timing.peak_result_bytes, single.timing.peak_result_bytes);
          EXPECT_EQ(fused.timing.classes.at("Sin").batches, 0u);
        }
}

TEST(Fusion, FlagsOfStacksAreThoseOfSingleNodes) {
  TestForest tree = stacks(20, 30);
  tree.node("flagged", "ZeroFlagger", {"chain"}).node("b", "Cos", {"flagged"}).node("c", "Multiply", {"b", "a"});
  tree.node("d", "MatrixMultiply", {"c", "m"});
  const Outcome fused = evaluated(tree.specs(), tree.request, {"d"}, true),
                single = evaluated(tree.specs(), tree.request, {"d"}, false);
  test::expect_same_bits(*fused.results[0], *single.results[0]);
  EXPECT_FALSE(fused.results[0]->flags.empty());
}

TEST(Fusion, FlagsAlongAChainAreInMemoryOnce) {
  for (const bool fuse : {true, false}) {
    TestForest tree = chain(1, 300);
    tree.node("flagged", "ZeroFlagger", {"x"}).node("a", "Sin", {"flagged"}).node("b", "Multiply", {"a", "flagged"});
    const std::vector<std::string> roots{"flagged", "a", "b"};
    const Outcome outcome = evaluated(tree.specs(), tree.request, roots, fuse);
    const auto flags = [&](int i) -> const Flags& { return outcome.results[std::size_t(i)]->flags; };
    EXPECT_EQ(std::vector<std::int32_t>(flags(0).data(), flags(0).data() + 3), (std::vector<std::int32_t>{0, 1, 1}));
    EXPECT_EQ(flags(1).storage(), flags(0).storage());
    EXPECT_EQ(flags(2).storage(), flags(0).storage());
  }
}

TEST(Fusion, GradientsAreThoseOfSingleNodes) {
  for (unsigned seed = 200; seed < 220; ++seed) {
    const RandomRime rime(seed, Trouble::none);
    ValueAndGradient found[2];
    for (const bool fuse : {false, true}) {
      const auto forest = Forest::build(rime.tree.specs(), test::registry());
      Evaluator evaluator(forest, {.threads = 2, .device = {"none", 0}, .as_written = true, .fuse = fuse});
      Request request = rime.tree.request;
      request.derivatives = false;
      found[fuse] = evaluator.value_and_gradient(request, forest->find(rime.objective));
    }
    EXPECT_EQ(found[0].gradient.by_node(), found[1].gradient.by_node()) << seed;
  }
}

// What it says about itself is right for a class that does more than its body.
TEST(Fusion, AClassThatDoesMoreTakesNoPart) {
  TestForest tree;
  tree.constant("data", array({}, {1})).constant("x", array({}, {2}));
  tree.node("model", "Sin", {"x"}).node("residual", "Condeq", {"data", "model"}).node("end", "Negate", {"residual"});
  const Outcome fused = evaluated(tree.specs(), tree.request, {"end"}, true),
                single = evaluated(tree.specs(), tree.request, {"end"}, false);
  test::expect_same_bits(*fused.results[0], *single.results[0]);
}

}  // namespace
}  // namespace rimetree
