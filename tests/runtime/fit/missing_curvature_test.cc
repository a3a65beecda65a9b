// MissingCurvature: a quadratic form is known after as many steps as it has dimensions, whatever its signs.
#include "runtime/fit/missing_curvature.h"

#include <gtest/gtest.h>

namespace rimetree::fit {
namespace {

using Vector = std::vector<double>;

constexpr double kForm[3][3] = {{0.02, 0.01, 0}, {0.01, -0.03, 0.005}, {0, 0.005, 0.04}};
const Vector kScale{1, 1, 1};

Vector image(const Vector& step) {
  Vector result(3, 0.0);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) result[i] += kForm[i][j] * step[j];
  return result;
}

double form(const Vector& step) {
  const Vector of = image(step);
  return step[0] * of[0] + step[1] * of[1] + step[2] * of[2];
}

TEST(MissingCurvature, LearnsAQuadraticForm) {
  MissingCurvature missing;
  for (const Vector& step : {Vector{1, 0.2, 0}, Vector{0.1, 1, -0.3}, Vector{0.5, 0, 2}})
    missing.learn(step, image(step), kScale);
  ASSERT_EQ(missing.updates().size(), 3u);
  for (const Vector& step : {Vector{1, 0, 0}, Vector{0, 1, 0}, Vector{0.3, -2, 1}})
    EXPECT_NEAR(missing.along(step), form(step), 1e-14);
  missing.forget();
  EXPECT_EQ(missing.along({1, 2, 3}), 0);
}

TEST(MissingCurvature, LearnsNothingFromAStepThatWasTooLong) {
  MissingCurvature missing;
  missing.learn({1, 0, 0}, {0.1, 5, 0}, kScale);  // the gradient changed where the step did not go
  missing.learn({1, 0, 0}, {0, 0, 0}, kScale);
  EXPECT_TRUE(missing.updates().empty());
}

TEST(MissingCurvature, ForgetsTheOldest) {
  MissingCurvature missing;
  for (int i = 0; i < 50; ++i) {
    const double x = i % 3 == 0 ? 1 : 0.1 * i;
    missing.learn({x, 1, -x}, {0.1 * x * (1 + 0.01 * i), 0.2, -0.1 * x}, kScale);
  }
  EXPECT_EQ(missing.updates().size(), 20u);
}

}  // namespace
}  // namespace rimetree::fit
