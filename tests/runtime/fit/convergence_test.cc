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
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(patient.reached(1e-6, current)) << i;
  EXPECT_TRUE(patient.reached(1e-6, current));
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
  EXPECT_TRUE(convergence.reached(small, current));
  convergence.tried({2 * noise, 2 * noise, noise, true});  // one that can be seen
  EXPECT_FALSE(convergence.reached(small, current));
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
