// Weights and objective of Student's t against its limit and against each other.
#include "runtime/math/error_model.h"

#include <gtest/gtest.h>

namespace rimetree {
namespace {

TEST(ErrorModel, StudentsTGoesToGaussAndIsTheDerivativeOfItsObjective) {
  const ErrorModel gauss, wide{3}, nearly_gauss{1e5};
  EXPECT_EQ(gauss.weight_factor(7, 2), 1);
  EXPECT_EQ(gauss.objective(7, 2), 7);
  EXPECT_NEAR(nearly_gauss.objective(7, 2), 7, 1e-3);
  EXPECT_NEAR(nearly_gauss.variance_factor(2), 1, 1e-4);
  const double h = 1e-5;  // d objective / d square = weight factor
  EXPECT_NEAR((wide.objective(7 + h, 2) - wide.objective(7 - h, 2)) / (2 * h), wide.weight_factor(7, 2), 1e-9);
}

}  // namespace
}  // namespace rimetree
