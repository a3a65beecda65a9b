// Which unknowns of a group occur in one equation, so that its normal matrix has an element for them. Found from pairs
// of Parms, each looked at once, however many baselines have both.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "runtime/solve/problem/problem.h"

namespace rimetree::solve {

namespace {

using Pairs = std::vector<std::pair<std::int32_t, std::int32_t>>;

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

std::vector<int> Problem::tilings() const {
  std::map<std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>>, int> known;
  std::vector<int> found;
  for (const SolvableParm& parm : parms)
    found.push_back(
        known.try_emplace({parm.time_tile, parm.frequency_tile}, static_cast<int>(known.size())).first->second);
  return found;
}

void Problem::uncouple(std::vector<int> part_of_parm) {
  part_of_parm_ = std::move(part_of_parm);
  sparsities_.reset();
}

bool Problem::is_of_part_of(std::size_t a, std::size_t b) const {
  return part_of_parm_.empty() || part_of_parm_[a] == part_of_parm_[b];
}

/// Calls body(a, b) for Parms a <= b that occur in one equation and are of one part, a and b ascending.
template <class Body>
void Problem::for_each_pair_of_parms(const Body& body) const {
  std::vector<std::size_t> of_parm;
  const std::vector<Companions> sets = companions(equations, parms.size(), of_parm);
  for (std::size_t a = 0; a < parms.size(); ++a) {
    std::vector<int> others;
    for (const std::size_t c : sets[of_parm[a]].others)
      for (const int b : sets[c].parms)
        if (static_cast<std::size_t>(b) >= a && is_of_part_of(a, static_cast<std::size_t>(b))) others.push_back(b);
    std::sort(others.begin(), others.end());
    for (const int b : others) body(a, static_cast<std::size_t>(b));
  }
}

Problem::TogetherOnTiles Problem::together(std::size_t a, std::size_t b, const std::vector<AxisSet>& mixed) const {
  const auto of = [&](Axis axis, const std::vector<std::int32_t>& one, const std::vector<std::int32_t>& other) {
    return tiles_together(one, other, (mixed[a] & set_of(axis)) != 0, (mixed[b] & set_of(axis)) != 0);
  };
  return {of(Axis::time, parms[a].time_tile, parms[b].time_tile),
          of(Axis::frequency, parms[a].frequency_tile, parms[b].frequency_tile)};
}

std::vector<AxisSet> Problem::mixed_of_parms() const {
  std::vector<AxisSet> mixed(parms.size(), kNoAxes);
  for (const Equation& equation : equations)
    for (const Equation::Parm& parm : equation.parms) mixed[static_cast<std::size_t>(parm.index)] |= parm.mixed;
  return mixed;
}

double Problem::n_element() const {
  const std::vector<AxisSet> mixed = mixed_of_parms();
  const std::vector<int> tiling = tilings();
  // Parms of one companion set that have the same tiles and part count together, with as many unknowns as of one tile.
  struct Alike {
    std::size_t parm = 0;  // one of them
    double sum = 0, squares = 0;
  };
  std::vector<std::size_t> of_parm;
  const std::vector<Companions> sets = companions(equations, parms.size(), of_parm);
  std::vector<std::vector<Alike>> alike(sets.size());
  for (std::size_t c = 0; c < sets.size(); ++c) {
    std::map<std::tuple<int, AxisSet, int>, Alike> found;
    for (const int one : sets[c].parms) {
      const auto p = static_cast<std::size_t>(one);
      const auto n = static_cast<double>(parms[p].tiles.n_coefficient());
      Alike& own = found[{tiling[p], mixed[p], part_of_parm_.empty() ? 0 : part_of_parm_[p]}];
      own = {p, own.sum + n, own.squares + n * n};
    }
    for (const auto& [key, own] : found) alike[c].push_back(own);
  }
  std::map<std::tuple<int, AxisSet, int, AxisSet>, double> known;
  const auto tiles = [&](std::size_t a, std::size_t b) {
    const auto [place, is_new] = known.try_emplace({tiling[a], mixed[a], tiling[b], mixed[b]}, 0);
    if (is_new) {
      const auto& [times, frequencies] = together(a, b, mixed);
      place->second = static_cast<double>(times.size() * frequencies.size());
    }
    return place->second;
  };
  double n = 0;
  for (std::size_t c = 0; c < sets.size(); ++c)
    for (const std::size_t d : sets[c].others)
      for (std::size_t k = 0; d >= c && k < alike[c].size(); ++k)
        for (std::size_t l = d == c ? k : 0; l < alike[d].size(); ++l) {
          const Alike &one = alike[c][k], &other = alike[d][l];
          if (!is_of_part_of(one.parm, other.parm)) continue;
          const double pairs = d == c && l == k ? 0.5 * (one.sum * one.sum + one.squares) : one.sum * other.sum;
          n += pairs * tiles(one.parm, other.parm);
        }
  return n;
}

const std::vector<std::shared_ptr<const fit::Sparsity>>& Problem::sparsities() {
  if (sparsities_) return *sparsities_;
  std::vector<std::unique_ptr<fit::SparsityBuilder>> builders(n_group());
  for (std::size_t g = 0; g < n_group(); ++g)
    if (groups_[g].size() > kFewUnknowns) builders[g] = std::make_unique<fit::SparsityBuilder>(groups_[g].size());
  std::vector<std::shared_ptr<const fit::Sparsity>>& result = sparsities_.emplace(n_group());
  if (std::none_of(builders.begin(), builders.end(), [](const auto& builder) { return builder != nullptr; }))
    return result;
  const std::vector<AxisSet> mixed = mixed_of_parms();
  // Rows of a column come in their order.
  for_each_pair_of_parms([&](std::size_t a, std::size_t b) { connect(a, b, together(a, b, mixed), builders); });
  for (std::size_t g = 0; g < n_group(); ++g) {
    if (!builders[g]) continue;
    result[g] = builders[g]->finish(parts_of(g));
    builders[g].reset();
    const bool whole = part_of_parm_.empty();
    if (whole && result[g]->density() > kMostDensity && result[g]->order() == nullptr) result[g].reset();
  }
  return result;
}

/// By unknown of a group; none where all are coupled.
std::vector<std::uint32_t> Problem::parts_of(std::size_t g) const {
  std::vector<std::uint32_t> parts;
  if (part_of_parm_.empty()) return parts;
  std::size_t parm = 0;
  for (const std::uint32_t u : groups_[g]) {  // ascending, as Parms are
    while (u >= parms[parm].first_unknown + parms[parm].tiles.n_unknown()) ++parm;
    parts.push_back(static_cast<std::uint32_t>(part_of_parm_[parm]));
  }
  return parts;
}

void Problem::connect(std::size_t a, std::size_t b, const TogetherOnTiles& together,
                      std::vector<std::unique_ptr<fit::SparsityBuilder>>& builders) const {
  const auto each_unknown = [&](const SolvableParm& parm, std::int32_t time, std::int32_t frequency, const auto& body) {
    for (std::size_t k = 0; k < parm.tiles.n_coefficient(); ++k) {
      const std::size_t u =
          parm.first_unknown + parm.tiles.at(static_cast<std::size_t>(time), static_cast<std::size_t>(frequency), k);
      if ((active_.empty() || active_[u]) && group_of_[u] >= 0 && builders[static_cast<std::size_t>(group_of_[u])])
        body(u);
    }
  };
  for (const auto& [time, other_time] : together.times)
    for (const auto& [frequency, other_frequency] : together.frequencies)
      each_unknown(parms[a], time, frequency, [&](std::size_t u) {
        each_unknown(parms[b], other_time, other_frequency, [&](std::size_t v) {
          if (group_of_[u] == group_of_[v])
            builders[static_cast<std::size_t>(group_of_[u])]->connect(place_[u], place_[v]);
        });
      });
}

}  // namespace rimetree::solve
