// How far steps go, by what those before brought.
#include "runtime/fit/step_length.h"

#include <gtest/gtest.h>

namespace rimetree::fit {
namespace {

constexpr double kNoise = 1e-9;
StepTried exact(double decrease) { return {decrease, decrease, kNoise, true}; }

TEST(StepLength, DampingHasAFloor) {
  StepLength length(1e-3);
  for (int i = 0; i < 20; ++i) length.taken({1, 1.1, kNoise, true});
  EXPECT_EQ(length.damping(), length.least_damping());
  EXPECT_EQ(length.least_damping(), 1e-9);
}

TEST(StepLength, WhatRoundingHidesIsAsGoodAsPredicted) {
  StepLength length(1e-3);
  length.taken({0, 0.5 * kNoise, kNoise, true});
  EXPECT_DOUBLE_EQ(length.damping(), 1e-4);
  EXPECT_DOUBLE_EQ(length.factor(20), 0.05);
}

TEST(StepLength, TheFloorSinksWhereDampingAloneHoldsStepsBack) {
  // Predictions are exact, and yet each step brings hardly less than the one before.
  StepLength length(1e-9);
  for (int i = 0; i < 20; ++i) length.taken(exact(1));
  EXPECT_NEAR(length.least_damping(), 1e-13, 1e-15);
  EXPECT_EQ(length.damping(), length.least_damping());
  // Steps that become shorter by themselves need no less damping.
  StepLength other(1e-9);
  other.taken({1, 1.1, kNoise, true});
  double decrease = 1;
  for (int i = 0; i < 20; ++i) other.taken(exact(decrease *= 0.1));
  EXPECT_EQ(other.least_damping(), 1e-9);
}

TEST(StepLength, TurnsGrowAfterExactPredictionsOnly) {
  StepLength length(1e-3);
  EXPECT_DOUBLE_EQ(length.factor(5), 0.2);
  EXPECT_DOUBLE_EQ(length.factor(0.5), 1);
  length.taken(exact(1));
  EXPECT_DOUBLE_EQ(length.factor(20), 0.5);
  length.taken({1, 1.2, kNoise, true});
  EXPECT_DOUBLE_EQ(length.factor(20), 0.05);
  length.taken(exact(1));
  length.refused();
  EXPECT_DOUBLE_EQ(length.factor(20), 0.05);
}

TEST(StepLength, StepsAreStretchedWhereTheObjectiveHasNoCurvature) {
  const StepTried twice{2, 1, kNoise, true}, half_as_much_more{1.5, 1, kNoise, true};
  StepLength length(1e-3);
  EXPECT_DOUBLE_EQ(length.factor(0), 1);
  for (const double factor : {2, 4, 8, 16, 32, 64, 128, 256, 256}) {
    length.taken(twice);
    EXPECT_TRUE(length.is_stretched());
    EXPECT_DOUBLE_EQ(length.factor(0), factor);
  }
  length.taken(half_as_much_more);
  EXPECT_FALSE(length.is_stretched());
  // One that went too far is tried again as it is, with the same damping.
  length.taken(twice);
  const double damping = length.damping();
  length.refused();
  EXPECT_FALSE(length.is_stretched());
  EXPECT_EQ(length.damping(), damping);
  // Far from the solution no step is.
  length.taken({2, 1, kNoise, false});
  EXPECT_FALSE(length.is_stretched());
}

TEST(StepLength, AStretchedStepSaysNothingOfTurns) {
  StepLength length(1e-3);
  length.taken({2, 1, kNoise, true});
  length.taken(exact(1));
  EXPECT_DOUBLE_EQ(length.factor(20), 0.05);
}

TEST(StepLength, NoneIsUndampedAboveAFloorThatSinks) {
  EXPECT_TRUE(StepLength(1e-6).is_hardly_damped());
  EXPECT_FALSE(StepLength(2e-6).is_hardly_damped());
  StepLength length(1e-9);
  length.taken(exact(1));
  length.taken(exact(0.2));  // shorter by itself
  EXPECT_TRUE(length.is_hardly_damped());
  for (int i = 0; i < 3; ++i) length.taken(exact(1));
  EXPECT_LT(length.least_damping(), 1e-9);
  length.damp_more();
  EXPECT_FALSE(length.is_hardly_damped());
}

TEST(StepLength, FarFromTheSolutionPredictionsAreNotExact) {
  StepLength length(1e-9);
  for (int i = 0; i < 3; ++i) length.taken({1, 1, kNoise, false});
  EXPECT_DOUBLE_EQ(length.factor(20), 0.05);
  EXPECT_EQ(length.least_damping(), 1e-9);
}

TEST(StepLength, DampingGrowsAfterABadPrediction) {
  StepLength length(1e-3);
  length.taken({0.2, 1, kNoise, true});
  EXPECT_DOUBLE_EQ(length.damping(), 4e-3);
  length.taken({0.5, 1, kNoise, true});
  EXPECT_DOUBLE_EQ(length.damping(), 4e-3);
}

TEST(StepLength, DampingGrowsFasterAtEachFailureInARow) {
  StepLength length(1e-3);
  length.refused();
  const double once = length.damping();
  length.refused();
  EXPECT_GT(length.damping() / once, once / 1e-3);
  EXPECT_TRUE(length.makes_steps());
  for (int i = 0; i < 20; ++i) length.refused();
  EXPECT_FALSE(length.makes_steps());
}

}  // namespace
}  // namespace rimetree::fit
