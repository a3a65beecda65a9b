// What Levenberg-Marquardt makes of one step after the other, of normal equations that are written down by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/fit/levenberg_marquardt.h"

namespace rimetree::fit {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
using Vector = std::vector<double>;

/// Of 100 residuals and one unknown.
struct Here {
  double objective = 100, gradient = 1, curvature = 1;
  double data_power = 1e8;  // 1: of steps that count as far from the solution
  std::size_t equations = 100;
};

NormalEquations of(const Here& here) {
  NormalEquations result(1);
  result.objective = result.chi_square = here.objective;
  result.gradient = {here.gradient}, result.matrix = {here.curvature};
  result.data_power = here.data_power, result.equations = here.equations;
  return result;
}

/// From 0 by a step that promises a decrease of 1.
LevenbergMarquardt begun(const Here& here = {}, double maximum = kInf, int iterations = 50, double damping = 1e-9) {
  LevenbergMarquardt fit({.iterations = iterations, .damping = damping}, {0}, {-kInf}, {maximum});
  fit.take(of(here));
  return fit;
}

bool is_taken(LevenbergMarquardt&& fit, const Here& at_trial) {
  const Vector trial = fit.trial();
  fit.take(of(at_trial));
  EXPECT_TRUE(fit.running());
  EXPECT_TRUE(fit.solution() == trial || fit.solution() == Vector{0});
  return fit.solution() == trial;
}

TEST(StepsOfAFit, AreTakenIfTheyBringATenThousandthOfWhatTheyPromise) {
  const Here begin{.data_power = 1};
  EXPECT_NEAR(begun(begin).trial()[0], 1, 1e-8);
  EXPECT_TRUE(is_taken(begun(begin), {.objective = 100 - 1.1e-4, .data_power = 1}));
  EXPECT_FALSE(is_taken(begun(begin), {.objective = 100 - 0.9e-4, .data_power = 1}));
}

TEST(StepsOfAFit, AreTakenWhereWhatTheyBringIsLostInRounding) {
  const Here begin{.data_power = 1e10};  // of which 1e-13 is lost
  EXPECT_TRUE(is_taken(begun(begin), {.objective = 100 + 0.8e-3, .gradient = 0.5, .data_power = 1e10}));
  EXPECT_FALSE(is_taken(begun(begin), {.objective = 100 + 1.0e-3, .gradient = 0.1, .data_power = 1e10}));
}

TEST(StepsOfAFit, AreNotTakenToWhereTheModelIsNotFinite) {
  const Here begin{.data_power = 1};
  EXPECT_TRUE(is_taken(begun(begin), {.objective = 99, .data_power = 1, .equations = 101}));
  EXPECT_TRUE(is_taken(begun(begin), {.objective = 99, .data_power = 1}));
  EXPECT_FALSE(is_taken(begun(begin), {.objective = 99, .data_power = 1, .equations = 99}));
  EXPECT_FALSE(is_taken(begun(begin), {.objective = 99, .gradient = kInf, .data_power = 1}));
  EXPECT_FALSE(is_taken(begun(begin), {.objective = -kInf, .data_power = 1}));
}

TEST(StepsOfAFit, PromiseLessWhereABoundShortensThem) {
  const Here begin{.data_power = 1};
  EXPECT_EQ(begun(begin, 0.5).trial(), Vector{0.5});
  EXPECT_TRUE(is_taken(begun(begin, 0.5), {.objective = 100 - 0.8e-4, .gradient = -1, .data_power = 1}));  // of 0.75
  EXPECT_FALSE(is_taken(begun(begin, 0.5), {.objective = 100 - 0.7e-4, .data_power = 1}));
}

TEST(StepsOfAFit, HoldWhatWouldCrossItsBounds) {
  LevenbergMarquardt fit({.damping = 1e-9}, {0, 0, 0, 0}, {0, 0, -kInf, -kInf}, {kInf, kInf, 0, 0});
  NormalEquations equations(4);
  for (std::size_t k = 0; k < 4; ++k) equations.at(k, k) = 1;
  equations.gradient = {-1, 1, 1, -1};
  equations.objective = equations.chi_square = 100, equations.data_power = 1, equations.equations = 100;
  fit.take(equations);
  EXPECT_TRUE(fit.held(0) && fit.held(2));
  EXPECT_FALSE(fit.held(1) || fit.held(3));
  const Vector wanted{0, 1, 0, -1};
  for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(fit.trial()[k], wanted[k], 1e-8) << k;
}

TEST(StepsOfAFit, AreRememberedFromTheFirst) {
  LevenbergMarquardt fit({}, {0}, {-kInf}, {kInf});
  NormalEquations first = of({.objective = 103});
  first.chi_square = 100, first.prior_chi_square = 3;
  fit.take(first);
  fit.take(of({.objective = 99, .gradient = 0.5}));
  EXPECT_EQ(fit.first_equations().objective, 103);
  EXPECT_EQ(fit.first_equations().chi_square, 100);
  EXPECT_EQ(fit.first_equations().prior_chi_square, 3);
  EXPECT_EQ(fit.first_equations().equations, 100u);
  EXPECT_EQ(fit.equations().objective, 99);
}

/// So much higher than where the fit is, where the way down brings so much.
Here slope(double height, double brings, double data_power = 1e8, double objective = 100) {
  const double without_damping = brings / (2 / 1.01 - 1 / (1.01 * 1.01));
  return {.objective = objective + height,
          .gradient = std::sqrt(4 * without_damping),
          .curvature = 4,
          .data_power = data_power};
}

/// By how much the next trial is down the slope from the last one; 0 where another step is tried from where it began.
double turned(LevenbergMarquardt&& fit, const Here& at_trial) {
  const double before = fit.trial()[0];
  fit.take(of(at_trial));
  const double moved = fit.trial()[0] - before;
  return std::abs(moved) < 0.1 ? 0 : moved;
}

TEST(StepsBackIntoAValley, AreDampedAndBringAQuarterOfThePromise) {
  const Here enough = slope(10, 10.26), too_little = slope(10, 10.24);
  EXPECT_NEAR(turned(begun(), enough), enough.gradient / (4 * 1.01), 1e-9);
  EXPECT_EQ(turned(begun(), too_little), 0);
  // Not less than the steps that they belong to.
  EXPECT_NEAR(turned(begun({}, kInf, 50, 0.1), slope(10, 12)), slope(10, 12).gradient / (4 * 1.1), 1e-9);
}

TEST(StepsBackIntoAValley, AreJudgedTogetherWithTheStepBefore) {
  auto fit = begun();
  fit.take(of(slope(10, 11)));
  const Vector trial = fit.trial();
  EXPECT_EQ(fit.solution(), Vector{0});
  fit.take(of({.objective = 98.6, .gradient = 0.3}));
  EXPECT_EQ(fit.solution(), trial);
  // Of two steps in different directions nothing is learnt: the next one is that of the normal matrix.
  EXPECT_NEAR(fit.trial()[0] - trial[0], 0.3, 1e-8);
}

TEST(StepsBackIntoAValley, HalveTheHeightEachTime) {
  const auto after = [](const std::vector<double>& heights) {
    auto fit = begun();
    for (const double height : heights) fit.take(of(slope(height, height + 1)));
    return fit;
  };
  EXPECT_GT(turned(after({10}), slope(4.9, 6)), 0);
  EXPECT_LT(turned(after({10}), slope(5.1, 6)), 0);  // from the start again
  EXPECT_GT(turned(after({10, 4.9}), slope(2.4, 4)), 0);
  EXPECT_LT(turned(after({10, 4.9}), slope(2.6, 4)), 0);
}

TEST(StepsBackIntoAValley, MayBeginHigherAfterAStepThatWasTaken) {
  auto fit = begun();
  fit.take(of(slope(10, 11)));
  fit.take(of({.objective = 99}));
  EXPECT_GT(turned(std::move(fit), slope(20, 22, 1e8, 99)), 0);
}

TEST(StepsBackIntoAValley, AreForWhatIsMoreThanNoise) {
  for (const double variance : {0.99, 1.01}) {  // a hundredth of a residual's
    const double objective = 99 * 100 * variance;
    EXPECT_EQ(turned(begun({.objective = objective}), slope(10, 11, 1e8, objective)) > 0, variance < 1);
  }
  for (const double rounding : {0.99, 1.01})
    EXPECT_EQ(turned(begun({.data_power = 1e13 * rounding}), slope(10, 11, 1e13 * rounding)) > 0, rounding < 1);
}

TEST(StepsBackIntoAValley, AreForWhatIsCloseToTheSolution) {
  for (const double part : {0.9e-3, 1.1e-3})  // of the data's power
    EXPECT_EQ(turned(begun({.data_power = 1 / part}), slope(10, 11, 1 / part)) > 0, part < 1e-3);
}

TEST(StepsBackIntoAValley, DoNotStartWhereTheModelEnds) {
  Here fewer = slope(10, 11);
  fewer.equations = 99;
  EXPECT_EQ(turned(begun(), fewer), 0);
}

TEST(StepsBackIntoAValley, CountAsIterations) {
  auto fit = begun({}, kInf, 2);
  fit.take(of(slope(10, 11)));
  EXPECT_TRUE(fit.running());
  fit.take(of(slope(1, 11)));
  EXPECT_EQ(fit.status(), FitStatus::exhausted);
  EXPECT_EQ(fit.solution(), Vector{0});
}

TEST(StepsBackIntoAValley, KeepToBounds) {
  EXPECT_NEAR(turned(begun({}, 1.5), slope(10, 11)), 0.5, 1e-8);
  // What a bound holds does not move, and what it has in common with others does not either.
  const auto equations = [](double objective, const Vector& gradient, double own, double shared) {
    NormalEquations result(2);
    result.at(0, 0) = result.at(1, 1) = own, result.at(1, 0) = shared;
    result.gradient = gradient, result.objective = result.chi_square = objective;
    result.data_power = 1e8, result.equations = 100;
    return result;
  };
  LevenbergMarquardt fit({.damping = 1e-9}, {0, 0}, {-kInf, -kInf}, {kInf, 0});
  fit.take(equations(100, {1, 1}, 1, 0));
  fit.take(equations(110, {7, -5}, 4, 2));
  EXPECT_NEAR(fit.trial()[0], 1 + 7 / (4 * 1.01), 1e-8);
  EXPECT_EQ(fit.trial()[1], 0);
}

/// The step after one from 0 to 1 that brings so much, where half the slope is so much.
double next_step(double brings, double gradient, double data_power = 1e8) {
  auto fit = begun({.data_power = data_power});
  fit.take(of({.objective = 100 - brings, .gradient = gradient, .data_power = data_power}));
  return fit.trial()[0] - fit.solution()[0];
}

TEST(MissingCurvatureOfAFit, CountsWhereTheNormalMatrixPredictsBadly) {
  // The slope changes by 0.6 along the step, instead of 1.
  for (const double brings : {0.76, 1.24}) EXPECT_NEAR(next_step(brings, 0.4), 0.4, 1e-6) << brings;
  for (const double brings : {0.74, 1.26}) EXPECT_NEAR(next_step(brings, 0.4), 0.4 / 0.6, 1e-6) << brings;
  EXPECT_NEAR(next_step(1.26, 0.4, 1.1e13), 0.4, 1e-6);  // rounding errors are larger than what was promised
  EXPECT_NEAR(next_step(1.26, 0.4, 1), 0.4, 1e-6);       // far from the solution
}

TEST(MissingCurvatureOfAFit, IsLeftAsideWhereTheNormalMatrixPredictsBetter) {
  // A tenth of the curvature is missing: a step of 0.1/0.9 promises 0.0111, or 0.0099 by the normal matrix.
  // Then 0.185 is missing of the half of what both matrices say, 0.995.
  for (const double brings : {0.0102, 0.0108}) {
    auto fit = begun();
    fit.take(of({.objective = 100 - 1.3, .gradient = 0.1}));
    EXPECT_NEAR(fit.trial()[0] - fit.solution()[0], 0.1 / 0.9, 1e-6);
    fit.take(of({.objective = 100 - 1.3 - brings, .gradient = 0.01, .curvature = 0.99}));
    EXPECT_NEAR(fit.trial()[0] - fit.solution()[0], 0.01 / (brings < 0.0105 ? 0.99 : 0.99 - 0.185), 1e-6) << brings;
  }
}

TEST(MissingCurvatureOfAFit, CountsInWhatAStepPromises) {
  // 0.4 of the curvature is missing: a step of 0.4/0.6 promises 0.267, or 0.089 by the normal matrix. As much as that
  // does not make its own promise a good one.
  auto fit = begun();
  fit.take(of({.objective = 100 - 1.26, .gradient = 0.4}));
  fit.take(of({.objective = 100 - 1.26 - 0.09, .gradient = 0.2 / 3, .curvature = 0.8}));
  EXPECT_NEAR(fit.trial()[0] - fit.solution()[0], 0.2 / 3 / (0.8 - 0.4), 1e-6);
}

}  // namespace
}  // namespace rimetree::fit
