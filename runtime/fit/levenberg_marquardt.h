// Levenberg-Marquardt by asking and telling: the fit says where it wants the normal equations, whoever can compute them
// does, and the fit judges the step. So any number of fits go on side by side, whatever their equations are made from.
// How far a step goes is StepLength's matter, when to end Convergence's. Close to the solution, where steps hardly
// change the model any more, three things help that far from it would harm: steps of complex numbers and matrices turn
// instead of going straight (Frames), steps that end on the slope of a curved valley are led back into it, and what the
// normal matrix leaves out of the curvature is learnt as soon as it predicts badly (MissingCurvature).
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/fit/convergence.h"
#include "runtime/fit/frames.h"
#include "runtime/fit/missing_curvature.h"
#include "runtime/fit/normal_equations.h"
#include "runtime/fit/normal_solver.h"
#include "runtime/fit/step_length.h"

namespace rimetree::fit {

struct FitOptions {
  int iterations = 50;      ///< most steps that are tried
  double tolerance = 1e-8;  ///< converged: the next step changes the model by less than this, relative to the data
  double sigma_tolerance = 1e-3;  ///< ... and by less than this in units of its standard error (root mean square)
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
  /// Bounds are -inf and +inf where there are none; a start outside is moved to the nearest bound. `matrices`: unknowns
  /// that are complex numbers or matrices and have no bounds.
  LevenbergMarquardt(const FitOptions& options, std::vector<double> start, std::vector<double> minimum,
                     std::vector<double> maximum, std::vector<ComplexMatrix> matrices = {});

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
  /// The step without damping that was to come next, for a fit that ended before it converged; else empty.
  const std::vector<double>& missing_step() const { return missing_step_; }
  /// Whether an unknown is held by a bound that the data would have it cross.
  bool held(std::size_t k) const;

 private:
  void finish(FitStatus status);
  void propose();
  std::vector<double> damped_step();
  void prepare_solver();
  bool turn_back(const NormalEquations& at_trial, const StepTried& step);
  void move_trial(const Frames& frames, const std::vector<double>& from, std::vector<double>& step);
  std::vector<bool> free_unknowns() const;
  void learn(const NormalEquations& at_trial, const StepTried& step);
  bool step_converged();
  bool stationary();
  double model_change(const std::vector<double>& step) const;

  FitOptions options_;
  std::vector<double> x_, trial_, step_, missing_step_, minimum_, maximum_;
  std::vector<ComplexMatrix> matrices_;
  NormalEquations current_, first_;
  NormalSolver solver_;
  Frames frames_;  // at x_, once close
  MissingCurvature missing_;
  StepLength length_;
  Convergence convergence_;
  double predicted_ = 0;                                  // decrease of the objective, by what the step was made from
  double predicted_gauss_ = 0, predicted_corrected_ = 0;  // ... without and with the missing curvature
  double height_ = 0;                                     // of the objective at the trial above that at x_
  int iterations_ = 0;
  bool started_ = false, close_ = false, corrected_ = false, turned_back_ = false;
  FitStatus status_ = FitStatus::running;
};

}  // namespace rimetree::fit
