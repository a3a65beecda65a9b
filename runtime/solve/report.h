// From the outcome of the fits to what a user is told.
#pragma once

#include "runtime/core/node/solve_report.h"
#include "runtime/fit/levenberg_marquardt.h"
#include "runtime/solve/equations/assembly.h"
#include "runtime/solve/solve.h"

namespace rimetree::solve {

/// How the fit of one group ended.
struct Outcome {
  fit::FitStatus status = fit::FitStatus::running;
  int iterations = 0;
  double chi_square_before = 0, prior_chi_square_before = 0;
  fit::NormalEquations equations;  ///< at the solution, priors included
  Excluded excluded;
  std::vector<bool> held;                                    ///< unknowns at a bound
  std::vector<double> missing_step;                          ///< as LevenbergMarquardt::missing_step()
  std::vector<std::pair<std::size_t, std::size_t>> numbers;  ///< real and imaginary parts of complex unknowns
  bool ambiguous = false;                    ///< what the data leave open between factors could not be settled
  std::vector<fit::Combination> conditions;  ///< what a convention holds of what the data leave open
  std::vector<std::vector<double>> open;     ///< steps that change no product of factors, where a convention holds them
  std::vector<bool> normalised;              ///< unknowns of which it holds something; empty: none
  /// Whether `equations` are of all unknowns together; else of each part of them, with the others held.
  bool coupled() const { return !equations.sparsity || !equations.sparsity->leaves_out(); }
  /// Equations besides one for each unknown.
  double freedom() const { return static_cast<double>(equations.equations) - static_cast<double>(equations.n); }
};

/// The Parm of an unknown, and the number of the coefficient.
std::pair<const SolvableParm*, std::size_t> parm_and_coefficient(const Problem& problem, std::size_t unknown);

/// Fills `groups` and `parms` of a report: standard errors, ranks, flags. `essential`: as EquationSource::essential().
void describe(const Problem& problem, const std::vector<std::vector<Essential>>& essential, const Request& request,
              const std::vector<Outcome>& outcomes, const std::vector<double>& values, const SolveOptions& options,
              SolveReport& report, ThreadPool& threads);

}  // namespace rimetree::solve
