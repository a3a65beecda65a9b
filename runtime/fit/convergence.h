// When a fit is where it can get, by what its steps change.
#pragma once

#include <vector>

#include "runtime/fit/normal_equations.h"
#include "runtime/fit/step_length.h"

namespace rimetree::fit {

/// Sums over observations, such as the objective, are good to this.
double rounding_error(const NormalEquations& equations);
/// Of a residual, in units of what its weight says.
double residual_variance(const NormalEquations& equations);

class Convergence {
 public:
  /// `tolerance`: of the change of the model, relative to the data; `sigma_tolerance`: in units of its standard error.
  Convergence(double tolerance, double sigma_tolerance) : tolerance_(tolerance), sigma_tolerance_(sigma_tolerance) {}

  void tried(const StepTried& step);
  void taken(double objective_before) { objectives_.push_back(objective_before); }
  /// Whether the next step is too small to be of use. `model_change`: the sum of w |change of the model|^2 that it
  /// makes. To be asked once for each step, as it counts, and if so once more of that step without damping.
  bool reached(double model_change, const NormalEquations& current);
  /// Whether many steps together have brought hardly anything.
  bool is_stationary(const NormalEquations& current) const;

 private:
  double tolerance_, sigma_tolerance_;
  std::vector<double> objectives_;  // before steps that were taken
  double last_predicted_ = 0;       // of the step before
  int slight_ = 0;                  // steps in a row that no error would let one see
  int blind_ = 0;                   // steps of which rounding hides what they bring
};

}  // namespace rimetree::fit
