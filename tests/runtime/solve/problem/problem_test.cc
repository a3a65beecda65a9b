// What a Solver has to solve: groups of unknowns that share data, blocks of cells, and which models are Jones terms.
#include "runtime/solve/problem/problem.h"

#include "runtime/solve/jones/jones_terms.h"
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

using solve::jones_model;
using solve::Problem;

/// Parms a (a tile per time), b (a tile per frequency), c; Condeqs a + b, and c alone.
TestForest tiled() {
  TestForest forest;  // 2 times, 3 frequencies
  forest.node("a", "Parm", {},
              {{"value", 1.0}, {"solvable", true}, {"time_edges_s", array({3}, {5e9 - 5, 5e9 + 5, 5e9 + 15})}});
  forest.node("b", "Parm", {},
              {{"value", 1.0}, {"solvable", true}, {"freq_edges_hz", array({4}, {0.95e9, 1.05e9, 1.15e9, 1.25e9})}});
  forest.parm("c", 1).parm("elsewhere", 1).constant("d", 2.0).node("ab", "Add", {"a", "b"});
  forest.node("x", "Condeq", {"d", "ab"}).node("y", "Condeq", {"d", "c"}).node("z", "Condeq", {"d", "a"});
  return forest;
}

Problem problem(TestForest& forest, const TestForest::Children& condeqs, const std::vector<std::string>& parms = {}) {
  forest.node("s", "Solver", condeqs).evaluate("elsewhere");
  return Problem(*forest.built, forest.built->find("s"), forest.request, parms);
}

TEST(Problem, UnknownsThatShareDataAreOneGroup) {
  TestForest forest = tiled();
  const Problem of = problem(forest, {"x", "y"});
  EXPECT_EQ(of.n_unknown(), 2u + 3u + 1u);
  ASSERT_EQ(of.n_group(), 2u);  // all of a and b hang together; c is by itself
  EXPECT_EQ(of.group(0).size(), 5u);
  EXPECT_EQ(of.group(1).size(), 1u);
  EXPECT_EQ(of.n_block(), 6u);
}

TEST(Problem, TilesOfOneParmAreGroupsOfTheirOwn) {
  TestForest forest = tiled();
  const Problem of = problem(forest, {"z"});
  EXPECT_EQ(of.n_group(), 2u);
  EXPECT_EQ(of.n_block(), 2u);
  EXPECT_EQ(of.group_of({0, 1, 0}), 1);
  EXPECT_EQ(of.extent(1), (std::array<std::uint32_t, 4>{1, 1, 0, 0}));
}

TEST(Problem, TilesBelowANodeThatMixesThemAreOneGroup) {
  TestForest forest = tiled();
  forest.node("mean", "Mean", {"a"}).node("over", "Divide", {"a", "mean"}).node("m", "Condeq", {"d", "over"});
  forest.node("along", "Mean", {"a"}, {{"reduction_axes", std::vector<std::string>{"freq"}}});
  forest.node("n", "Condeq", {"d", "along"});
  TestForest other = forest;
  const Problem of = problem(forest, {"m"});
  EXPECT_EQ(of.n_group(), 1u);
  const int a = forest.built->find("a");
  EXPECT_EQ(of.unknown({a, 0}, {0, 1, 0}), 1);
  EXPECT_EQ(of.unknown({a, 0, 0}, {0, 1, 0}), 0);  // below the mean
  EXPECT_EQ(problem(other, {"n"}).n_group(), 2u);  // a mean along the other axis leaves tiles apart
}

TEST(Problem, WhatIsNotNamedIsHeld) {
  TestForest forest = tiled();
  const Problem of = problem(forest, {"x"}, {"b"});
  EXPECT_EQ(of.n_unknown(), 3u);
  EXPECT_EQ(of.n_group(), 3u);
  EXPECT_EQ(of.unknown({forest.built->find("a"), 0}, {0, 0, 0}), -1);
  EXPECT_EQ(of.unknown({forest.built->find("b"), 0}, {0, 0, 2}), 2);
}

