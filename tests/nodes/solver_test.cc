// Solver: its result, what it leaves behind, and how often it evaluates what. Fits are tested with planted solutions in
// tests/runtime/solve and tests/trees.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

/// data = 4 and 6 for x and 2 x, which count once each, as they vary along no axis: least squares gives x = 16/5, with
/// residuals 0.8 and -0.4.
TestForest two_data(TestForest::Fields state = {}) {
  TestForest forest;
  forest.constant("four", 4.0).constant("six", 6.0).constant("two", 2.0).parm("x", 0);
  forest.node("2x", "Multiply", {"two", "x"});
  forest.node("a", "Condeq", {"four", "x"}).node("b", "Condeq", {"six", "2x"});
  return forest.node("s", "Solver", {"a", "b"}, state);
}

TEST(SolverNode, GivesChiSquareEquationsAndConvergence) {
  TestForest forest = two_data();
  const ResultPtr s = forest.evaluate("s");
  expect_ok(s);
  EXPECT_NEAR(value_at(s->value, 0).re, 16 + 36, 1e-12);
  EXPECT_NEAR(value_at(s->value, 1).re, 0.64 + 0.16, 1e-9);
  EXPECT_EQ(value_at(s->value, 2).re, 2);
  EXPECT_GT(value_at(s->value, 3).re, 0);
  EXPECT_EQ(value_at(s->value, 4).re, 1);
}

TEST(SolverNode, LeavesTheSolutionInTheForestAndReports) {
  TestForest forest = two_data();
  forest.evaluate("s");
  EXPECT_NEAR(forest.built->node(forest.built->find("x")).state().array("value").data[0], 3.2, 1e-4);
  ASSERT_EQ(forest.evaluator->solves().reports.size(), 1u);
  const SolveReport& report = forest.evaluator->solves().reports[0];
  ASSERT_EQ(report.parms.size(), 1u);
  EXPECT_EQ(report.parms[0].parm, "x");
  EXPECT_NEAR(report.parms[0].sigma.at(0), 1 / std::sqrt(5.0), 1e-12);
  EXPECT_NEAR(value_at(forest.evaluator->evaluate(forest.request, "a")->value, 0).re, 0.8, 1e-4);
}

TEST(SolverNode, IsRunBeforeOtherRootsOfTheSameRequest) {
  TestForest forest = two_data();
  forest.evaluate("x");
  const std::vector<int> roots{forest.built->find("x"), forest.built->find("s")};
  const auto results = forest.evaluator->evaluate(forest.request, roots);
  EXPECT_NEAR(value_at(results[0]->value, 0).re, 3.2, 1e-4);
}

TEST(SolverNode, MayHaveNoData) {
  TestForest forest;
  forest.node("none", "TestMissing", {}, {{"dims", array({0}, {})}}).parm("x", 7);
  const ResultPtr s = forest.node("a", "Condeq", {"none", "x"}).node("s", "Solver", {"a"}).evaluate("s");
  expect_ok(s);
  EXPECT_EQ(value_at(s->value, 2).re, 0);
  EXPECT_EQ(value_at(s->value, 4).re, 0);
  const SolveReport& report = forest.evaluator->solves().reports.at(0);
  EXPECT_EQ(report.groups.at(0).status, "no equations");
  EXPECT_EQ(report.parms.at(0).value.at(0), 7);
  EXPECT_TRUE(report.parms.at(0).flag.at(0) & kNoData);
}

TEST(SolverNode, FailsWithWhatFailedBelowIt) {
  TestForest forest;
  forest.node("bad", "TestFailing", {}, {{"dims", array({0}, {})}}).parm("x", 7);
  const ResultPtr s = forest.node("a", "Condeq", {"bad", "x"}).node("s", "Solver", {"a"}).evaluate("s");
  ASSERT_EQ(s->status, Result::Status::failed);
  EXPECT_NE(s->failures.at(0).message.find("planted failure"), std::string::npos) << s->failures[0].message;
}

/// Gains of three antennas times a fixed model: cos(frequency) as what must not be computed again.
TestForest gains(const char* method) {
  TestForest forest;
  forest.constant("scale", 1e-9).node("f", "Freq").node("y", "Multiply", {"f", "scale"}).node("m", "Cos", {"y"});
  TestForest::Children condeqs;
  for (const char* p : {"0", "1", "2"}) forest.parm(std::string("g") + p, 1);
  int k = 0;
  for (const auto& [p, q, gain] : {std::tuple("0", "1", 6.0), std::tuple("0", "2", 10.0), std::tuple("1", "2", 15.0)}) {
    const std::string name = std::to_string(k++);
    forest.constant("gain" + name, gain).node("d" + name, "Multiply", {"m", "gain" + name});
    forest.node("v" + name, "Multiply", {std::string("g") + p, "m", std::string("g") + q});
    condeqs.push_back("c" + name);
    forest.node(condeqs.back(), "Condeq", {"d" + name, "v" + name});
  }
  return forest.node("s", "Solver", condeqs, {{"method", std::string(method)}});
}

class SolverMethod : public ::testing::TestWithParam<const char*> {};

TEST_P(SolverMethod, PredictsWhatIsFixedOnce) {
  TestForest forest = gains(GetParam());
  expect_ok(forest.evaluate("s"));
  const auto value = [&](const char* name) {
    return forest.built->node(forest.built->find(name)).state().array("value").data[0];
  };
  EXPECT_NEAR(value("g0"), 2, 1e-9);
  EXPECT_NEAR(value("g1"), 3, 1e-9);
  EXPECT_NEAR(value("g2"), 5, 1e-9);
  const SolveReport& report = forest.evaluator->solves().reports.at(0);
  EXPECT_GT(report.groups.at(0).iterations, 1);
  EXPECT_EQ(report.statistics_bytes > 0, std::string(GetParam()) == "auto");
  const auto& classes = forest.evaluator->timing().classes;
  EXPECT_EQ(classes.at("Cos").evaluations, 1u);
  EXPECT_EQ(classes.at("Freq").evaluations, 1u);
  // Nor is it for what comes after the solve.
  forest.evaluator->evaluate(forest.request, "c1");
  EXPECT_EQ(classes.at("Cos").evaluations, 1u);
}

TEST_P(SolverMethod, KeepsNoResultOfAnIteration) {
  TestForest forest = gains(GetParam());
  forest.evaluate("s");
  const auto evaluations = [&] {
    const auto& classes = forest.evaluator->timing().classes;
    return classes.contains("Condeq") ? classes.at("Condeq").evaluations : 0;
  };
  const std::uint64_t before = evaluations();
  expect_ok(forest.evaluator->evaluate(forest.request, "c0"));
  EXPECT_EQ(evaluations(), before + 1);
}

INSTANTIATE_TEST_SUITE_P(Methods, SolverMethod, testing::Values("auto", "generic"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace rimetree::test
