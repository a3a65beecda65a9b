// Levenberg-Marquardt by asking and telling: the fit says where it wants the normal equations, whoever can compute them
// does, and the fit judges the step. So any number of fits go on side by side, whatever their equations are made from.
// Marquardt 1963, J. SIAM 11, 431; damping relative to the diagonal, as there.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/fit/normal_equations.h"

namespace rimetree::fit {

struct FitOptions {
  int iterations = 50;      ///< most steps that are tried
  double tolerance = 1e-8;  ///< converged: the next step changes the model by less than this, relative to the data
  double sigma_tolerance = 1e-3;  ///< ... and by less than this in units of its standard error
  double damping = 1e-3;          ///< at the start, relative to the diagonal of the normal matrix
};

enum class FitStatus : std::uint8_t {
  running,
  converged,
  exhausted,     ///< not converged in the number of iterations allowed
  stalled,       ///< no step, however short, improves the fit, and yet it has not converged
  no_equations,  ///< nothing to fit to
  not_finite,    ///< the model is not finite at the starting values
};

class LevenbergMarquardt {
 public:
  /// Bounds are -inf and +inf where there are none; a start outside is moved to the nearest bound.
  LevenbergMarquardt(const FitOptions& options, std::vector<double> start, std::vector<double> minimum,
                     std::vector<double> maximum);

  bool running() const { return status_ == FitStatus::running; }
  FitStatus status() const { return status_; }
  /// Where the normal equations are wanted next; once the fit has ended, the solution.
  const std::vector<double>& trial() const { return trial_; }
  /// Takes the normal equations at trial(), judges the step that led there and makes the next one.
  void take(NormalEquations at_trial);

  const std::vector<double>& solution() const { return x_; }
  /// At the solution.
  const NormalEquations& equations() const { return current_; }
  const NormalEquations& first_equations() const { return first_; }  ///< without the matrix
  int iterations() const { return iterations_; }
  /// Whether an unknown is held by a bound that the data would have it cross.
  bool held(std::size_t k) const;

 private:
  void finish(FitStatus status);
  void propose();
  bool solve_damped(double damping, std::vector<double>& step) const;
  double model_change(const std::vector<double>& step) const;
  double predicted_decrease(const std::vector<double>& step) const;
  bool converged(double model_change) const;
  double rounding() const;

  FitOptions options_;
  std::vector<double> x_, trial_, minimum_, maximum_;
  NormalEquations current_, first_;
  double damping_, growth_ = 2, predicted_ = 0;
  int iterations_ = 0;
  bool started_ = false;
  FitStatus status_ = FitStatus::running;
};

}  // namespace rimetree::fit
