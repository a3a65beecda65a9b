// NormalSolver: the same step from a dense and from a sparse matrix, and what it is multiplied by is what was given.
#include "runtime/fit/normal_solver.h"

#include <gtest/gtest.h>

#include <random>

namespace rimetree::fit {
namespace {

using Vector = std::vector<double>;

/// An arrow: 2 border unknowns and pairs of others, positive definite.
NormalEquations arrow(std::size_t pairs, bool sparse) {
  const std::size_t n = 2 + 2 * pairs;
  SparsityBuilder builder(n);
  for (std::uint32_t k = 2; k < n; k += 2) builder.connect(std::vector<std::uint32_t>{0, 1, k, k + 1});
  NormalEquations equations(n, sparse ? builder.finish() : nullptr);
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  for (std::size_t k = 2; k < n; k += 2)
    for (int row = 0; row < 6; ++row) {
      const double j[4] = {normal(random), normal(random), normal(random), normal(random)};
      const std::size_t of[4] = {0, 1, k, k + 1};
      for (int a = 0; a < 4; ++a)
        for (int b = 0; b <= a; ++b) equations.at(of[a], of[b]) += j[a] * j[b];
    }
  for (double& g : equations.gradient) g = normal(random);
  return equations;
}

/// (matrix + damping diag + missing) step
Vector image(const NormalEquations& equations, double damping, const std::vector<MissingCurvature::Update>& missing,
             const Vector& step) {
  Vector result = equations.times(step);
  for (std::size_t k = 0; k < step.size(); ++k) result[k] += damping * equations.diagonal(k) * step[k];
  for (const auto& update : missing) {
    double product = 0;
    for (std::size_t k = 0; k < step.size(); ++k) product += update.vector[k] * step[k];
    for (std::size_t k = 0; k < step.size(); ++k) result[k] += update.sign * product * update.vector[k];
  }
  return result;
}

TEST(NormalSolver, SolvesDenseAndSparseAlike) {
  std::vector<MissingCurvature::Update> missing(2);
  missing[0] = {Vector(42, 0.05), 1.0};
  missing[1] = {Vector(42, 0.0), -1.0};
  missing[1].vector[3] = 0.7, missing[1].vector[40] = -0.4;
  for (const bool sparse : {false, true})
    for (const double damping : {1e-9, 0.1, 3.0})
      for (const std::size_t updates : {0u, 2u}) {
        const NormalEquations equations = arrow(20, sparse);
        NormalSolver solver;
        const std::vector used(missing.begin(), missing.begin() + static_cast<std::ptrdiff_t>(updates));
        solver.set(equations, std::vector<bool>(42, true), used);
        const Vector step = solver.step(damping, equations.gradient);
        ASSERT_EQ(step.size(), 42u);
        const Vector back = image(equations, damping, used, step);
        for (std::size_t k = 0; k < 42; ++k) EXPECT_NEAR(back[k], equations.gradient[k], 1e-11) << sparse << damping;
      }
}

TEST(NormalSolver, HasNoStepWhereTheCurvatureIsNegative) {
  for (const bool sparse : {false, true}) {
    const NormalEquations equations = arrow(20, sparse);
    std::vector<MissingCurvature::Update> missing{{Vector(42, 0.0), -1.0}};
    missing[0].vector[5] = std::sqrt(1.5 * equations.diagonal(5));
    NormalSolver solver;
    solver.set(equations, std::vector<bool>(42, true), missing);
    EXPECT_TRUE(solver.step(1e-3, equations.gradient).empty());
    EXPECT_FALSE(solver.step(20, equations.gradient).empty());  // enough damping makes it positive
  }
}

TEST(NormalSolver, WhatIsHeldStays) {
  for (const bool sparse : {false, true}) {
    NormalEquations equations = arrow(20, sparse);
    std::vector<bool> free(42, true);
    free[0] = free[7] = false;
    NormalSolver solver;
    solver.set(equations, free, {});
    const Vector step = solver.step(1e-9, equations.gradient), back = image(equations, 1e-9, {}, step);
    for (std::size_t k = 0; k < 42; ++k) {
      if (free[k])
        EXPECT_NEAR(back[k], equations.gradient[k], 1e-11);
      else
        EXPECT_EQ(step[k], 0);
    }
  }
}

}  // namespace
}  // namespace rimetree::fit
