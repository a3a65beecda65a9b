// LogLikelihood: the logarithm of normal densities, by hand, and of priors.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

/// ln of the normal density.
double ln_normal(double x, double sigma) {
  return -0.5 * (x / sigma) * (x / sigma) - std::log(sigma) - 0.5 * std::log(2 * 3.14159265358979323846);
}

TEST(LogLikelihoodNode, IsTheLogarithmOfTheDensity) {
  TestForest tree;
  tree.constant("data", complex_array({}, {{3, 1}})).constant("model", complex_array({}, {{1, 0.5}}));
  tree.constant("real", 0.4).constant("zero", 0.0);
  tree.node("r", "Condeq", {"data", "model"}, {{"weight_factor", 4.0}}).node("s", "Condeq", {"real", "zero"});
  const ResultPtr result = tree.node("x", "LogLikelihood", {"r", "s"}).evaluate("x");
  expect_ok(result);
  // Once, as nothing varies along an axis; sigma 1/2 of real and imaginary part each.
  const double expected = ln_normal(2, 0.5) + ln_normal(0.5, 0.5) + ln_normal(0.4, 1);
  EXPECT_NEAR(result->value.real()[0], expected, 1e-13 * std::abs(expected));
}

TEST(LogLikelihoodNode, FlaggedDataDoNotCountInTheNormalisation) {
  TestForest tree;
  tree.constant("data", 0.4).flagged("r", "data", array({1, 2, 3}, {0, 1, 1, 1, 1, 1}));
  const ResultPtr result = tree.node("x", "LogLikelihood", {"r"}).evaluate("x");
  EXPECT_NEAR(result->value.real()[0], ln_normal(0.4, 1), 1e-15);
}

TEST(LogLikelihoodNode, PosteriorAddsPriorsOfAllTiles) {
  TestForest tree;
  const TestForest::Fields fields{{"value", array({2, 1, 1, 2}, {1, 0.1, 2, 0.2})},
                                  {"time_edges_s", array({3}, {5e9 - 5, 5e9 + 5, 5e9 + 15})},
                                  {"freq_0_hz", 1e9},
                                  {"freq_scale_hz", 1e9},
                                  {"prior_mean", array({1, 2}, {1.5, 0})},
                                  {"prior_sigma", array({1, 2}, {0.25, 0})},  // no prior of the slope
                                  {"solvable", true}};
  tree.node("p", "Parm", {}, fields).parm("q", 1).node("m", "Add", {"p", "q"});
  tree.node("x", "LogLikelihood", {"m"}).node("y", "LogLikelihood", {"m"}, {{"posterior", true}});
  const double likelihood = tree.evaluate("x")->value.real()[0], posterior = tree.evaluate("y")->value.real()[0];
  EXPECT_NEAR(posterior - likelihood, ln_normal(-0.5, 0.25) + ln_normal(0.5, 0.25), 1e-13 * std::abs(likelihood));
  ValueAndGradient with = tree.evaluator->value_and_gradient(tree.request, tree.built->find("y"));
  ValueAndGradient without = tree.evaluator->value_and_gradient(tree.request, tree.built->find("x"));
  EXPECT_NEAR(with.value->value.real()[0], posterior, 1e-14 * std::abs(posterior));
  const int p = tree.built->find("p"), q = tree.built->find("q");
  const double expected[] = {0.5 / 0.0625, 0, -0.5 / 0.0625, 0};
  for (std::size_t k = 0; k < 4; ++k)
    EXPECT_NEAR(with.gradient.of(p)[k] - without.gradient.of(p)[k], expected[k], 1e-12) << k;
  EXPECT_EQ(with.gradient.of(q)[0], without.gradient.of(q)[0]);
  tree.request.derivatives = true;
  const ResultPtr forward = tree.evaluate("y");
  for (std::int32_t tile = 0; tile < 2; ++tile)
    for (std::int32_t k = 0; k < 2; ++k)
      EXPECT_NEAR(forward->derivative({p, k, tile})->real()[0], with.gradient.of(p)[2 * tile + k], 1e-12);
}

}  // namespace
}  // namespace rimetree::test
