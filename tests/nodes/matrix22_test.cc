// Matrix22: the order of its elements and their flags.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TEST(Matrix22Node, IsRowMajor) {
  const auto x = evaluate_class("Matrix22", {1.0, complex_array({}, {{0, 2}}), 3.0, 4.0});
  ASSERT_EQ(x.size(), 4u);
  expect_near(x[0], {1, 0}, 0);
  expect_near(x[1], {0, 2}, 0);
  expect_near(x[2], {3, 0}, 0);
  expect_near(x[3], {4, 0}, 0);
}

TEST(Matrix22Node, KeepsFlagsWithTheirElement) {
  TestForest forest;
  forest.constant("a", 1.0).flagged("f", "a", array({1, 1, 1}, {4})).node("x", "Matrix22", {"a", "a", "f", "a"});
  const ResultPtr x = forest.evaluate("x");
  for (std::size_t e = 0; e < 4; ++e) EXPECT_EQ(flag_at(x->flags, e), e == 2 ? 4 : 0);
}

TEST(Matrix22Node, RefusesTensors) {
  TestForest forest;
  forest.constant("a", 1.0).constant("v", array({2}, {1, 2})).node("x", "Matrix22", {"a", "a", "v", "a"});
  EXPECT_THROW(forest.evaluate("x"), ForestError);
}

}  // namespace
}  // namespace rimetree::test
