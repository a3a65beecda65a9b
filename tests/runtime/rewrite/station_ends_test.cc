// Numbers of two stations in a term: each is a Jones term of its own end of the baseline, wherever it is written.
#include <gtest/gtest.h>

#include "runtime/evaluate/evaluator.h"
#include "tests/support/forest_fixture.h"

namespace rimetree {
namespace {

using test::TestForest;

/// Children of the PSV node that stands for the sum of two terms, each the product of these factors.
std::size_t children_of_sum(const std::vector<std::string>& factors) {
  TestForest tree;
  tree.constant("uvw", test::array({3}, {10, 20, 30}));
  std::vector<std::string> terms;
  for (const std::string s : {"0", "1"}) {
    tree.constant("lmn" + s, test::array({3}, {0.1 + 0.1 * std::stod(s), 0.2, 0.9}));
    tree.constant("b" + s, test::array({2, 2}, {1, 0, 0.1, 2}));
    tree.node("k" + s, "VisPhaseShift", {"lmn=lmn" + s, "uvw=uvw"});
    for (const std::string station : {"p", "q"})
      tree.constant(station + s, StateArray{{2, 1}, NumberType::complex, {1, 0.1, 1, std::stod(s)}}, 2);
    tree.node("h" + s, "Conj", {"q" + s});
    std::vector<std::string> own;
    for (const std::string& factor : factors) own.push_back(factor + s);
    tree.node("v" + s, "Multiply", own);
    terms.push_back("v" + s);
  }
  tree.node("V", "Add", terms);
  const auto forest = Forest::build(tree.specs(), test::registry());
  Evaluator evaluator(forest, {.threads = 1, .device = {"none", 0}});
  const int root = forest->find("V");
  EXPECT_EQ(evaluator.evaluated().node(root).algebra(), Algebra::source_sum);
  return evaluator.evaluated().children(root).size();
}

TEST(StationEnds, ArePairsWhereverTheyAreWritten) {
  const std::size_t one_pair = children_of_sum({"p", "k", "b", "h"});
  EXPECT_EQ(one_pair, 6u);
  EXPECT_EQ(children_of_sum({"p", "h", "k", "b"}), one_pair);
  EXPECT_EQ(children_of_sum({"h", "p", "b", "k"}), one_pair);
  EXPECT_EQ(children_of_sum({"k", "b", "h", "p"}), one_pair);
}

}  // namespace
}  // namespace rimetree