TEST(Problem, BlocksEndWhereWhatIsHeldChanges) {
  TestForest forest = tiled();
  Problem of = problem(forest, {"z"});  // a changes in time
  const SolutionTiles held(forest.built->node(forest.built->find("b")).state());
  of.divide(*forest.request.cells, {.held = {held}});
  EXPECT_EQ(of.n_block(), 6u);
  of.divide(*forest.request.cells, {.held = {SolutionTiles(forest.built->node(forest.built->find("a")).state())}});
  EXPECT_EQ(of.n_block(), 2u);  // the same edges
  of.divide(*forest.request.cells, {.each_cell = {false, true}});
  EXPECT_EQ(of.n_block(), 6u);
  of.divide(*forest.request.cells);
  EXPECT_EQ(of.n_block(), 2u);
}

TEST(Problem, PartOfTheUnknownsMayBeHeldForAWhile) {
  TestForest forest = tiled();
  Problem of = problem(forest, {"x"});
  of.activate({false, false, true, true, true});  // only b: its tiles share no data then
  EXPECT_EQ(of.n_group(), 3u);
  EXPECT_EQ(of.group_of(std::size_t{0}), -1);
  of.activate({});
  EXPECT_EQ(of.n_group(), 1u);
}

TEST(Problem, TilesWithoutCellsHaveNoGroup) {
  TestForest forest = tiled();
  forest.request.cells = cells({5e9}, {1e9});
  const Problem of = problem(forest, {"x"});
  EXPECT_EQ(of.n_group(), 1u);
  EXPECT_EQ(of.group(0).size(), 2u);
  EXPECT_EQ(of.group_of(std::size_t{1}), -1);
}

// Unknowns of groups that are alike have the same places in them.
TEST(Problem, EachLargeGroupKnowsWhichUnknownsOccurTogether) {
  constexpr int kParms = 600;
  TestForest forest;
  forest.parm("elsewhere", 1).constant("d", 2.0);
  TestForest::Children equations;
  for (int k = 0; k < kParms; ++k) {
    const std::string own = std::to_string(k), before = std::to_string(std::max(k - 1, 0));
    forest.node("p" + own, "Parm", {},
                {{"value", 1.0}, {"solvable", true}, {"freq_edges_hz", array({4}, {0.95e9, 1.05e9, 1.15e9, 1.25e9})}});
    forest.node("sum" + own, "Add", {"p" + own, "p" + before});
    equations.push_back(forest.node("x" + own, "Condeq", {"d", "sum" + own}).specs().back().name);
  }
  Problem of = problem(forest, equations);
  ASSERT_EQ(of.n_group(), 3u);
  for (const auto& sparsity : of.sparsities()) {
    ASSERT_NE(sparsity, nullptr);
    EXPECT_EQ(sparsity->n_element(), 2u * kParms - 1u);
    EXPECT_NO_THROW(sparsity->find(1, 0));
  }
  EXPECT_EQ(of.n_element(), 3 * (2 * kParms - 1));
  std::vector<int> parts;
  for (int k = 0; k < kParms; ++k) parts.push_back(k / 3);
  of.uncouple(parts);  // k is with k - 1 in two of three
  EXPECT_EQ(of.n_element(), 3 * (kParms + 2 * kParms / 3));
  for (const auto& sparsity : of.sparsities()) EXPECT_EQ(sparsity->n_element(), kParms + 2u * kParms / 3);
}

/// Parms of many equations and tiles: elements are counted as those that a matrix of them has.
TEST(Problem, CountsElementsOfParmsOfSeveralTilings) {
  TestForest forest;
  forest.parm("elsewhere", 1).constant("d", 2.0);
  const TestForest::Fields one{{"value", 1.0}, {"solvable", true}},
      three{{"value", 1.0}, {"solvable", true}, {"freq_edges_hz", array({4}, {0.95e9, 1.05e9, 1.15e9, 1.25e9})}};
  constexpr int kAntennas = 90;
  for (int p = 0; p < kAntennas; ++p)
    forest.node("g" + std::to_string(p), "Parm", {}, one)
        .node("b" + std::to_string(p), "Parm", {}, three)
        .node("a" + std::to_string(p), "Parm", {}, three);
  TestForest::Children equations;
  for (int p = 0; p < kAntennas; ++p)
    for (int q = p + 1; q < std::min(p + 4, kAntennas); ++q) {
      const std::string i = std::to_string(p), j = std::to_string(q);
      forest.node("m" + i + "_" + j, "Multiply", {"g" + i, "b" + i, "a" + i, "g" + j, "b" + j, "a" + j});
      equations.push_back(forest.node("c" + i + "_" + j, "Condeq", {"d", "m" + i + "_" + j}).specs().back().name);
    }
  Problem of = problem(forest, equations);
  ASSERT_EQ(of.n_group(), 1u);
  ASSERT_NE(of.sparsities()[0], nullptr);
  EXPECT_EQ(of.n_element(), static_cast<double>(of.sparsities()[0]->n_element()));
}

