// Stokes: brightness matrices of each parameter by itself, linear and circular.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

using Matrix = std::vector<Complex<double>>;

void expect_matrix(const StateArray& stokes, const char* feed, const Matrix& expected) {
  const auto b = evaluate_class("Stokes", {stokes}, {{"feed", std::string(feed)}});
  ASSERT_EQ(b.size(), expected.size());
  for (std::size_t e = 0; e < b.size(); ++e) expect_near(b[e], expected[e], 0);
}

TEST(StokesNode, LinearFeeds) {
  expect_matrix(array({4}, {1, 0, 0, 0}), "linear", {1, 0.0, 0.0, 1});
  expect_matrix(array({4}, {0, 1, 0, 0}), "linear", {1, 0.0, 0.0, -1});
  expect_matrix(array({4}, {0, 0, 1, 0}), "linear", {0.0, 1, 1, 0.0});
  expect_matrix(array({4}, {0, 0, 0, 1}), "linear", {0.0, {0, 1}, {0, -1}, 0.0});
}

TEST(StokesNode, CircularFeeds) {
  expect_matrix(array({4}, {1, 0, 0, 0}), "circular", {1, 0.0, 0.0, 1});
  expect_matrix(array({4}, {0, 1, 0, 0}), "circular", {0.0, 1, 1, 0.0});
  expect_matrix(array({4}, {0, 0, 1, 0}), "circular", {0.0, {0, 1}, {0, -1}, 0.0});
  expect_matrix(array({4}, {0, 0, 0, 1}), "circular", {1, 0.0, 0.0, -1});
}

TEST(StokesNode, Stacks) {
  expect_matrix(array({2, 4}, {1, 2, 4, 8, 1, 0, 0, 0}), "linear", {3, {4, 8}, {4, -8}, -1, 1, 0.0, 0.0, 1});
}

TEST(StokesNode, RefusesUnknownFeedsAndShapes) {
  TestForest forest;
  forest.constant("s", array({4}, {1, 0, 0, 0})).constant("t", array({3}, {1, 0, 0}));
  EXPECT_THROW(TestForest(forest).node("x", "Stokes", {"s"}, {{"feed", std::string("dual")}}).evaluate("x"),
               ForestError);
  EXPECT_THROW(TestForest(forest).node("x", "Stokes", {"t"}).evaluate("x"), ForestError);
}

}  // namespace
}  // namespace rimetree::test
