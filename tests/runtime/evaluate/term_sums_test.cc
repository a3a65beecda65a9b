// Sums of many terms as programs of one term each: bit by bit what single nodes give, for all ways to write them, with
// flags, missing data and failures, in any number of threads; and what is in between is never in memory.
#include <gtest/gtest.h>

#include "tests/support/random_rime.h"
#include "tests/support/same_bits.h"

namespace rimetree {
namespace {

using test::array, test::RandomRime, test::TestForest, test::Trouble;

struct SumOutcome {
  std::vector<ResultPtr> results;
  TimingReport timing;
};

SumOutcome evaluated_sums(const TestForest& tree, const std::vector<std::string>& roots, bool fuse, int threads = 2,
                          std::uint64_t budget = 0) {
  const auto forest = Forest::build(tree.specs(), test::registry());
  Evaluator evaluator(
      forest, {.threads = threads, .memory_budget = budget, .device = {"none", 0}, .as_written = true, .fuse = fuse});
  std::vector<int> nodes;
  for (const std::string& root : roots) nodes.push_back(forest->find(root));
  SumOutcome outcome;
  outcome.results = evaluator.evaluate(tree.request, nodes);
  outcome.timing = evaluator.timing();
  return outcome;
}

void expect_what_single_nodes_give(const TestForest& tree, const std::vector<std::string>& roots) {
  const SumOutcome single = evaluated_sums(tree, roots, false);
  for (const int threads : {1, 2, 3}) {
    const SumOutcome fused = evaluated_sums(tree, roots, true, threads);
    for (std::size_t i = 0; i < roots.size(); ++i) {
      SCOPED_TRACE(roots[i] + ", threads " + std::to_string(threads));
      test::expect_same_bits(*fused.results[i], *single.results[i]);
    }
    for (const auto& [name, timing] : single.timing.classes)
      EXPECT_EQ(fused.timing.classes.at(name).evaluations, timing.evaluations) << name;
  }
}

/// How a sky is written.
struct Sky {
  enum class Spelling : std::uint8_t { nodes, stations, tensors } spelling = Spelling::nodes;
  int n_source = 20, n_station = 3;
  int n_time = 7, n_frequency = 11;
  std::string flagged = {};   ///< this node has flags,
  std::string missing = {};   ///< this one no data,
  std::string failing = {};   ///< this one fails,
  int other_brightness = -1;  ///< and that of this source is of another kind
  std::vector<std::string> roots = {};

  TestForest tree() {
    TestForest tree;
    std::vector<double> times, frequencies;
    for (int t = 0; t < n_time; ++t) times.push_back(5e9 + 10 * t);
    for (int f = 0; f < n_frequency; ++f) frequencies.push_back(1e9 + 1e6 * f);
    tree.request.cells = test::cells(times, frequencies);
    std::vector<double> all_lmn, all_stokes;
    for (int s = 0; s < n_source; ++s) {
      const double l = 0.01 * std::sin(s + 1.0), m = 0.01 * std::cos(2.0 * s);
      all_lmn.insert(all_lmn.end(), {l, m, std::sqrt(1 - l * l - m * m)});
      all_stokes.insert(all_stokes.end(), {1.0 + s, 0.1, -0.2, 0.05});
    }
    const std::int64_t n = n_source;
    if (spelling == Spelling::tensors) {
      leaf(tree, "lmn", {n, 3}, all_lmn);
      leaf(tree, "stokes", {n, 4}, all_stokes).node("B", "Stokes", {"stokes"});
    } else {
      for (int s = 0; s < n_source; ++s) add_source(tree, s, all_lmn, all_stokes);
    }
    tree.constant("rate", 1e-9).node("time", "Time").node("now", "Multiply", {"rate", "time"});
    for (int p = 0; p < n_station; ++p) {
      std::vector<double> uvw;
      for (const double scale : {120.0, -70.0, 3.0})
        for (int t = 0; t < n_time; ++t) uvw.push_back(scale * (p + 1) + 0.5 * t * p);
      const std::string name = "uvw" + std::to_string(p);
      // Of these cells, so that it is not kept as long as constants are.
      tree.constant("place" + std::to_string(p), array({3, n_time, 1}, uvw), 2);
      tree.node(name, "Add", {"place" + std::to_string(p), "now"});
      if (spelling != Spelling::stations) continue;
      for (int s = 0; s < n_source; ++s) {
        const std::string k = "K" + std::to_string(p) + ":" + std::to_string(s);
        tree.node(k, "VisPhaseShift", {"lmn" + std::to_string(s), name}).node("H" + k, "Conj", {k});
      }
    }
    for (int p = 0; p < n_station; ++p)
      for (int q = p + 1; q < n_station; ++q) add_baseline(tree, std::to_string(p), std::to_string(q));
    return tree;
  }

