// Data that are missing, or flagged, in parts of sums that are taken together: what the tree as it is written makes of
// them.
#include <gtest/gtest.h>

#include "runtime/evaluate/evaluator.h"
#include "tests/support/same_values.h"

namespace rimetree {
namespace {

using test::TestForest;

/// Whether "V" is the same either way, and as it is wanted.
void expect_as_written(const TestForest& tree, Result::Status wanted = Result::Status::ok) {
  ResultPtr results[2];
  for (const bool as_written : {false, true}) {
    const auto forest = Forest::build(tree.specs(), test::registry());
    Evaluator evaluator(forest, {.threads = 1, .device = {"none", 0}, .as_written = as_written});
    const std::vector<int> roots{forest->find("V")};
    results[as_written] = evaluator.evaluate(tree.request, roots)[0];
  }
  ASSERT_EQ(results[1]->status, wanted);
  test::expect_same(*results[0], *results[1], "V");
}

/// Directions, brightness and phases of two sources, coordinates of two stations.
TestForest scene() {
  TestForest tree;
  tree.constant("uvw", test::array({3}, {10, 20, 30}));
  tree.node("freq", "Freq").constant("turn", test::array({}, {2.0958450219516816e-8}));
  tree.constant("i", StateArray{{}, NumberType::complex, {0, 1}});
  for (const std::string s : {"0", "1"}) {
    tree.constant("lmn" + s, test::array({3}, {0.1 + 0.1 * std::stod(s), 0.2, 0.9}));
    tree.constant("b" + s, test::array({2, 2}, {1, 0, 0.1, 2}));
    tree.node("K" + s, "VisPhaseShift", {"lmn=lmn" + s, "uvw=uvw"});
    tree.node("kb" + s, "Multiply", {"K" + s, "b" + s});
  }
  return tree;
}

/// u l + v m + w n, where coordinates have a name.
void add_path(TestForest& tree, const std::string& uvw, const std::string& s) {
  std::vector<std::string> terms;
  for (int i = 0; i < 3; ++i) {
    const std::string name = s + ":" + std::to_string(i);
    tree.node("u" + name, "Selector", {uvw}, {{"index", test::array({1}, {double(i)})}});
    tree.node("l" + name, "Selector", {"lmn" + s}, {{"index", test::array({1}, {double(i)})}});
    tree.node("ul" + name, "Multiply", {"u" + name, "l" + name});
    terms.push_back("ul" + name);
  }
  tree.node("path" + s, "Add", terms);
}

TEST(MissingParts, ASumLeavesOutADifferenceWithoutOneOfItsSources) {
  TestForest tree = scene();
  tree.node("nowhere", "TestMissing", {}, {{"dims", test::array({1}, {3})}});
  tree.node("psv", "PSV", {"nowhere", "b0", "uvw"});
  tree.constant("J", test::array({2, 2}, {1, 0.1, 0.2, 1})).node("kbj", "MatrixMultiply", {"kb0", "J"});
  tree.node("difference", "Subtract", {"psv", "kbj"}).node("V", "Add", {"difference", "kb1"});
  expect_as_written(tree);
}

/// A sum without one of its terms is the sum of the others, in an angle, too.
TEST(MissingParts, AnglesWithoutTheirPhase) {
  TestForest tree = scene();
  tree.node("nowhere", "TestMissing", {}, {{"dims", test::array({1}, {3})}}).constant("c", test::array({}, {0.3}));
  std::vector<std::string> terms;
  for (const std::string s : {"0", "1"}) {
    add_path(tree, "nowhere", s);
    tree.node("x" + s, "Multiply", {"turn", "freq", "path" + s}).node("xc" + s, "Add", {"x" + s, "c"});
    tree.node("ixc" + s, "Multiply", {"i", "xc" + s}).node("e" + s, "Exp", {"ixc" + s});
    tree.node("v" + s, "Multiply", {"e" + s, "b" + s});
    terms.push_back("v" + s);
  }
  tree.node("V", "Add", terms);
  expect_as_written(tree);
}

/// Of one source: an angle as a sum is one without it, as a difference it is missing.
TEST(MissingParts, AnglesWithoutWhatIsBesideTheirPhase) {
  for (const char* how : {"Add", "Subtract"}) {
    TestForest tree = scene();
    tree.constant("k", test::array({}, {1e8})).node("tec0", "TestMissing", {}, {{"dims", test::array({0}, {})}});
    tree.constant("tec1", test::array({}, {0.7}));
    std::vector<std::string> terms;
    for (const std::string s : {"0", "1"}) {
      add_path(tree, "uvw", s);
      tree.node("x" + s, "Multiply", {"turn", "freq", "path" + s}).node("kt" + s, "Multiply", {"k", "tec" + s});
      tree.node("y" + s, "Divide", {"kt" + s, "freq"}).node("xy" + s, how, {"x" + s, "y" + s});
      tree.node("ixy" + s, "Multiply", {"i", "xy" + s}).node("e" + s, "Exp", {"ixy" + s});
      tree.node("v" + s, "Multiply", {"e" + s, "b" + s});
      terms.push_back("v" + s);
    }
    tree.node("V", "Add", terms);
    expect_as_written(tree);
  }
}

TEST(MissingParts, TermsOfTwoStationsInOneExponential) {
  TestForest tree = scene();
  tree.constant("k", test::array({}, {1e8}));
  tree.node("p0", "TestMissing", {}, {{"dims", test::array({0}, {})}}).constant("p1", test::array({}, {0.7}));
  tree.constant("q0", test::array({}, {0.2})).constant("q1", test::array({}, {-0.4}));
  std::vector<std::string> terms;
  for (const std::string s : {"0", "1"}) {
    tree.node("d" + s, "Subtract", {"p" + s, "q" + s}).node("kd" + s, "Multiply", {"k", "d" + s});
    tree.node("others" + s, "Subtract", {"p" + s, "k"}).node("more" + s, "Subtract", {"k", "q" + s});
    tree.node("y" + s, "Divide", {"kd" + s, "freq"}).node("iy" + s, "Multiply", {"i", "y" + s});
    tree.node("e" + s, "Exp", {"iy" + s}).node("v" + s, "Multiply", {"e" + s, "kb" + s});
    terms.push_back("v" + s);
  }
  tree.node("V", "Add", terms);
  expect_as_written(tree);
}

TEST(MissingParts, SmearingOfProductsThatLeaveOutWhatIsFlagged) {
  TestForest tree = scene();
  tree.flagged("flagged", "uvw", StateArray{{3, 2, 1}, NumberType::real, {1, 0, 0, 0, 0, 0}});
  tree.constant("w", test::array({}, {0.02}));
  std::vector<std::string> terms;
  for (const std::string s : {"0", "1"}) {
    tree.node("k" + s, "VisPhaseShift", {"lmn=lmn" + s, "uvw=flagged"}, {{"n_minus", std::int64_t{0}}});
    tree.node("ul" + s, "Multiply", {"flagged", "lmn" + s});
    tree.node("path" + s, "Sum", {"ul" + s},
              {{"reduction_axes", std::vector<std::string>{}}, {"tensor_axis", std::int64_t{0}}});
    tree.node("x" + s, "Multiply", {"w", "path" + s}).node("sin" + s, "Sin", {"x" + s});
    tree.node("sinc" + s, "Divide", {"sin" + s, "x" + s}).node("v" + s, "Multiply", {"k" + s, "sinc" + s, "b" + s});
    terms.push_back("v" + s);
  }
  tree.node("V", "Add", terms);
  expect_as_written(tree);
}

}  // namespace
}  // namespace rimetree
