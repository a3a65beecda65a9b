#include "runtime/solve/solve.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>

#include "runtime/fit/acceleration.h"
#include "runtime/solve/checks.h"
#include "runtime/solve/complex_unknowns.h"
#include "runtime/solve/convention.h"
#include "runtime/solve/generic_source.h"
#include "runtime/solve/jones_source.h"
#include "runtime/solve/report.h"

namespace rimetree::solve {

namespace {

using fit::LevenbergMarquardt;

// One solve, from the values that the Parms have to those that fit best. `evaluated`: as of JonesSource::Manner.
class Solve {
 public:
  Solve(Evaluator& evaluator, int solver, RequestParts& parts, const SolveOptions& options, bool evaluated,
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
      terms_ = jones ? jones->unknowns_of_terms() : std::vector<std::vector<bool>>{};
      source_ = std::move(jones);
    }
    if (!source_) source_ = std::make_unique<GenericSource>(evaluator, problem_, parts, options.errors);
  }

  SolveReport go() {
    const auto start = std::chrono::steady_clock::now();
    const double evaluated = evaluator_.timing().total_seconds;
    const auto [up, down] = bytes_copied();
    const std::vector<double> before = values_;
    std::vector<Outcome> outcomes;
    try {
      find_noise();
      const std::vector<double> first = approach();
      outcomes = in_turns() ? successively() : fit(options_after(!first.empty()));
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
    report_.method = source_->method() + (in_turns() ? ", one term after the other" : "");
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

 private:
  /// To devices, and from them, since there have been any.
  std::pair<std::uint64_t, std::uint64_t> bytes_copied() const {
    std::uint64_t up = 0, down = 0;
    for (const auto& device : evaluator_.devices()) {
      const DeviceReport report = device->report();
      up += report.bytes_to_device;
      down += report.bytes_to_host;
    }
    return {up, down};
  }

  bool in_turns() const { return options_.successive && terms_.size() > 1; }

  LevenbergMarquardt new_fit(std::size_t g, const fit::FitOptions& options,
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

  void add_priors(std::size_t g, const std::vector<double>& x, fit::NormalEquations& equations) const {
    std::vector<double> mean, sigma;
    for (const std::uint32_t u : problem_.group(g)) {
      const auto [parm, k] = parm_and_coefficient(problem_, u);
      mean.push_back(parm->limits.prior_mean[k]);
      sigma.push_back(parm->limits.prior_sigma[k]);
    }
    fit::add_priors(equations, x, mean, sigma);
  }

  // The equations of the groups that want them, at the values of the Parms.
  std::vector<GroupEquations> equations(const std::vector<bool>& wanted) {
    std::vector<GroupEquations> groups(problem_.n_group());
    const auto& sparsities = problem_.sparsities();
    for (std::size_t g = 0; g < groups.size(); ++g) {
      groups[g].wanted = wanted[g];
      if (wanted[g]) groups[g].equations = fit::NormalEquations(problem_.group(g).size(), sparsities[g]);
    }
    source_->add_to(groups, cancellation_);
    return groups;
  }

  // Fits all groups side by side; leaves the solution in values_ (and trial values in the forest).
  std::vector<Outcome> fit(const fit::FitOptions& options) {
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

  // Chi-square of each group at the start, if values could be brought nearer to the solution from there.
  std::vector<double> approach() {
    if (in_turns() || options_.fit.iterations < 2 || is_limited(problem_)) return {};
    std::vector<double> first = source_->approach(values_, cancellation_);
    if (first.empty()) return first;
    report_.prior_chi_square.push_back(0);
    progress(std::accumulate(first.begin(), first.end(), 0.0), first.size());
    return first;
  }

  // Close by now: hardly any damping.
  fit::FitOptions options_after(bool approached) const {
    constexpr double kSlight = 1e-6;
    fit::FitOptions options = options_.fit;
    if (approached) options.damping = std::min(options.damping, kSlight);
    return options;
  }

  // Chi-square and the steps from where it began.
  static void count_from(const std::vector<double>& first, std::vector<Outcome>& outcomes) {
    for (std::size_t g = 0; g < first.size(); ++g) {
      outcomes[g].chi_square_before = first[g];
      ++outcomes[g].iterations;
    }
  }

  void progress(double chi_square, std::size_t running) {
    report_.chi_square.push_back(chi_square);
    const auto& tell = evaluator_.solves().progress;
    if (tell)
      tell({report_.solver, static_cast<int>(report_.chi_square.size()) - 1, chi_square, running, problem_.n_group()});
    if (cancellation_.check()) throw Cancelled();
  }

  // One additive term after the other, the others held, until a round over all of them finds nothing to improve. The
  // equations of all together then give the errors, and the last steps where terms resemble each other so much that
  // turns come to no end.
  std::vector<Outcome> successively() {
    constexpr int kStepsPerTerm = 3, kMostTurns = 50, kLastSteps = 50;
    fit::FitOptions options = options_.fit, none = options_.fit;
    none.iterations = 0;
    none.damping = 0;
    const std::vector<Outcome> before = fit(none);
    options.iterations = kStepsPerTerm;
    bool settled = false;
    int round = 0;
    std::vector<fit::Acceleration> accelerations(before.size());
    for (; round < std::min(options_.fit.iterations, kMostTurns) && !settled; ++round) {
      settled = true;
      const std::vector<double> start = values_;
      for (const std::vector<bool>& term : terms_) {
        problem_.activate(term);
        for (const Outcome& outcome : fit(options)) {
          const bool idle = outcome.status == fit::FitStatus::converged && outcome.iterations == 0;
          settled = settled && (idle || outcome.status == fit::FitStatus::no_equations);
        }
      }
      options.damping = 0;  // close by now: full steps, so that a round without change is seen as such
      problem_.activate({});
      if (!settled && round > 0) extrapolate(start, accelerations, none);
    }
    fit::FitOptions last = none;
    if (!settled) last.iterations = std::min(options_.fit.iterations - round, kLastSteps);
    std::vector<Outcome> outcomes = fit(last);
    for (std::size_t g = 0; g < outcomes.size(); ++g) {
      if (outcomes[g].status == fit::FitStatus::exhausted && settled) outcomes[g].status = fit::FitStatus::converged;
      outcomes[g].iterations += round;
      outcomes[g].chi_square_before = before[g].chi_square_before;
      outcomes[g].prior_chi_square_before = before[g].prior_chi_square_before;
    }
    return outcomes;
  }

  // From the last rounds to where they lead; a group for which that is no better stays where it is.
  void extrapolate(const std::vector<double>& start, std::vector<fit::Acceleration>& accelerations,
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

  // Steps and estimates of the noise in turns, so that no outlier is taken for one before the model is near the data.
  void find_noise() {
    constexpr int kRounds = 20, kSteps = 3;
    constexpr double kSame = 0.01;
    if (errors_.degrees_of_freedom == 0 || !options_.estimate_noise) return;
    fit::FitOptions options = options_.fit;
    options.iterations = 0;
    for (int round = 0; round < kRounds; ++round) {
      const double change = estimate_noise(fit(options));
      // Where it is far too small, each estimate is but a factor of about two larger.
      // Without steps in between, an estimate that stays says nothing of the model.
      if (options.iterations > 0 && std::abs(std::log(change)) < kSame) break;
      options.iterations = change > 1.5 ? 0 : kSteps;
    }
    report_.chi_square.clear();
    report_.prior_chi_square.clear();
  }

  // The variance of largest likelihood, if the weights that it gives to the residuals stay (Lange, Little & Taylor
  // 1989, section 4); by which factor it has changed.
  double estimate_noise(const std::vector<Outcome>& outcomes) {
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

  // Chi-square stays what it is, but for rounding: a step or two make up for that.
  void apply_convention(std::vector<Outcome>& outcomes) {
    constexpr int kSteps = 5;
    constexpr double kSame = 1e-6;  // of chi-square: more is another solution
    if (!convention_.any()) return;
    problem_.set_values(evaluator_.forest(), values_);
    source_->look_again(cancellation_);
    const std::vector<double> before = values_;
    if (!convention_.apply(*source_, outcomes, values_, evaluator_.thread_pool())) return;
    fit::FitOptions options = options_.fit;
    options.iterations = std::min(options.iterations, kSteps);
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

  void replace_chi_square(std::vector<Outcome>& outcomes) {
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

  Evaluator& evaluator_;
  const Request& request_;
  const SolveOptions& options_;
  Cancellation& cancellation_;
  ErrorModel errors_;
  Problem problem_;
  const Convention convention_;
  std::vector<double> values_;
  std::unique_ptr<EquationSource> source_;
  std::vector<std::vector<bool>> terms_;
  SolveReport report_;
};

}  // namespace

SolveReport solve(Evaluator& evaluator, int solver, RequestParts& parts, const SolveOptions& options,
                  Cancellation& cancellation) {
  try {
    return Solve(evaluator, solver, parts, options, true, cancellation).go();
  } catch (const PlanRefused&) {  // what is flagged or missing can be told from the user's nodes only
    return Solve(evaluator, solver, parts, options, false, cancellation).go();
  }
}

}  // namespace rimetree::solve
