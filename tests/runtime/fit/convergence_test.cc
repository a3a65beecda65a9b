// When a fit is where it can get.
#include "runtime/fit/convergence.h"

#include <gtest/gtest.h>

namespace rimetree::fit {
namespace {

NormalEquations equations(double chi_square) {
  NormalEquations made(2);
  made.equations = 102;
  made.chi_square = made.objective = chi_square;
  made.data_power = 1e6;
  return made;
}

TEST(Convergence, ByTheErrorAndTheData) {
  const NormalEquations current = equations(100);  // a variance of 1, and an error of the model of 2
  Convergence convergence(1e-8, 1e-3);
  EXPECT_FALSE(convergence.reached(1e-5, current)) << "more than the error says";
  EXPECT_TRUE(convergence.reached(1e-11, current));
  // Within the error, but not within the tolerance of the data: after several in a row.
  Convergence patient(1e-8, 1e-3);
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(patient.reached(1.5e-6, current)) << i;
  EXPECT_FALSE(patient.reached(2.5e-6, current)) << "more than the error says, after which it counts anew";
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(patient.reached(1.5e-6, current)) << i;
  EXPECT_TRUE(patient.reached(1.5e-6, current));
}

TEST(Convergence, OfDataWithoutNoiseWhereOnlyRoundingMakesSteps) {
  const NormalEquations current = equations(1e-20);
  const double noise = rounding_error(current), small = 0.1 * noise;
  Convergence convergence(1e-12, 1e-3);
  // Steps that bring nothing of what is predicted, and do not become shorter.
  for (int i = 0; i < 6; ++i) {
    EXPECT_FALSE(convergence.reached(small, current)) << i;
    convergence.tried({0, small, noise, true});
  }
  EXPECT_FALSE(convergence.reached(2 * noise, current)) << "rounding does not make such steps";
  EXPECT_TRUE(convergence.reached(small, current));
  convergence.tried({2 * noise, 2 * noise, noise, true});  // one that can be seen
  EXPECT_FALSE(convergence.reached(small, current));
}

TEST(Convergence, StepsThatRoundingDoesNotMakeAreNotBlind) {
  const NormalEquations current = equations(1e-20);
  const double noise = rounding_error(current), small = 0.1 * noise;
  const auto ends_after = [&](double decrease, double predicted, double shorter) {
    Convergence convergence(1e-12, 1e-3);
    for (int i = 0; i < 7; ++i, predicted *= shorter, decrease *= shorter)
      convergence.tried({decrease, predicted, noise, true});
    return convergence.reached(small, current);
  };
  EXPECT_TRUE(ends_after(0, small, 1));
  EXPECT_FALSE(ends_after(small, small, 1)) << "they bring what is predicted";
  EXPECT_FALSE(ends_after(0, small, 0.4)) << "they become shorter";
  EXPECT_FALSE(ends_after(0, 2 * noise, 1)) << "more is predicted than rounding hides";
}

TEST(Convergence, OfAPerfectFit) {
  const NormalEquations perfect = equations(0), nearly = equations(1e-8);
  EXPECT_TRUE(Convergence(1e-8, 1e-3).reached(1e-19, perfect));
  EXPECT_FALSE(Convergence(1e-8, 1e-3).reached(1e-17, perfect));
  EXPECT_FALSE(Convergence(1e-8, 1e-3).reached(1e-11, nearly)) << "within the tolerance, but not within the error";
}

TEST(Convergence, TheVarianceOfAResidualCountsPriorsAndUnknowns) {
  NormalEquations current = equations(100);
  current.equations += 20;
  current.prior_chi_square = 140;
  EXPECT_DOUBLE_EQ(residual_variance(current), 2);
  current.equations = 2;  // as many as unknowns
  EXPECT_DOUBLE_EQ(residual_variance(current), 240);
}

TEST(Convergence, StationaryWhereManyStepsBringNothing) {
  const NormalEquations current = equations(100);
  Convergence convergence(1e-8, 1e-3);
  for (int i = 0; i < 19; ++i) convergence.taken(100.05);
  EXPECT_FALSE(convergence.is_stationary(current)) << "too few steps";
  convergence.taken(100.05);
  EXPECT_TRUE(convergence.is_stationary(current));
  EXPECT_FALSE(convergence.is_stationary(equations(99)));
}

}  // namespace
}  // namespace rimetree::fit
