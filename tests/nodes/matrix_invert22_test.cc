// MatrixInvert22: hand inverses, of matrices, stacks and scalars.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

void expect_values(const std::vector<Complex<double>>& got, const std::vector<Complex<double>>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t e = 0; e < got.size(); ++e) expect_near(got[e], expected[e], 1e-15);
}

TEST(MatrixInvert22Node, InvertsMatrices) {
  expect_values(evaluate_class("MatrixInvert22", {array({2, 2}, {1, 2, 3, 4})}), {-2, 1, 1.5, -0.5});
  // diag(i, 2) -> diag(-i, 1/2)
  expect_values(evaluate_class("MatrixInvert22", {complex_array({2, 2}, {{0, 1}, {0, 0}, {0, 0}, {2, 0}})}),
                {{0, -1}, 0.0, 0.0, 0.5});
}

TEST(MatrixInvert22Node, InvertsStacksAndScalars) {
  expect_values(evaluate_class("MatrixInvert22", {array({2, 2, 2}, {1, 2, 3, 4, 0, 1, 1, 0})}),
                {-2, 1, 1.5, -0.5, 0.0, 1, 1, 0.0});
  expect_values(evaluate_class("MatrixInvert22", {array({2}, {4, -0.5})}), {0.25, -2});
}

TEST(MatrixInvert22Node, RefusesOtherMatrices) {
  TestForest forest;
  forest.constant("m", array({3, 3}, std::vector<double>(9, 1))).node("x", "MatrixInvert22", {"m"});
  EXPECT_THROW(forest.evaluate("x"), ForestError);
}

}  // namespace
}  // namespace rimetree::test
