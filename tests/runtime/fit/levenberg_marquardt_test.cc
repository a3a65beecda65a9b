// Levenberg-Marquardt: problems with known minima, bounds, priors, and every way in which a fit can end.
#include "runtime/fit/levenberg_marquardt.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

namespace rimetree::fit {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
using Vector = std::vector<double>;

/// Residuals and their derivatives [residual][unknown] at x.
using Problem = std::function<void(const Vector& x, Vector& residuals, std::vector<Vector>& slopes)>;

NormalEquations equations_of(const Problem& problem, const Vector& x, double data_power) {
  Vector residuals;
  std::vector<Vector> slopes;
  problem(x, residuals, slopes);
  NormalEquations result(x.size());
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    if (!std::isfinite(residuals[i])) continue;
    result.objective += residuals[i] * residuals[i];
    ++result.equations;
    for (std::size_t k = 0; k < x.size(); ++k) {
      result.gradient[k] -= slopes[i][k] * residuals[i];
      for (std::size_t l = 0; l <= k; ++l) result.at(k, l) += slopes[i][k] * slopes[i][l];
    }
  }
  result.chi_square = result.objective;
  result.data_power = data_power;
  return result;
}

LevenbergMarquardt run(const Problem& problem, const Vector& start, FitOptions options = {}, Vector minimum = {},
                       Vector maximum = {}, double data_power = 1) {
  if (minimum.empty()) minimum.assign(start.size(), -kInf);
  if (maximum.empty()) maximum.assign(start.size(), kInf);
  LevenbergMarquardt fit(options, start, minimum, maximum);
  while (fit.running()) fit.take(equations_of(problem, fit.trial(), data_power));
  return fit;
}

/// Rosenbrock's valley, minimum 0 at (1, 1).
void rosenbrock(const Vector& x, Vector& r, std::vector<Vector>& j) {
  r = {10 * (x[1] - x[0] * x[0]), 1 - x[0]};
  j = {{-20 * x[0], 10}, {-1, 0}};
}

TEST(LevenbergMarquardt, FindsTheBottomOfRosenbrocksValley) {
  const auto fit = run(rosenbrock, {-1.2, 1}, {.iterations = 200});
  EXPECT_EQ(fit.status(), FitStatus::converged);
  EXPECT_NEAR(fit.solution()[0], 1, 1e-9);
  EXPECT_NEAR(fit.solution()[1], 1, 1e-9);
  EXPECT_NEAR(fit.first_equations().objective, 24.2, 1e-12);
}

/// y = a exp(b t) + 0.1 (-1)^i for a = 2, b = -0.3: residuals stay.
void decay(const Vector& x, Vector& r, std::vector<Vector>& j) {
  r.clear(), j.clear();
  for (int i = 0; i < 20; ++i) {
    const double t = 0.5 * i, e = std::exp(x[1] * t), datum = 2 * std::exp(-0.3 * t) + (i % 2 ? 0.1 : -0.1);
    r.push_back(datum - x[0] * e);
    j.push_back({-e, -x[0] * t * e});
  }
}

TEST(LevenbergMarquardt, EndsWhereTheGradientVanishes) {
  const auto fit = run(decay, {1, 0}, {.sigma_tolerance = 1e-8});
  EXPECT_EQ(fit.status(), FitStatus::converged);
  for (const double g : fit.equations().gradient) EXPECT_NEAR(g, 0, 1e-7);
  EXPECT_NEAR(fit.solution()[0], 2, 0.2);
  EXPECT_LT(fit.equations().chi_square, 0.2);
}

TEST(LevenbergMarquardt, AtTheSolutionNothingIsTried) {
  const auto fit = run(decay, run(decay, {1, 0}).solution());
  EXPECT_EQ(fit.status(), FitStatus::converged);
  EXPECT_EQ(fit.iterations(), 0);
}

