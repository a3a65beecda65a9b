// Covariance: hand-made normal matrices whose inverses, ranks and null spaces are known.
#include "runtime/fit/covariance.h"

#include <gtest/gtest.h>

#include <cmath>

namespace rimetree::fit {
namespace {

NormalEquations equations(std::size_t n, const std::vector<double>& matrix) {
  NormalEquations result(n);
  result.matrix = matrix;
  return result;
}

TEST(Covariance, IsTheInverse) {
  const auto of = equations(2, {4, 0, 2, 9});  // [[4, 2], [2, 9]], inverse [[9, -2], [-2, 4]]/32
  const Covariance covariance = fit::covariance(of, {false, false});
  EXPECT_EQ(covariance.rank, 2u);
  EXPECT_NEAR(covariance.sigma[0], std::sqrt(9.0 / 32), 1e-15);
  EXPECT_NEAR(covariance.sigma[1], std::sqrt(4.0 / 32), 1e-15);
  EXPECT_NEAR(covariance.condition, (1 + 1.0 / 3) / (1 - 1.0 / 3), 1e-12);  // scaled: [[1, 1/3], [1/3, 1]]
  EXPECT_NEAR(covariance.determined[0], 1, 1e-15);
}

TEST(Covariance, ScalesDoNotMatter) {
  const auto of = equations(2, {4e-30, 0, 2, 9e30});
  const Covariance covariance = fit::covariance(of, {false, false});
  EXPECT_EQ(covariance.rank, 2u);
  EXPECT_NEAR(covariance.sigma[0] * 1e-15, std::sqrt(9.0 / 32), 1e-14);
}

TEST(Covariance, ACommonOffsetIsNotDetermined) {
  // Differences of three unknowns: 3 I - 1 1^T. Each is determined but for a third; the pseudo-inverse is (I -
  // 11^T/3)/3.
  const auto of = equations(3, {2, 0, 0, -1, 2, 0, -1, -1, 2});
  const Combination sum{{0, 1.0}, {1, 1.0}, {2, 1.0}}, difference{{0, 1.0}, {2, -1.0}};
  const Covariance covariance = fit::covariance(of, {false, false, false}, {sum, difference});
  EXPECT_EQ(covariance.rank, 2u);
  EXPECT_NEAR(covariance.condition, 1, 1e-12);
  for (int k = 0; k < 3; ++k) {
    EXPECT_NEAR(covariance.determined[k], 2.0 / 3, 1e-12);
    EXPECT_NEAR(covariance.sigma[k], std::sqrt(2.0 / 9), 1e-12);
  }
  EXPECT_FALSE(covariance.combination_determined[0]);
  EXPECT_TRUE(covariance.combination_determined[1]);
}

TEST(Covariance, WhatHasNoDataOrIsHeldHasNoError) {
  const auto of = equations(3, {4, 0, 0, 0, 0, 0, 2, 0, 9});
  const Covariance covariance = fit::covariance(of, {true, false, false});
  EXPECT_EQ(covariance.rank, 1u);
  EXPECT_TRUE(std::isnan(covariance.sigma[0]));
  EXPECT_TRUE(std::isnan(covariance.sigma[1]));
  EXPECT_NEAR(covariance.sigma[2], 1.0 / 3, 1e-15);  // the held one has no error that it could share
  EXPECT_EQ(covariance.determined[1], 0);
}

TEST(Covariance, OfNothing) {
  const Covariance covariance = fit::covariance(equations(2, {0, 0, 0, 0}), {false, false}, {{{0, 1.0}}});
  EXPECT_EQ(covariance.rank, 0u);
  EXPECT_TRUE(std::isnan(covariance.sigma[0]));
  EXPECT_FALSE(covariance.combination_determined[0]);
}

}  // namespace
}  // namespace rimetree::fit
