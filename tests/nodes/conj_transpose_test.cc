// ConjTranspose: where elements and their flags go, of matrices and of stacks.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TEST(ConjTransposeNode, ExchangesRowsAndColumnsAndConjugates) {
  const auto x =
      evaluate_class("ConjTranspose", {complex_array({2, 3}, {{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 6}})});
  const double expected[] = {1, 4, 2, 5, 3, 6};
  ASSERT_EQ(x.size(), 6u);
  for (int e = 0; e < 6; ++e) expect_near(x[e], {expected[e], -expected[e]}, 0);
}

TEST(ConjTransposeNode, TransposesEachMatrixOfAStack) {
  const auto x = evaluate_class("ConjTranspose", {array({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})});
  const double expected[] = {1, 3, 2, 4, 5, 7, 6, 8};
  for (int e = 0; e < 8; ++e) expect_near(x.at(e), expected[e], 0);
}

TEST(ConjTransposeNode, OnlyConjugatesScalars) {
  const auto x = evaluate_class("ConjTranspose", {complex_array({2}, {{1, 2}, {3, -4}})});
  expect_near(x.at(0), {1, -2}, 0);
  expect_near(x.at(1), {3, 4}, 0);
}

TEST(ConjTransposeNode, MovesFlagsWithTheirElement) {
  TestForest forest;
  forest.constant("m", array({2, 2}, {1, 2, 3, 4})).flagged("f", "m", array({4, 1, 1}, {0, 7, 0, 0}));
  const ResultPtr x = forest.node("x", "ConjTranspose", {"f"}).evaluate("x");
  for (std::size_t e = 0; e < 4; ++e) EXPECT_EQ(flag_at(x->flags, e), e == 2 ? 7 : 0);
}

}  // namespace
}  // namespace rimetree::test
