#include "runtime/solve/solve.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "runtime/solve/equations/generic_source.h"
#include "runtime/solve/jones/jones_source.h"
#include "runtime/solve/one_solve.h"
#include "runtime/solve/problem/checks.h"
#include "runtime/solve/problem/complex_unknowns.h"

namespace rimetree::solve {

using fit::LevenbergMarquardt;

Solve::Solve(Evaluator& evaluator, int solver, RequestParts& parts, const SolveOptions& options, bool evaluated,
             Cancellation& cancellation)
    : evaluator_(evaluator),
      request_(parts.whole()),
      options_(options),
      cancellation_(cancellation),
      errors_(options.errors),
      problem_(evaluator.forest(), solver, request_, options.parms),
      convention_(evaluator.forest(), problem_),
      values_(problem_.values(evaluator.forest())) {
  report_.solver = evaluator.forest().node(solver).name();
  report_.data_id = request_.data_id;
  if (parts.size() > 1) refuse_mixed_times(evaluator, problem_, parts.size());
  if (!options.generic) {
    const JonesSource::Manner manner{options.errors, options.smooth_hz, evaluated};
    auto jones = JonesSource::recognise(evaluator, problem_, parts, manner, cancellation);
    if (jones) choose_turns(*jones);
    source_ = std::move(jones);
  }
  if (!source_) source_ = std::make_unique<GenericSource>(evaluator, problem_, parts, options.errors);
}

SolveReport Solve::go() {
  const auto start = std::chrono::steady_clock::now();
  const double evaluated = evaluator_.timing().total_seconds;
  const auto [up, down] = bytes_copied();
  const std::vector<double> before = values_;
  std::vector<Outcome> outcomes;
  try {
    find_noise();
    const std::vector<double> first = approach();
    const bool approached = !first.empty();
    outcomes = in_turns() ? successively(approached) : fit(options_after(approached));
    count_from(first, outcomes);
    apply_convention(outcomes);
    problem_.set_values(evaluator_.forest(), values_);
    replace_chi_square(outcomes);
  } catch (...) {
    problem_.set_values(evaluator_.forest(), before);
    throw;
  }
  source_->look_again(cancellation_);
  convention_.keep_open(*source_, outcomes, evaluator_.thread_pool());
  describe(problem_, source_->essential(), request_, outcomes, values_, options_, report_, evaluator_.thread_pool());
  report_.method = source_->method() + (in_turns() ? ", one term after the other" : "") +
                   (uncoupled_ ? ": equations of all together would be too large, errors hold the other terms" : "");
  report_.noise = std::sqrt(errors_.variance);
  report_.smoothed_hz = source_->smoothed_hz();
  report_.statistics_bytes = source_->statistics_bytes();
  const auto [up_now, down_now] = bytes_copied();
  report_.bytes_to_devices = up_now - up;
  report_.bytes_to_host = down_now - down;
  report_.evaluate_seconds = evaluator_.timing().total_seconds - evaluated;
  report_.algebra_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() - report_.evaluate_seconds;
  return std::move(report_);
}

std::pair<std::uint64_t, std::uint64_t> Solve::bytes_copied() const {
  std::uint64_t up = 0, down = 0;
  for (const auto& device : evaluator_.devices()) {
    const DeviceReport report = device->report();
    up += report.bytes_to_device;
    down += report.bytes_to_host;
  }
  return {up, down};
}

LevenbergMarquardt Solve::new_fit(std::size_t g, const fit::FitOptions& options,
                                  std::vector<fit::ComplexMatrix> matrices) const {
  std::vector<double> start, minimum, maximum;
  for (const std::uint32_t u : problem_.group(g)) {
    const auto [parm, k] = parm_and_coefficient(problem_, u);
    start.push_back(values_[u]);
    minimum.push_back(parm->limits.minimum[k]);
    maximum.push_back(parm->limits.maximum[k]);
  }
  return {options, std::move(start), std::move(minimum), std::move(maximum), std::move(matrices)};
}

void Solve::add_priors(std::size_t g, const std::vector<double>& x, fit::NormalEquations& equations) const {
  std::vector<double> mean, sigma;
  for (const std::uint32_t u : problem_.group(g)) {
    const auto [parm, k] = parm_and_coefficient(problem_, u);
    mean.push_back(parm->limits.prior_mean[k]);
    sigma.push_back(parm->limits.prior_sigma[k]);
  }
  fit::add_priors(equations, x, mean, sigma);
}

std::vector<GroupEquations> Solve::equations(const std::vector<bool>& wanted) {
  std::vector<GroupEquations> groups(problem_.n_group());
  const auto& sparsities = problem_.sparsities();
  for (std::size_t g = 0; g < groups.size(); ++g) {
    groups[g].wanted = wanted[g];
    if (wanted[g]) groups[g].equations = fit::NormalEquations(problem_.group(g).size(), sparsities[g]);
  }
  source_->add_to(groups, cancellation_);
  return groups;
}

std::vector<Outcome> Solve::fit(const fit::FitOptions& options) {
  const std::size_t n = problem_.n_group();
  check_memory(problem_, evaluator_.memory_budget());
  auto matrices = complex_unknowns(evaluator_.forest(), problem_);
  auto numbers = complex_numbers(evaluator_.forest(), problem_);
  std::vector<LevenbergMarquardt> fits;
  for (std::size_t g = 0; g < n; ++g) fits.push_back(new_fit(g, options, std::move(matrices[g])));
  std::vector<Excluded> excluded(n);
  std::vector<bool> running(n, true);
  for (std::size_t left = n; left > 0;) {
    for (std::size_t g = 0; g < n; ++g)
      for (std::size_t k = 0; k < problem_.group(g).size(); ++k) values_[problem_.group(g)[k]] = fits[g].trial()[k];
    problem_.set_values(evaluator_.forest(), values_);
    auto groups = equations(running);
    evaluator_.thread_pool().parallel_for(
        n, 1,
        [&](std::size_t begin, std::size_t end, int) {
          for (std::size_t g = begin; g < end; ++g) {
            if (!running[g]) continue;
            add_priors(g, fits[g].trial(), groups[g].equations);
            fits[g].take(std::move(groups[g].equations));
          }
        },
        &cancellation_);
    double chi_square = 0, prior_chi_square = 0;
    left = 0;
    for (std::size_t g = 0; g < n; ++g) {
      if (running[g]) excluded[g] = groups[g].excluded;
      running[g] = fits[g].running();
      chi_square += fits[g].equations().chi_square;
      prior_chi_square += fits[g].equations().prior_chi_square;
      left += running[g] ? 1 : 0;
    }
    report_.prior_chi_square.push_back(prior_chi_square);
    progress(chi_square, left);
  }
  std::vector<Outcome> outcomes;
  for (std::size_t g = 0; g < n; ++g) {
    for (std::size_t k = 0; k < problem_.group(g).size(); ++k) values_[problem_.group(g)[k]] = fits[g].solution()[k];
    outcomes.push_back({fits[g].status(),
                        fits[g].iterations(),
                        fits[g].first_equations().chi_square,
                        fits[g].first_equations().prior_chi_square,
                        fits[g].equations(),
                        excluded[g],
                        {}});
    for (std::size_t k = 0; k < problem_.group(g).size(); ++k) outcomes.back().held.push_back(fits[g].held(k));
    outcomes.back().missing_step = fits[g].missing_step();
    outcomes.back().numbers = std::move(numbers[g]);
  }
  return outcomes;
}

std::vector<double> Solve::approach() {
  if ((in_turns() && !uncoupled_) || options_.fit.iterations < 2 || is_limited(problem_)) return {};
  std::vector<double> first = source_->approach(values_, cancellation_);
  if (first.empty()) return first;
  report_.prior_chi_square.push_back(0);
  progress(std::accumulate(first.begin(), first.end(), 0.0), first.size());
  return first;
}

fit::FitOptions Solve::options_after(bool approached) const {
  constexpr double kSlight = 1e-6;
  fit::FitOptions options = options_.fit;
  if (approached) options.damping = std::min(options.damping, kSlight);
  return options;
}

void Solve::count_from(const std::vector<double>& first, std::vector<Outcome>& outcomes) {
  for (std::size_t g = 0; g < first.size(); ++g) {
    outcomes[g].chi_square_before = first[g];
    ++outcomes[g].iterations;
  }
}

void Solve::progress(double chi_square, std::size_t running) {
  report_.chi_square.push_back(chi_square);
  const auto& tell = evaluator_.solves().progress;
  if (tell)
    tell({report_.solver, static_cast<int>(report_.chi_square.size()) - 1, chi_square, running, problem_.n_group()});
  if (cancellation_.check()) throw Cancelled();
}

void Solve::apply_convention(std::vector<Outcome>& outcomes) {
  constexpr int kSteps = 5;
  constexpr double kSame = 1e-6;  // of chi-square: more is another solution
  if (!convention_.any()) return;
  problem_.set_values(evaluator_.forest(), values_);
  source_->look_again(cancellation_);
  const std::vector<double> before = values_;
  if (!convention_.apply(*source_, outcomes, values_, evaluator_.thread_pool())) return;
  fit::FitOptions options = options_.fit;
  options.iterations = uncoupled_ ? 0 : std::min(options.iterations, kSteps);
  options.damping = 0;
  const std::size_t told = report_.chi_square.size();
  std::vector<Outcome> after = fit(options);
  for (std::size_t g = 0; g < outcomes.size(); ++g) {
    Outcome& outcome = outcomes[g];
    const double limit = outcome.equations.objective * (1 + kSame) + kSame * kSame * outcome.equations.data_power;
    if (outcome.conditions.empty()) continue;
    // A model that is not finite any more has fewer equations, and a small objective.
    const bool less = after[g].equations.equations < outcome.equations.equations;
    if (less || !(after[g].equations.objective <= limit)) {
      for (const std::uint32_t u : problem_.group(g)) values_[u] = before[u];
      outcome.conditions.clear();
      outcome.normalised.clear();
      outcome.ambiguous = true;
      continue;
    }
    // Few steps do not show once more that it has converged.
    if (outcome.status == fit::FitStatus::converged && after[g].status != fit::FitStatus::exhausted)
      outcome.status = after[g].status;
    outcome.iterations += after[g].iterations;
    outcome.equations = std::move(after[g].equations);
    outcome.held = std::move(after[g].held);
    outcome.missing_step = std::move(after[g].missing_step);
  }
  report_.chi_square.resize(told);
  report_.prior_chi_square.resize(told);
  double chi_square = 0, prior_chi_square = 0;
  for (const Outcome& outcome : outcomes)
    chi_square += outcome.equations.chi_square, prior_chi_square += outcome.equations.prior_chi_square;
  report_.chi_square.push_back(chi_square);
  report_.prior_chi_square.push_back(prior_chi_square);
}

void Solve::replace_chi_square(std::vector<Outcome>& outcomes) {
  constexpr double kGoodFit = 1e-6;  // of the power of the data: above it 9 digits of chi-square are left
  const bool needed =
      source_->chi_square_cancels() && std::any_of(outcomes.begin(), outcomes.end(), [](const Outcome& outcome) {
        return outcome.equations.chi_square < kGoodFit * outcome.equations.data_power;
      });
  if (!needed) return;
  std::vector<GroupEquations> exact(outcomes.size());
  source_->add_exact_chi_square(exact, cancellation_);
  double sum = 0;
  for (std::size_t g = 0; g < outcomes.size(); ++g)
    sum += outcomes[g].equations.chi_square = exact[g].equations.chi_square;
  report_.chi_square.push_back(sum);
  report_.prior_chi_square.push_back(report_.prior_chi_square.back());
}

SolveReport solve(Evaluator& evaluator, int solver, RequestParts& parts, const SolveOptions& options,
                  Cancellation& cancellation) {
  try {
    return Solve(evaluator, solver, parts, options, true, cancellation).go();
  } catch (const PlanRefused&) {  // what is flagged or missing can be told from the user's nodes only
    return Solve(evaluator, solver, parts, options, false, cancellation).go();
  }
}

}  // namespace rimetree::solve
