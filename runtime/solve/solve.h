// The loop of a Solver: evaluate, make normal equations, step, until every group of connected unknowns has ended.
#pragma once

#include "runtime/core/node/solver_node.h"
#include "runtime/evaluate/evaluator.h"
#include "runtime/fit/levenberg_marquardt.h"
#include "runtime/math/error_model.h"

namespace rimetree::solve {

struct SolveOptions {
  fit::FitOptions fit;
  ErrorModel errors;
  std::vector<std::string> parms;      ///< names of what to solve for; empty: all solvable Parms below the Condeqs
  bool generic = false;                ///< never the fast path for Jones terms
  bool successive = false;             ///< one additive term of the models after the other, instead of all together
  bool estimate_noise = false;         ///< robust errors: of which size, the residuals tell
  double smooth_hz = 0;                ///< solutions are smooth over this width, where Jones terms allow that
  bool errors_from_residuals = false;  ///< standard errors scaled by the root of the reduced chi-square
};

/// Solves for the Parms below a Solver's Condeqs, sets their values to the solution, and reports. Throws Error where
/// there is nothing to solve for or a node failed, and Cancelled; the Parms then have the values from before.
SolveReport solve(Evaluator& evaluator, int solver, RequestParts& parts, const SolveOptions& options,
                  Cancellation& cancellation);

}  // namespace rimetree::solve
