#include "runtime/solve/convention.h"

#include <algorithm>
#include <cmath>

namespace rimetree::solve {

namespace {

bool is_zero(const Forest& forest, int node) {
  const Algebra algebra = forest.node(node).algebra();
  if (algebra != Algebra::constant && algebra != Algebra::parameter) return false;
  const StateArray& value = forest.node(node).state().array("value");
  return std::all_of(value.data.begin(), value.data.end(), [](double x) { return x == 0; });
}

/// What a Parm is of the numbers that models are made of.
struct Part {
  bool factor = false, imaginary = false;
  int im = -1;  ///< the Parm of the imaginary part
};

bool same_tiles(const SolvableParm& a, const SolvableParm& b) {
  return a.tiles.n_unknown() == b.tiles.n_unknown() && a.time_tile == b.time_tile &&
         a.frequency_tile == b.frequency_tile;
}

/// By Parm: complex numbers of two Parms, and real ones that are made complex, are factors; others are added.
std::vector<Part> parts_of(const Forest& forest, const Problem& problem) {
  std::vector<Part> parts(problem.parms.size());
  for (int node = 0; node < static_cast<int>(forest.size()); ++node) {
    if (forest.node(node).algebra() != Algebra::complex_number) continue;
    const std::span<const int> children = forest.children(node);
    const int re = problem.parm_of_node[static_cast<std::size_t>(children[0])],
              im = problem.parm_of_node[static_cast<std::size_t>(children[1])];
    if (re < 0 || re == im) continue;
    if (im < 0 && is_zero(forest, children[1])) parts[static_cast<std::size_t>(re)].factor = true;
    if (im < 0 || !same_tiles(problem.parms[static_cast<std::size_t>(re)], problem.parms[static_cast<std::size_t>(im)]))
      continue;
    parts[static_cast<std::size_t>(re)] = {true, false, im};
    parts[static_cast<std::size_t>(im)] = {true, true, -1};
  }
  return parts;
}

/// Those of `open` that change no product of factors.
std::vector<std::vector<double>> without_change(const OpenSteps& open) {
  constexpr double kNone = 1e-12;  // of what changes of factors would be if they did not cancel: rounding errors
  return fit::combinations_without(
      open.steps, open.changes,
      kNone * open.uncancelled / static_cast<double>(std::max<std::size_t>(1, open.steps.size())));
}

}  // namespace

Convention::Convention(const Forest& forest, const Problem& problem) : problem_(problem), numbers_(problem.n_group()) {
  std::vector<std::int64_t> ranks;
  for (const SolvableParm& parm : problem.parms) ranks.push_back(forest.node(parm.node).state().integer("normalised"));
  any_ = std::any_of(ranks.begin(), ranks.end(), [](std::int64_t rank) { return rank != 0; });
  if (!any_) return;
  const std::vector<Part> parts = parts_of(forest, problem);
  for (std::size_t p = 0; p < problem.parms.size(); ++p) {
    const SolvableParm& parm = problem.parms[p];
    if (parts[p].imaginary) continue;
    for (std::size_t k = 0; k < parm.tiles.n_unknown(); ++k) {
      const std::size_t u = parm.first_unknown + k;
      const std::int32_t g = problem.group_of(u);
      if (g < 0) continue;
      const std::size_t tile = k / parm.tiles.n_coefficient();
      fit::Number number{.re = problem.place_in_group(u),
                         .factor = parts[p].factor && parm.tiles.n_coefficient() == 1,
                         .rank = ranks[p],
                         .series = static_cast<std::uint32_t>(p),
                         .row = static_cast<std::uint32_t>(tile / parm.tiles.n_frequency()),
                         .column = static_cast<std::uint32_t>(tile % parm.tiles.n_frequency())};
      if (number.factor && parts[p].im >= 0)
        number.im = problem.place_in_group(problem.parms[static_cast<std::size_t>(parts[p].im)].first_unknown + k);
      numbers_[static_cast<std::size_t>(g)].push_back(number);
    }
  }
}

bool Convention::apply(const EquationSource& source, std::vector<Outcome>& outcomes, std::vector<double>& values,
                       ThreadPool& threads) const {
  if (!any_) return false;
  std::vector<OpenSteps> open(outcomes.size());
  threads.parallel_for(outcomes.size(), 1, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t g = begin; g < end; ++g)
      if (outcomes[g].equations.equations > 0) open[g].steps = fit::null_space(outcomes[g].equations, outcomes[g].held);
  });
  if (!source.add_changes(open)) return false;
  bool moved = false;
  for (std::size_t g = 0; g < outcomes.size(); ++g) {
    const auto steps = without_change(open[g]);
    if (steps.empty()) continue;
    std::vector<double> x;
    for (const std::uint32_t u : problem_.group(g)) x.push_back(values[u]);
    std::vector<fit::Number> numbers = numbers_[g];
    std::erase_if(numbers, [&](const fit::Number& number) { return !(outcomes[g].equations.diagonal(number.re) > 0); });
    fit::Normalised found = fit::normalise(std::move(x), std::move(numbers), steps, open[g].steps);
    const auto is_finite = [](double value) { return std::isfinite(value); };
    if (found.conditions.empty() || !std::all_of(found.x.begin(), found.x.end(), is_finite)) continue;
    for (std::size_t k = 0; k < found.x.size(); ++k) values[problem_.group(g)[k]] = found.x[k];
    outcomes[g].conditions = std::move(found.conditions);
    outcomes[g].normalised.assign(problem_.group(g).size(), false);
    for (const std::uint32_t k : found.normalised) outcomes[g].normalised[k] = true;
    moved = true;
  }
  return moved;
}

}  // namespace rimetree::solve