TEST(Problem, SomeThingsCannotBeSolvedFor) {
  TestForest forest = tiled();
  EXPECT_THROW(problem(forest, {"x"}, {"c"}), Error);  // not below x
  TestForest other = tiled();
  EXPECT_THROW(problem(other, {"x"}, {"nowhere"}), Error);
  TestForest fixed;
  fixed.constant("d", 1.0).node("p", "Parm", {}, {{"value", 1.0}}).node("x", "Condeq", {"d", "p"}).parm("elsewhere", 1);
  EXPECT_THROW(problem(fixed, {"x"}), Error);
}

/// Jones matrices J0 and J1 of two Parms each, a full one F, and a fixed M.
TestForest jones() {
  TestForest forest;
  forest.constant("zero", 0.0)
      .constant("M", complex_array({2, 2}, {{1, 0}, {2, 1}, {2, -1}, {3, 0}}))
      .constant("s", 2.0);
  for (const std::string p : {"0", "1"}) {
    forest.parm("x" + p, 1).parm("y" + p, 2).node("J" + p, "Matrix22", {"x" + p, "zero", "zero", "y" + p});
    forest.node("J" + p + "H", "ConjTranspose", {"J" + p});
  }
  return forest.node("F", "Matrix22", {"x0", "y0", "x1", "y1"}).node("V", "MatrixMultiply", {"J0", "M", "J1H"});
}

std::optional<solve::JonesModel> model(TestForest& forest, const std::string& name) {
  forest.evaluate(name);
  return jones_model(*forest.built, forest.built->find(name));
}

TEST(JonesTerms, AreRecognised) {
  TestForest forest = jones();
  const auto v = model(forest, "V");
  ASSERT_TRUE(v);
  ASSERT_EQ(v->terms.size(), 1u);
  EXPECT_TRUE(v->diagonal);
  EXPECT_TRUE(v->terms[0].flags_merge);
  EXPECT_EQ(v->terms[0].core, forest.built->find("M"));
  EXPECT_EQ(v->terms[0].left, std::vector<int>{forest.built->find("J0")});
  EXPECT_EQ(v->terms[0].right, std::vector<int>{forest.built->find("J1H")});
}

TEST(JonesTerms, AreRecognisedInSumsAndChains) {
  TestForest forest = jones();
  forest.node("sum", "Add", {"V", "M"}).node("outer", "MatrixMultiply", {"F", "sum", "J1"});
  const auto v = model(forest, "outer");
  ASSERT_TRUE(v);
  ASSERT_EQ(v->terms.size(), 2u);
  EXPECT_FALSE(v->diagonal);  // F is full
  EXPECT_EQ(v->terms[0].left, (std::vector<int>{forest.built->find("F"), forest.built->find("J0")}));
  EXPECT_EQ(v->terms[0].right, (std::vector<int>{forest.built->find("J1H"), forest.built->find("J1")}));
  EXPECT_EQ(v->terms[1].left, std::vector<int>{forest.built->find("F")});
}

TEST(JonesTerms, HaveSigns) {
  TestForest forest = jones();
  forest.node("-V", "Negate", {"V"}).node("M - V", "Subtract", {"M", "V"}).node("-(M - V)", "Negate", {"M - V"});
  forest.node("outer", "MatrixMultiply", {"F", "-(M - V)", "J1"});
  const auto v = model(forest, "-V");
  ASSERT_TRUE(v);
  EXPECT_TRUE(v->terms.at(0).minus);
  EXPECT_EQ(v->terms[0].left, std::vector<int>{forest.built->find("J0")});
  const auto difference = model(forest, "M - V"), outer = model(forest, "outer");
  ASSERT_TRUE(difference && outer);
  EXPECT_FALSE(difference->terms.at(0).minus);
  EXPECT_FALSE(difference->terms[0].solvable());
  EXPECT_TRUE(difference->terms.at(1).minus);
  EXPECT_TRUE(outer->terms.at(0).minus);
  EXPECT_FALSE(outer->terms.at(1).minus);
}