 private:
  TestForest& leaf(TestForest& tree, const std::string& name, const std::vector<std::int64_t>& shape,
                   const std::vector<double>& values) {
    const std::vector<double> dims(shape.begin(), shape.end());
    const auto as_array = array({static_cast<std::int64_t>(dims.size())}, dims);
    if (name == missing) return tree.node(name, "TestMissing", {}, {{"dims", as_array}});
    if (name == failing) return tree.node(name, "TestFailing", {}, {{"dims", as_array}});
    if (name != flagged) return tree.constant(name, array(shape, values));
    tree.constant(name + "'", array(shape, values));
    return tree.flagged(name, name + "'", array({1, n_time, 1}, std::vector<double>(std::size_t(n_time), 2)));
  }
  void add_source(TestForest& tree, int s, const std::vector<double>& lmn, const std::vector<double>& stokes) {
    const std::string name = std::to_string(s);
    const auto part = [s](const std::vector<double>& all, int n) {
      return std::vector<double>(all.begin() + s * n, all.begin() + (s + 1) * n);
    };
    leaf(tree, "lmn" + name, {3}, part(lmn, 3));
    if (s == other_brightness) {
      std::vector<double> values;
      for (int i = 0; i < 4 * n_frequency; ++i) values.push_back(1 + 0.1 * i);
      tree.constant("stokes" + name, array({4, 1, n_frequency}, values), 2);
    } else {
      leaf(tree, "stokes" + name, {4}, part(stokes, 4));
    }
    tree.node("B" + name, "Stokes", {"stokes" + name});
  }
  void add_baseline(TestForest& tree, const std::string& p, const std::string& q) {
    const std::string pq = p + ":" + q, v = "V" + pq, uvw = "uvw" + pq;
    tree.node(uvw, "Subtract", {"uvw" + p, "uvw" + q});
    roots.push_back(v);
    if (spelling == Spelling::tensors) {
      tree.node("K" + pq, "VisPhaseShift", {"lmn", uvw}).node("KB" + pq, "MatrixMultiply", {"K" + pq, "B"});
      tree.node(v, "Sum", {"KB" + pq},
                {{"reduction_axes", std::vector<std::string>{}}, {"tensor_axis", std::int64_t{0}}});
      return;
    }
    TestForest::Children terms;
    for (int s = 0; s < n_source; ++s) {
      const std::string source = std::to_string(s);
      terms.push_back("T" + pq + ":" + source);
      if (spelling == Spelling::stations) {
        tree.node(terms.back(), "MatrixMultiply", {"K" + p + ":" + source, "B" + source, "HK" + q + ":" + source});
      } else {
        const std::string k = "K" + pq + ":" + source;
        tree.node(k, "VisPhaseShift", {"lmn" + source, uvw}).node(terms.back(), "Multiply", {k, "B" + source});
      }
    }
    tree.node(v, "Add", terms);
  }
};

using Spelling = Sky::Spelling;
constexpr Spelling kSpellings[] = {Spelling::nodes, Spelling::stations, Spelling::tensors};

class TermSums : public ::testing::TestWithParam<Spelling> {};
INSTANTIATE_TEST_SUITE_P(Spellings, TermSums, ::testing::ValuesIn(kSpellings), [](const auto& info) {
  return std::string(info.param == Spelling::nodes      ? "Nodes"
                     : info.param == Spelling::stations ? "Stations"
                                                        : "Tensors");
});

TEST_P(TermSums, AreWhatSingleNodesGive) {
  for (const int n_source : {1, 2, 3, 4, 20, 70})
    for (const int n_time : {1, 7, 300})
      for (const int n_frequency : {1, 11}) {
        if (n_time == 300 && n_source > 20) continue;
        Sky sky{.spelling = GetParam(), .n_source = n_source, .n_time = n_time, .n_frequency = n_frequency};
        SCOPED_TRACE(std::to_string(n_source) + " sources, " + std::to_string(n_time) + " x " +
                     std::to_string(n_frequency));
        const TestForest tree = sky.tree();
        expect_what_single_nodes_give(tree, sky.roots);
        if (HasFailure()) return;
      }
}

TEST_P(TermSums, LeaveNothingInMemory) {
  Sky sky{.spelling = GetParam(), .n_source = 50, .n_station = 4, .n_time = 20, .n_frequency = 30};
  const TestForest tree = sky.tree();
  const SumOutcome fused = evaluated_sums(tree, sky.roots, true), single = evaluated_sums(tree, sky.roots, false);
  const std::uint64_t of_a_term = 600 * sizeof(Complex<double>);
  EXPECT_LT(fused.timing.peak_result_bytes, (6 * 4 + 8) * of_a_term);
  EXPECT_GT(single.timing.peak_result_bytes, 100 * of_a_term);
}

TEST_P(TermSums, FlagsMissingDataAndFailuresAreThoseOfSingleNodes) {
  const std::string source = GetParam() == Spelling::tensors ? "" : "3";
  for (int trouble = 0; trouble < 6; ++trouble) {
    Sky sky{.spelling = GetParam()};
    const std::string node = (trouble % 2 == 0 ? "lmn" : "stokes") + source;
    (trouble < 2 ? sky.flagged : trouble < 4 ? sky.missing : sky.failing) = node;
    SCOPED_TRACE(trouble);
    const TestForest tree = sky.tree();
    expect_what_single_nodes_give(tree, sky.roots);
  }
}

TEST(TermSums, TermsOfAnotherKindAreNoneTheLess) {
  for (const Spelling spelling : {Spelling::nodes, Spelling::stations}) {
    Sky sky{.spelling = spelling, .other_brightness = 5};
    const TestForest tree = sky.tree();
    expect_what_single_nodes_give(tree, sky.roots);
  }
}

TEST_P(TermSums, WhatIsAskedForIsThere) {
  Sky sky{.spelling = GetParam()};
  const TestForest tree = sky.tree();
  std::vector<std::string> roots = sky.roots;
  for (const auto& spec : tree.specs())
    if (spec.class_name == "VisPhaseShift" && roots.size() < 6) roots.push_back(spec.name);
  expect_what_single_nodes_give(tree, roots);
}

TEST_P(TermSums, OneEvaluatorGivesTheSameAgain) {
  Sky sky{.spelling = GetParam()};
  TestForest tree = sky.tree();
  const auto forest = Forest::build(tree.specs(), test::registry());
  Evaluator evaluator(forest, {.threads = 2, .device = {"none", 0}, .as_written = true, .fuse = true});
  const SumOutcome single = evaluated_sums(tree, sky.roots, false);
  std::vector<int> all;
  for (const std::string& root : sky.roots) all.push_back(forest->find(root));
  // One root, all of them, and all on other cells: parts are different ones each time.
  test::expect_same_bits(*evaluator.evaluate(tree.request, std::vector<int>{all[1]})[0], *single.results[1]);
  const auto results = evaluator.evaluate(tree.request, all);
  for (std::size_t i = 0; i < all.size(); ++i) test::expect_same_bits(*results[i], *single.results[i]);
  tree.request.cells = test::cells(std::vector<double>(7, 5e9), std::vector<double>(11, 2e9));
  const SumOutcome other = evaluated_sums(tree, sky.roots, false);
  const auto again = evaluator.evaluate(tree.request, all);
  for (std::size_t i = 0; i < all.size(); ++i) test::expect_same_bits(*again[i], *other.results[i]);
}

TEST(TermSums, MoreSumsThanShareAreEvaluatedApart) {
  Sky sky{.spelling = Spelling::stations, .n_source = 5, .n_station = 12, .n_time = 3, .n_frequency = 2};
  const TestForest tree = sky.tree();
  expect_what_single_nodes_give(tree, sky.roots);
}

TEST(TermSums, OfTermsThatVaryInTermsOnAllCells) {
  TestForest tree;
  TestForest::Children terms;
  for (int s = 0; s < 6; ++s) {
    const std::string name = std::to_string(s);
    std::vector<double> values;
    for (int i = 0; i < 6; ++i) values.push_back(std::sin(1.0 + i + 10 * s));
    tree.constant("x" + name, array({2, 3}, values), 2).constant("c" + name, 0.5 + s);
    terms.push_back("t" + name);
    tree.node(terms.back(), "Multiply", {"x" + name, "c" + name});
  }
  tree.node("sum", "Add", terms);
  expect_what_single_nodes_give(tree, {"sum"});
}

/// One baseline at a time, as memory is short: what the next one reads, too, is made again, of what is still there.
TEST_P(TermSums, WhatSeveralWavesReadIsMadeInEach) {
  Sky sky{.spelling = GetParam(), .n_station = 4};
  TestForest tree = sky.tree();
  std::vector<std::string> roots;
  for (const std::string& v : sky.roots) {
    tree.node("u" + v, "Selector", {"uvw" + v.substr(1, 1)}, {{"index", array({1}, {0})}});
    tree.node("W" + v, "Multiply", {v, "u" + v});
    roots.push_back("W" + v);
  }
  const SumOutcome in_waves = evaluated_sums(tree, roots, true, 2, 1), single = evaluated_sums(tree, roots, false);
  for (std::size_t i = 0; i < roots.size(); ++i) test::expect_same_bits(*in_waves.results[i], *single.results[i]);
  EXPECT_LT(in_waves.timing.peak_result_bytes, single.timing.peak_result_bytes / 2);
}

TEST(TermSums, OfRandomTreesAreWhatSingleNodesGive) {
  for (const Trouble trouble : {Trouble::none, Trouble::flagged, Trouble::flagged_by_element, Trouble::missing})
    for (unsigned seed = 500; seed < 530; ++seed) {
      const RandomRime rime(seed, trouble, 12);
      const SumOutcome fused = evaluated_sums(rime.tree, rime.roots, true),
                       single = evaluated_sums(rime.tree, rime.roots, false);
      for (std::size_t i = 0; i < rime.roots.size(); ++i) {
        SCOPED_TRACE("seed " + std::to_string(seed) + " " + rime.roots[i]);
        test::expect_same_bits(*fused.results[i], *single.results[i]);
      }
      if (HasFailure()) return;
    }
}

}  // namespace
}  // namespace rimetree
