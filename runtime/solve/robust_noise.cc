// The noise of robust fits, which is estimated while steps are made.
#include <algorithm>
#include <cmath>

#include "runtime/solve/one_solve.h"

namespace rimetree::solve {

void Solve::find_noise() {
  constexpr int kRounds = 20, kSteps = 3;
  constexpr double kSame = 0.01;
  if (errors_.degrees_of_freedom == 0 || !options_.estimate_noise) return;
  fit::FitOptions options = options_.fit;
  options.iterations = 0;
  const fit::FitOptions none = options;
  for (int round = 0; round < kRounds; ++round) {
    // Steps of parts that do not see each other are made in turns.
    const bool apart = uncoupled_ && options.iterations > 0;
    if (apart) one_round(options);
    const double change = estimate_noise(fit(apart ? none : options));
    // Where it is far too small, each estimate is but a factor of about two larger.
    // Without steps in between, an estimate that stays says nothing of the model.
    if (options.iterations > 0 && std::abs(std::log(change)) < kSame) break;
    options.iterations = change > 1.5 ? 0 : kSteps;
  }
  report_.chi_square.clear();
  report_.prior_chi_square.clear();
}

double Solve::estimate_noise(const std::vector<Outcome>& outcomes) {
  constexpr double kTooSmall = 0.9, kLarger = 1e3;
  double chi_square = 0, freedom = 0;
  for (const Outcome& outcome : outcomes) {
    chi_square += outcome.equations.chi_square;
    freedom += std::max(0.0, outcome.freedom());
  }
  if (!(freedom > 0) || !(chi_square > 0) || !std::isfinite(chi_square)) return 1;
  double factor = chi_square / freedom;
  // All residuals are outliers: of so small a variance the next estimate tells nothing but that it is larger.
  if (factor > kTooSmall * 0.5 * (errors_.degrees_of_freedom + 2)) factor = kLarger;
  errors_.variance *= factor;
  source_->set_errors(errors_);
  return factor;
}

}  // namespace rimetree::solve