TEST(JonesTerms, MayHaveElementsInAnyOrder) {
  TestForest forest = jones();
  const auto index = [](std::vector<std::int64_t> of) {
    return TestForest::Fields{
        {"index", array({static_cast<std::int64_t>(of.size())}, std::vector<double>(of.begin(), of.end()))}};
  };
  forest.node("yx", "Selector", {"V"}, index({1, 0})).node("column", "Selector", {"V"}, index({-1, 1}));
  forest.node("VH", "ConjTranspose", {"V"}).node("row of VH", "Selector", {"VH"}, index({0, -1}));
  forest.node("xx", "Selector", {"V"}, index({0, 0})).node("yy", "Selector", {"V"}, index({1, 1}));
  forest.node("hands", "Composer", {"yy", "xx"}).node("I", "Add", {"xx", "yy"});
  struct Expected {
    std::vector<int> elements;
    bool conjugate = false;
  };
  const std::map<std::string, Expected> all{
      {"yx", {{2}}}, {"column", {{1, 3}}}, {"hands", {{3, 0}}}, {"row of VH", {{0, 2}, true}}};
  for (const auto& [name, expected] : all) {
    const auto v = model(forest, name);
    ASSERT_TRUE(v) << name;
    ASSERT_EQ(v->terms.size(), 1u) << name;
    EXPECT_EQ(v->terms[0].elements, expected.elements) << name;
    EXPECT_EQ(v->conjugate, expected.conjugate) << name;
    EXPECT_EQ(v->terms[0].left, std::vector<int>{forest.built->find("J0")}) << name;
  }
  const auto sum = model(forest, "I");
  ASSERT_TRUE(sum);
  ASSERT_EQ(sum->terms.size(), 2u);
  EXPECT_EQ(sum->terms[1].elements, std::vector<int>{3});
  EXPECT_EQ(sum->terms[1].place(0).row, 1u);
}

TEST(JonesTerms, ADataDependentFactorIsTheVisibility) {
  // Fixed matrices on both sides of it, flat and nested, as with a known beam or the gain of a reference antenna.
  TestForest forest = jones();
  Tile tile;
  forest.request.tile = &tile;  // of no baselines: the Spigot gives nothing, but depends on data
  forest.node("D", "Spigot", {}, {{"station_1_index", std::int64_t{0}}, {"station_2_index", std::int64_t{1}}});
  forest.node("flat", "MatrixMultiply", {"J0", "M", "D", "M", "J1H"}).node("left", "MatrixMultiply", {"J0", "D"});
  forest.node("nested", "MatrixMultiply", {"left", "M"});
  for (const char* name : {"flat", "nested"}) {
    const auto v = model(forest, name);
    ASSERT_TRUE(v) << name;
    EXPECT_EQ(v->terms.at(0).core, forest.built->find("D")) << name;
  }
  EXPECT_EQ(model(forest, "flat")->terms[0].left,
            (std::vector<int>{forest.built->find("J0"), forest.built->find("M")}));
}

TEST(JonesTerms, OtherModelsAreLeftToTheGeneralWay) {
  TestForest forest = jones();
  forest.node("elementwise", "Multiply", {"J0", "M"}).node("square", "Sqr", {"V"});
  forest.node("no core", "MatrixMultiply", {"J0", "J1"}).node("two cores", "MatrixMultiply", {"J0", "M", "M"});
  forest.node("scalar core", "MatrixMultiply", {"J0", "s"}).node("added", "Add", {"V", "x0"});
  for (const char* name : {"elementwise", "square", "no core", "two cores", "scalar core", "added"})
    EXPECT_FALSE(model(forest, name)) << name;
}

}  // namespace
}  // namespace rimetree::test