TEST(LevenbergMarquardt, KeepsToItsBounds) {
  const auto fit = run(rosenbrock, {-1.2, 1}, {.iterations = 200}, {-kInf, -kInf}, {0.5, kInf});
  EXPECT_EQ(fit.status(), FitStatus::converged);
  EXPECT_EQ(fit.solution()[0], 0.5);
  EXPECT_NEAR(fit.solution()[1], 0.25, 1e-7);
  EXPECT_TRUE(fit.held(0));
  EXPECT_FALSE(fit.held(1));
}

TEST(LevenbergMarquardt, AStartOutsideTheBoundsIsMovedInside) {
  LevenbergMarquardt fit({}, {5, -5}, {-1, -1}, {1, 1});
  EXPECT_EQ(fit.trial(), (Vector{1, -1}));
}

TEST(LevenbergMarquardt, WhatTheDataDoNotDetermineStaysWhereItIs) {
  // Only the sum is determined, and the third unknown by nothing at all.
  const Problem sum = [](const Vector& x, Vector& r, std::vector<Vector>& j) {
    r = {10 - x[0] - x[1]};
    j = {{-1, -1, 0}};
  };
  const auto fit = run(sum, {1, 3, 7});
  EXPECT_EQ(fit.status(), FitStatus::converged);
  EXPECT_NEAR(fit.solution()[0] + fit.solution()[1], 10, 1e-9);
  EXPECT_NEAR(fit.solution()[1] - fit.solution()[0], 2, 1e-9);
  EXPECT_EQ(fit.solution()[2], 7);
}

TEST(LevenbergMarquardt, EndsWithoutEquations) {
  const auto fit = run([](const Vector&, Vector& r, std::vector<Vector>& j) { r = {}, j = {}; }, {1});
  EXPECT_EQ(fit.status(), FitStatus::no_equations);
  EXPECT_EQ(fit.solution(), Vector{1});
}

TEST(LevenbergMarquardt, EndsWhereTheStartIsNotFinite) {
  const Problem slope = [](const Vector& x, Vector& r, std::vector<Vector>& j) {
    r = {std::sqrt(x[0])};
    j = {{0.5 / std::sqrt(x[0])}};  // infinite at 0
  };
  EXPECT_EQ(run(slope, {0}).status(), FitStatus::not_finite);
}

TEST(LevenbergMarquardt, DoesNotStepWhereTheModelEnds) {
  // log(x) = -3 from x = 1: full steps lead to negative x, where there is no equation to fit.
  const Problem logarithm = [](const Vector& x, Vector& r, std::vector<Vector>& j) {
    r = {-3 - std::log(x[0])};
    j = {{-1 / x[0]}};
  };
  const auto fit = run(logarithm, {1}, {}, {}, {}, 9);
  EXPECT_EQ(fit.status(), FitStatus::converged);
  EXPECT_NEAR(fit.solution()[0], std::exp(-3.0), 1e-9);
}

TEST(LevenbergMarquardt, EndsWithoutConvergenceAfterTheIterationsAllowed) {
  const auto fit = run(rosenbrock, {-1.2, 1}, {.iterations = 3});
  EXPECT_EQ(fit.status(), FitStatus::exhausted);
  EXPECT_EQ(fit.iterations(), 3);
  EXPECT_LT(fit.equations().objective, 24.2);
}

TEST(LevenbergMarquardt, StallsWhereDerivativesAreWrong) {
  const Problem wrong = [](const Vector& x, Vector& r, std::vector<Vector>& j) {
    r = {10 + x[0] * x[0]};
    j = {{x[0] > 0 ? -1.0 : 1.0}};  // points uphill on both sides
  };
  EXPECT_EQ(run(wrong, {0.5}, {.iterations = 1000}).status(), FitStatus::stalled);
}

TEST(NormalEquations, PriorsPullAndCount) {
  NormalEquations equations(2);
  add_priors(equations, {3, 3}, {1, 0}, {0.5, 0});
  EXPECT_EQ(equations.equations, 1u);
  EXPECT_DOUBLE_EQ(equations.objective, 16);
  EXPECT_DOUBLE_EQ(equations.diagonal(0), 4);
  EXPECT_DOUBLE_EQ(equations.gradient[0], -8);
  EXPECT_EQ(equations.diagonal(1), 0);
}

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
}  // namespace rimetree::fit
