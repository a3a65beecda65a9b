#include "runtime/solve/report.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/fit/covariance.h"

namespace rimetree::solve {

namespace {

// An unknown of which less than this part is determined is flagged. A phase common to three antennas or more leaves two
// thirds of each phase determined, and does no harm: only differences are ever used. Of the two phases on a lone
// baseline the data determine half. (What of amplitudes must be determined says EquationSource::essential.)
constexpr double kDetermined = 0.6;

const char* status_text(fit::FitStatus status) {
  switch (status) {
    case fit::FitStatus::converged:
      return "converged";
    case fit::FitStatus::stalled:
      return "stalled";
    case fit::FitStatus::no_equations:
      return "no equations";
    case fit::FitStatus::not_finite:
      return "model not finite";
    case fit::FitStatus::exhausted:
    case fit::FitStatus::running:
      break;
  }
  return "exhausted";
}

double edge(const Cells& cells, Axis axis, const Segments& segments, std::uint32_t first, std::uint32_t last,
            bool upper) {
  if (!cells.has(axis)) return 0;
  const AxisGrid& grid = cells.axis(axis);
  double result = grid.centre[segments.begin[first]];
  for (std::size_t i = segments.begin[first]; i < segments.begin[last + 1]; ++i) {
    const double x = grid.centre[i] + (upper ? 0.5 : -0.5) * grid.width[i];
    result = upper ? std::max(result, x) : std::min(result, x);
  }
  return result;
}

/// The intervals that cells of these segments make where there are gaps of more than half a cell between them,
/// ascending; else nothing.
std::vector<std::array<double, 2>> intervals_between_gaps(const Cells& cells, Axis axis, const Segments& segments,
                                                          std::uint32_t first, std::uint32_t last) {
  constexpr double kSmallGap = 0.5;
  std::vector<std::array<double, 2>> own, joined;
  if (!cells.has(axis)) return joined;
  const AxisGrid& grid = cells.axis(axis);
  double narrowest = std::numeric_limits<double>::infinity();
  for (std::size_t i = segments.begin[first]; i < segments.begin[last + 1]; ++i) {
    own.push_back({grid.centre[i] - 0.5 * grid.width[i], grid.centre[i] + 0.5 * grid.width[i]});
    narrowest = std::min(narrowest, grid.width[i]);
  }
  if (!(narrowest > 0)) return joined;  // where cells are points nothing is said of gaps
  std::sort(own.begin(), own.end());
  for (const std::array<double, 2>& cell : own)
    if (joined.empty() || cell[0] > joined.back()[1] + kSmallGap * narrowest)
      joined.push_back(cell);
    else
      joined.back()[1] = std::max(joined.back()[1], cell[1]);
  if (joined.size() == 1) joined.clear();
  return joined;
}

SolvedGroup group_of(const Problem& problem, const Cells& cells, std::size_t g, const Outcome& outcome) {
  SolvedGroup group;
  group.status = status_text(outcome.status);
  group.converged = outcome.status == fit::FitStatus::converged;
  group.iterations = outcome.iterations;
  group.unknowns = problem.group(g).size();
  group.equations = outcome.equations.equations - outcome.equations.priors;
  group.priors = outcome.equations.priors;
  group.flagged = outcome.excluded.flagged;
  group.bad_weight = outcome.excluded.bad_weight;
  group.not_finite = outcome.excluded.not_finite;
  group.chi_square_before = outcome.chi_square_before;
  group.chi_square = outcome.equations.chi_square;
  group.prior_chi_square_before = outcome.prior_chi_square_before;
  group.prior_chi_square = outcome.equations.prior_chi_square;
  const auto& [first_t, last_t, first_f, last_f] = problem.extent(g);
  for (const int end : {0, 1}) {
    group.time_s[end] = edge(cells, Axis::time, problem.time_segments(), first_t, last_t, end == 1);
    group.freq_hz[end] = edge(cells, Axis::frequency, problem.frequency_segments(), first_f, last_f, end == 1);
  }
  group.time_ranges_s = intervals_between_gaps(cells, Axis::time, problem.time_segments(), first_t, last_t);
  group.freq_ranges_hz = intervals_between_gaps(cells, Axis::frequency, problem.frequency_segments(), first_f, last_f);
  return group;
}

/// Of a fit that ended too soon those unknowns are good that had not far to go: a direction without signal must not
/// take the others with it.
bool is_settled(const Outcome& outcome, bool far, double sigma, std::size_t k) {
  constexpr double kNear = 0.5;  // of a standard error
  if (far) return false;
  if (outcome.status != fit::FitStatus::exhausted) return outcome.status == fit::FitStatus::converged;
  const double freedom = outcome.freedom(),
               scale = freedom > 0 ? std::sqrt(outcome.equations.chi_square / freedom) : NAN;
  return !outcome.missing_step.empty() && std::abs(outcome.missing_step[k]) <= kNear * sigma * scale;
}

/// Whether a fit that ended too soon was still far from its end: by the next step chi-square would lose much of what is
/// left. Errors that follow such residuals say nothing.
bool is_far(const Outcome& outcome) {
  constexpr double kMuch = 0.01;
  if (outcome.status != fit::FitStatus::exhausted) return false;
  double expected = 0;
  for (std::size_t k = 0; k < outcome.missing_step.size(); ++k)
    expected += outcome.missing_step[k] * outcome.equations.gradient[k];
  return !(expected <= kMuch * outcome.equations.objective);
}

std::int32_t flag_of(const Outcome& outcome, bool far, const fit::Covariance& covariance, std::size_t k) {
  std::int32_t flag = is_settled(outcome, far, covariance.sigma[k], k) ? 0 : kNotConverged;
  if (outcome.ambiguous) flag |= kAmbiguous;
  if (outcome.held[k]) flag |= kAtBound;
  if (!(outcome.equations.diagonal(k) > 0))
    flag |= kNoData;
  else if (!outcome.held[k] && !(covariance.determined[k] >= kDetermined))
    flag |= kUndetermined;
  return flag;
}

}  // namespace

std::pair<const SolvableParm*, std::size_t> parm_and_coefficient(const Problem& problem, std::size_t unknown) {
  const auto after = std::upper_bound(problem.parms.begin(), problem.parms.end(), unknown,
                                      [](std::size_t u, const SolvableParm& parm) { return u < parm.first_unknown; });
  const SolvableParm& parm = *(after - 1);
  return {&parm, (unknown - parm.first_unknown) % parm.tiles.n_coefficient()};
}

void describe(const Problem& problem, const std::vector<std::vector<Essential>>& essential, const Request& request,
              const std::vector<Outcome>& outcomes, const std::vector<double>& values, const SolveOptions& options,
              SolveReport& report, ThreadPool& threads) {
  const std::size_t n = values.size();
  std::vector<double> sigma(n, std::numeric_limits<double>::quiet_NaN());
  std::vector<std::int32_t> flag(n, kNotSolved), group(n, -1);
  std::vector<double> cross(n, 0.0);
  std::vector<std::uint8_t> normalised(n, 0);  // threads write them: no bits
  report.groups.resize(outcomes.size());
  threads.parallel_for(outcomes.size(), 1, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t g = begin; g < end; ++g) {
      const Outcome& outcome = outcomes[g];
      report.groups[g] = group_of(problem, *request.cells, g, outcome);
      const bool far = is_far(outcome);
      std::vector<fit::Combination> combinations;
      if (!essential.empty())
        for (const Essential& one : essential[g]) combinations.push_back(one.combination);
      const fit::Covariance covariance = fit::covariance(
          outcome.equations, outcome.held, {combinations, outcome.conditions, outcome.numbers, outcome.open});
      report.groups[g].rank = covariance.rank;
      report.groups[g].condition = covariance.condition;
      const fit::NormalEquations& equations = outcome.equations;
      double variance =
          equations.information > 0 ? static_cast<double>(equations.equations) / equations.information : 1;
      const auto freedom = static_cast<double>(equations.equations) - static_cast<double>(covariance.rank);
      if (options.errors_from_residuals)
        variance *= freedom > 0 ? (equations.chi_square + equations.prior_chi_square) / freedom : NAN;
      for (std::size_t k = 0; k < problem.group(g).size(); ++k) {
        const std::uint32_t u = problem.group(g)[k];
        sigma[u] = covariance.sigma[k] * std::sqrt(variance);
        flag[u] = flag_of(outcome, far, covariance, k);
        group[u] = static_cast<std::int32_t>(g);
        normalised[u] = !outcome.normalised.empty() && outcome.normalised[k] ? 1 : 0;
      }
      for (std::size_t k = 0; k < outcome.numbers.size(); ++k)
        for (const std::size_t part : {outcome.numbers[k].first, outcome.numbers[k].second})
          cross[problem.group(g)[part]] = covariance.of_pairs[k] * variance;
      // On a lone baseline a matrix is but data over model; with several, their products hold.
      for (std::size_t c = 0; c < combinations.size(); ++c)
        for (const auto& [k, coefficient] : combinations[c]) {
          std::int32_t& of = flag[problem.group(g)[k]];
          if (!covariance.combination_determined[c] && (of & kNoData) == 0)
            of |= essential[g][c].equations > 1 ? kAmbiguous : kUndetermined;
        }
    }
  });
  const auto part = [](const auto& all, const SolvableParm& parm) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(parm.first_unknown);
    return std::vector(first, first + static_cast<std::ptrdiff_t>(parm.tiles.n_unknown()));
  };
  for (const SolvableParm& parm : problem.parms) {
    const std::vector<std::uint8_t> own = part(normalised, parm);
    report.parms.push_back(
        {parm.name, parm.tiles.value_shape(), part(values, parm), part(sigma, parm), part(cross, parm),
         part(flag, parm), part(group, parm), parm.tiles.n_outside(*request.cells, Axis::time),
         parm.tiles.n_outside(*request.cells, Axis::frequency), std::find(own.begin(), own.end(), 1) != own.end()});
  }
}

}  // namespace rimetree::solve
