// Which unknowns of a group occur in one equation, so that its normal matrix has an element for them. Found from pairs
// of Parms, each looked at once, however many baselines have both.
#include <algorithm>
#include <map>
#include <set>

#include "runtime/solve/problem.h"

namespace rimetree::solve {

namespace {

using Pairs = std::vector<std::pair<std::int32_t, std::int32_t>>;  // tiles of two Parms, ascending

/// Which tiles of two Parms occur together along an axis. `mixed`: whether equations see all present tiles of it there.
Pairs tiles_together(const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b, bool mixed_a,
                     bool mixed_b) {
  Pairs pairs;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = mixed_a || mixed_b ? 0 : i; j < (mixed_a || mixed_b ? b.size() : i + 1); ++j)
      if (pairs.empty() || pairs.back() != std::pair(a[i], b[j])) pairs.emplace_back(a[i], b[j]);
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  return pairs;
}

/// Parms that occur in the same equations, as those of one antenna do.
struct Companions {
  std::vector<int> parms;
  std::set<std::size_t> others;  ///< that occur in some equation with these, themselves included
};

std::vector<Companions> companions(const std::vector<Equation>& equations, std::size_t n_parm,
                                   std::vector<std::size_t>& of_parm) {
  std::vector<std::vector<std::size_t>> occurrences(n_parm);
  for (std::size_t e = 0; e < equations.size(); ++e)
    for (const Equation::Parm& parm : equations[e].parms)
      occurrences[static_cast<std::size_t>(parm.index)].push_back(e);
  std::map<std::vector<std::size_t>, std::size_t> known;
  std::vector<Companions> found;
  of_parm.assign(n_parm, 0);
  for (std::size_t p = 0; p < n_parm; ++p) {
    const auto [place, is_new] = known.try_emplace(std::move(occurrences[p]), found.size());
    if (is_new) found.emplace_back();
    found[place->second].parms.push_back(static_cast<int>(p));
    of_parm[p] = place->second;
  }
  for (const Equation& equation : equations) {
    std::set<std::size_t> here;
    for (const Equation::Parm& parm : equation.parms) here.insert(of_parm[static_cast<std::size_t>(parm.index)]);
    for (const std::size_t c : here) found[c].others.insert(here.begin(), here.end());
  }
  return found;
}

}  // namespace

const std::vector<std::shared_ptr<const fit::Sparsity>>& Problem::sparsities() {
  if (sparsities_) return *sparsities_;
  constexpr std::size_t kFewUnknowns = 500;  // a dense matrix of these is no trouble
  constexpr double kMostDensity = 0.3;       // above it elimination leaves little empty
  std::vector<std::unique_ptr<fit::SparsityBuilder>> builders(n_group());
  for (std::size_t g = 0; g < n_group(); ++g)
    if (groups_[g].size() > kFewUnknowns) builders[g] = std::make_unique<fit::SparsityBuilder>(groups_[g].size());
  std::vector<std::shared_ptr<const fit::Sparsity>>& result = sparsities_.emplace(n_group());
  if (std::none_of(builders.begin(), builders.end(), [](const auto& builder) { return builder != nullptr; }))
    return result;
  std::vector<std::size_t> of_parm;
  const std::vector<Companions> sets = companions(equations, parms.size(), of_parm);
  std::vector<AxisSet> mixed(parms.size(), kNoAxes);
  for (const Equation& equation : equations)
    for (const Equation::Parm& parm : equation.parms) mixed[static_cast<std::size_t>(parm.index)] |= parm.mixed;
  for (std::size_t a = 0; a < parms.size(); ++a) {
    std::vector<int> others;
    for (const std::size_t c : sets[of_parm[a]].others)
      others.insert(others.end(), sets[c].parms.begin(), sets[c].parms.end());
    std::sort(others.begin(), others.end());  // rows of a column then come in their order
    for (auto b = std::lower_bound(others.begin(), others.end(), static_cast<int>(a)); b != others.end(); ++b)
      connect(a, static_cast<std::size_t>(*b), mixed, builders);
  }
  for (std::size_t g = 0; g < n_group(); ++g) {
    if (!builders[g]) continue;
    result[g] = builders[g]->finish();
    builders[g].reset();
    if (result[g]->density() > kMostDensity && result[g]->order() == nullptr) result[g].reset();
  }
  return result;
}

void Problem::connect(std::size_t a, std::size_t b, const std::vector<AxisSet>& mixed,
                      std::vector<std::unique_ptr<fit::SparsityBuilder>>& builders) const {
  const auto is_mixed = [&](std::size_t p, Axis axis) { return (mixed[p] & set_of(axis)) != 0; };
  const SolvableParm &one = parms[a], &other = parms[b];
  const Pairs times = tiles_together(one.time_tile, other.time_tile, is_mixed(a, Axis::time), is_mixed(b, Axis::time)),
              frequencies = tiles_together(one.frequency_tile, other.frequency_tile, is_mixed(a, Axis::frequency),
                                           is_mixed(b, Axis::frequency));
  const auto each_unknown = [&](const SolvableParm& parm, std::int32_t time, std::int32_t frequency, const auto& body) {
    for (std::size_t k = 0; k < parm.tiles.n_coefficient(); ++k) {
      const std::size_t u =
          parm.first_unknown + parm.tiles.at(static_cast<std::size_t>(time), static_cast<std::size_t>(frequency), k);
      if ((active_.empty() || active_[u]) && group_of_[u] >= 0 && builders[static_cast<std::size_t>(group_of_[u])])
        body(u);
    }
  };
  for (const auto& [time, other_time] : times)
    for (const auto& [frequency, other_frequency] : frequencies)
      each_unknown(one, time, frequency, [&](std::size_t u) {
        each_unknown(other, other_time, other_frequency, [&](std::size_t v) {
          if (group_of_[u] == group_of_[v])
            builders[static_cast<std::size_t>(group_of_[u])]->connect(place_[u], place_[v]);
        });
      });
}

}  // namespace rimetree::solve
