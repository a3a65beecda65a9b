// The same bits for any number of threads: the PSV node by each of its methods, and the same equation as many nodes.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/forest_fixture.h"
#include "tests/support/many_node_tree.h"

namespace rimetree::test {
namespace {

constexpr int kThreads[] = {1, 2, 3, 7};

/// All values of the roots after each other.
std::vector<double> values_of(const std::vector<ResultPtr>& results) {
  std::vector<double> all;
  for (const ResultPtr& result : results) {
    expect_ok(result);
    const double* first = result->value.real();
    all.insert(all.end(), first, first + result->value.bytes() / sizeof(double));
  }
  return all;
}

void expect_same_bits(const std::vector<NodeSpec>& specs, const Request& request, const std::vector<std::string>& roots,
                      const std::string& method = "") {
  std::vector<double> expected;
  for (const int threads : kThreads) {
    const auto forest = Forest::build(specs, registry());
    Evaluator evaluator(forest, {.threads = threads});
    ASSERT_EQ(evaluator.threads(), threads);
    std::vector<int> indices;
    for (const std::string& root : roots) indices.push_back(forest->find(root));
    const std::vector<double> got = values_of(evaluator.evaluate(request, indices));
    if (!method.empty()) {
      ASSERT_EQ(evaluator.notes().list().size(), 1u);
      EXPECT_NE(evaluator.notes().list()[0].find(method + " (error"), std::string::npos) << evaluator.notes().list()[0];
    }
    if (threads == 1) expected = got;
    ASSERT_EQ(got.size(), expected.size());
    ASSERT_FALSE(got.empty());
    EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(double)), 0) << threads << " threads";
  }
}

/// 13 baselines at 7 times: 91 rows, which are no multiple of any vector or range.
struct PsvForest {
  static constexpr std::size_t kBaselines = 13, kTimes = 7;

  PsvForest(std::size_t n_source, std::size_t n_channel) {
    std::vector<double> lmn, stokes;
    for (std::size_t s = 0; s < n_source; ++s) {
      const double l = 0.02 * std::sin(3.0 * double(s)), m = 0.02 * std::cos(5.0 * double(s));
      lmn.insert(lmn.end(), {l, m, std::sqrt(1 - l * l - m * m)});
      stokes.insert(stokes.end(), {1.0, 0.1 * std::sin(double(s)), 0.1, -0.05});
    }
    const auto count = std::int64_t(n_source);
    forest.constant("lmn", array({count, 3}, lmn)).constant("stokes", array({count, 4}, stokes));
    forest.node("B", "Stokes", {"stokes"});
    for (std::size_t b = 0; b < kBaselines; ++b) {
      std::vector<double> uvw;  // [2, 3, time]
      for (int part = 0; part < 6; ++part)
        for (std::size_t t = 0; t < kTimes; ++t)
          uvw.push_back((part < 3 ? 3000.0 : 0.2) * std::sin(double(7 * b) + part + 0.001 * double(t)));
      const std::string uvw_name = "uvw" + std::to_string(b);
      forest.constant(uvw_name, array({2, 3, kTimes}, uvw), 1);
      roots.push_back("V" + std::to_string(b));
      forest.node(roots.back(), "PSV", {"lmn", "B", uvw_name});
    }
    std::vector<double> time, frequency;
    for (std::size_t t = 0; t < kTimes; ++t) time.push_back(5e9 + 10 * double(t));
    for (std::size_t f = 0; f < n_channel; ++f) frequency.push_back(1e9 + 5e4 * double(f));
    request.cells = cells(time, frequency, 10, 5e4);
  }

  TestForest forest;
  Request request;
  std::vector<std::string> roots;
};

TEST(Threads, PsvDirectInDoublePrecision) {
  const PsvForest psv(30, 33);
  expect_same_bits(psv.forest.specs(), psv.request, psv.roots, "direct in double precision");
}

TEST(Threads, PsvDirectInSinglePrecision) {
  PsvForest psv(30, 33);
  psv.request.precision = Precision::single;
  expect_same_bits(psv.forest.specs(), psv.request, psv.roots, "direct in single precision");
}

TEST(Threads, PsvByDelay) {
  PsvForest psv(60, 1000);
  psv.request.tolerance = 1e-6;
  expect_same_bits(psv.forest.specs(), psv.request, psv.roots, "delay method");
}

TEST(Threads, ManyNodeTree) {
  rimetree::testing::ManyNodeTree tree;
  tree.n_time = 3;
  tree.n_channel = 5;
  Request request;
  request.cells = tree.cells();
  std::vector<std::string> roots;
  for (std::size_t b = 0; b < tree.n_baseline; ++b) roots.push_back(tree.root(b));
  expect_same_bits(tree.specs(), request, roots);
}

}  // namespace
}  // namespace rimetree::test
