// One part of the unknowns after the other, as of the additive terms of a model or of the terms of a chain.
#include <algorithm>
#include <map>

#include "runtime/solve/one_solve.h"
#include "runtime/solve/problem/checks.h"

namespace rimetree::solve {

namespace {

/// Unknowns of the Parms of each label.
std::vector<std::vector<bool>> unknowns_by_label(const Problem& problem, const std::vector<int>& labels) {
  std::map<int, std::vector<bool>> found;
  for (std::size_t p = 0; p < labels.size(); ++p) {
    std::vector<bool>& unknowns = found[labels[p]];
    unknowns.resize(problem.n_unknown(), false);
    for (std::size_t k = 0; k < problem.parms[p].tiles.n_unknown(); ++k)
      unknowns[problem.parms[p].first_unknown + k] = true;
  }
  std::vector<std::vector<bool>> turns;
  for (auto& [label, unknowns] : found) turns.push_back(std::move(unknowns));
  return turns;
}

}  // namespace

void Solve::choose_turns(const JonesSource& source) {
  const std::vector<int> terms = source.terms_of_parms(), tilings = problem_.tilings();
  const auto several = [](const std::vector<int>& labels) {
    return std::any_of(labels.begin(), labels.end(), [&](int label) { return label != labels.front(); });
  };
  // What has the same tiles is of one size, and solved for together, unless it has nothing else beside it.
  if (is_too_large(problem_, several(tilings), evaluator_.memory_budget())) {
    std::vector<int> parts = tilings;
    if (options_.successive || !several(tilings))
      for (std::size_t p = 0; p < parts.size(); ++p) parts[p] += (terms[p] + 1) * static_cast<int>(parts.size());
    if (several(parts)) {
      turns_ = unknowns_by_label(problem_, parts);
      uncoupled_ = true;
      return problem_.uncouple(std::move(parts));
    }
  }
  if (options_.successive) turns_ = unknowns_by_label(problem_, terms);
}

std::vector<Outcome> Solve::successively(bool approached) {
  constexpr int kStepsPerTerm = 3, kMostTurns = 50, kLastSteps = 50;
  fit::FitOptions options = options_after(approached), none = options_.fit;
  none.iterations = 0;
  none.damping = 0;
  std::vector<Outcome> before(problem_.n_group());
  if (!approached) before = fit(none);  // else chi-square is known from before that
  options.iterations = kStepsPerTerm;
  bool settled = false;
  int round = 0;
  std::vector<fit::Acceleration> accelerations(before.size());
  for (; round < std::min(options_.fit.iterations, kMostTurns) && !settled; ++round) {
    const std::vector<double> start = values_;
    settled = one_round(options);
    options.damping = 0;  // close by now: full steps, so that a round without change is seen as such
    if (!settled && round > 0) extrapolate(start, accelerations, none);
  }
  fit::FitOptions last = none;
  if (!settled && !uncoupled_) last.iterations = std::min(options_.fit.iterations - round, kLastSteps);
  std::vector<Outcome> outcomes = fit(last);
  for (std::size_t g = 0; g < outcomes.size(); ++g) {
    if (outcomes[g].status == fit::FitStatus::exhausted && settled) outcomes[g].status = fit::FitStatus::converged;
    outcomes[g].iterations += round;
    outcomes[g].chi_square_before = before[g].chi_square_before;
    outcomes[g].prior_chi_square_before = before[g].prior_chi_square_before;
  }
  return outcomes;
}

bool Solve::one_round(const fit::FitOptions& options) {
  bool settled = true;
  for (const std::vector<bool>& turn : turns_) {
    problem_.activate(turn);
    for (const Outcome& outcome : fit(options)) {
      const bool idle = outcome.status == fit::FitStatus::converged && outcome.iterations == 0;
      settled = settled && (idle || outcome.status == fit::FitStatus::no_equations);
    }
  }
  problem_.activate({});
  return settled;
}

void Solve::extrapolate(const std::vector<double>& start, std::vector<fit::Acceleration>& accelerations,
                        const fit::FitOptions& none) {
  const std::vector<double> reached = values_;
  const std::vector<Outcome> before = fit(none);
  for (std::size_t g = 0; g < accelerations.size(); ++g) {
    std::vector<double> from, to;
    for (const std::uint32_t u : problem_.group(g)) from.push_back(start[u]), to.push_back(reached[u]);
    const std::vector<double> place = accelerations[g].next(from, to);
    for (std::size_t k = 0; k < place.size(); ++k) {
      const auto [parm, coefficient] = parm_and_coefficient(problem_, problem_.group(g)[k]);
      values_[problem_.group(g)[k]] =
          std::clamp(place[k], parm->limits.minimum[coefficient], parm->limits.maximum[coefficient]);
    }
  }
  const std::vector<Outcome> after = fit(none);
  for (std::size_t g = 0; g < accelerations.size(); ++g) {
    if (after[g].equations.objective <= before[g].equations.objective) continue;
    for (const std::uint32_t u : problem_.group(g)) values_[u] = reached[u];
    accelerations[g].forget();
  }
}

}  // namespace rimetree::solve
