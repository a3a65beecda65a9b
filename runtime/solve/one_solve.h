// One solve, from the values that the Parms have to those that fit best. For the sources of this folder.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "runtime/fit/acceleration.h"
#include "runtime/solve/convention.h"
#include "runtime/solve/equations/assembly.h"
#include "runtime/solve/jones/jones_source.h"
#include "runtime/solve/report.h"
#include "runtime/solve/solve.h"

namespace rimetree::solve {

class Solve {
 public:
  /// `evaluated`: as of JonesSource::Manner.
  Solve(Evaluator& evaluator, int solver, RequestParts& parts, const SolveOptions& options, bool evaluated,
        Cancellation& cancellation);
  SolveReport go();

 private:
  /// To devices, and from them, since there have been any.
  std::pair<std::uint64_t, std::uint64_t> bytes_copied() const;
  fit::LevenbergMarquardt new_fit(std::size_t g, const fit::FitOptions& options,
                                  std::vector<fit::ComplexMatrix> matrices) const;
  void add_priors(std::size_t g, const std::vector<double>& x, fit::NormalEquations& equations) const;
  /// The equations of the groups that want them, at the values of the Parms.
  std::vector<GroupEquations> equations(const std::vector<bool>& wanted);
  /// Fits all groups side by side; leaves the solution in values_ (and trial values in the forest).
  std::vector<Outcome> fit(const fit::FitOptions& options);
  /// Chi-square of each group at the start, if values could be brought nearer to the solution from there.
  std::vector<double> approach();
  /// Close by now: hardly any damping.
  fit::FitOptions options_after(bool approached) const;
  /// Chi-square and the steps from where it began.
  static void count_from(const std::vector<double>& first, std::vector<Outcome>& outcomes);
  void progress(double chi_square, std::size_t running);

  // In turns; see solve_in_turns.cc.
  /// What is solved for in turns: additive terms where that is asked for, and unknowns of different solution tiles, as
  /// of a bandpass and gains, where equations of all together would be too large.
  void choose_turns(const JonesSource& source);
  bool in_turns() const { return turns_.size() > 1; }
  /// One part after the other, the others held, until a round over all of them finds nothing to improve. The equations
  /// of all together then give the errors, and the last steps where parts resemble each other so much that turns come
  /// to no end; where they would be too large, errors of each part hold the others.
  std::vector<Outcome> successively(bool approached);
  /// Whether no part had anything to improve.
  bool one_round(const fit::FitOptions& options);
  /// From the last rounds to where they lead; a group for which that is no better stays where it is.
  void extrapolate(const std::vector<double>& start, std::vector<fit::Acceleration>& accelerations,
                   const fit::FitOptions& none);

  // Noise; see robust_noise.cc.
  /// Steps and estimates of the noise in turns, so that no outlier is taken for one before the model is near the data.
  void find_noise();
  /// The variance of largest likelihood, if the weights that it gives to the residuals stay (Lange, Little & Taylor
  /// 1989, section 4); by which factor it has changed.
  double estimate_noise(const std::vector<Outcome>& outcomes);

  /// Chi-square stays what it is, but for rounding: a step or two make up for that.
  void apply_convention(std::vector<Outcome>& outcomes);
  void replace_chi_square(std::vector<Outcome>& outcomes);

  Evaluator& evaluator_;
  const Request& request_;
  const SolveOptions& options_;
  Cancellation& cancellation_;
  ErrorModel errors_;
  Problem problem_;
  const Convention convention_;
  std::vector<double> values_;
  std::unique_ptr<EquationSource> source_;
  std::vector<std::vector<bool>> turns_;  // unknowns that are solved for after each other; empty: all together
  bool uncoupled_ = false;                // equations of all together would be too large: none of what couples turns
  SolveReport report_;
};

}  // namespace rimetree::solve
