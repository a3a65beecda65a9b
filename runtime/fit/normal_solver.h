// Solves damped normal equations, dense or sparse: (D A D + damping) z = D b with D scaling A to unit diagonal.
// Unknowns that do not move stay where they are.
#pragma once

#include <memory>
#include <vector>

#include "runtime/fit/missing_curvature.h"
#include "runtime/fit/normal_equations.h"

namespace rimetree::fit {

class NormalSolver {
 public:
  NormalSolver();
  ~NormalSolver();
  NormalSolver(NormalSolver&&) noexcept;
  NormalSolver& operator=(NormalSolver&&) noexcept;

  /// Takes the matrix of `equations`, and what it leaves out of the curvature. `free[k]`: whether an unknown moves.
  void set(const NormalEquations& equations, const std::vector<bool>& free,
           const std::vector<MissingCurvature::Update>& missing);
  /// The step for a gradient; empty if the matrix, damped like this, has a direction in which it is not positive.
  std::vector<double> step(double damping, const std::vector<double>& gradient);
  /// Lets the matrix go; the order of elimination of a sparse one is kept.
  void release();

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace rimetree::fit
