// A Condeq is one equation for each cell on which its data, model, weight or flags vary, and for each element; along an
// axis on which none of them does it counts once, however many cells the request has. ChiSquare, LogLikelihood and
// Solver count alike. A normal prior is one more equation for its unknown: reports give chi-square and number of
// equations of data and of priors apart, and the solve makes the sum of both small. Data are left out, and counted,
// where they are flagged, where the weight is not positive and finite, and where datum or model are not finite.
#include "runtime/solve/problem/problem.h"

#include <algorithm>
#include <span>

#include "runtime/core/error.h"
#include "runtime/fit/disjoint_sets.h"

namespace rimetree::solve {

Segments Segments::of(const std::vector<std::size_t>& places) const {
  if (places.empty()) return *this;
  Segments segments;
  for (const std::size_t first : begin)
    segments.begin.push_back(
        static_cast<std::size_t>(std::lower_bound(places.begin(), places.end(), first) - places.begin()));
  return segments;
}

std::uint32_t Segments::drop_empty_ends() {
  while (begin.size() > 2 && begin[begin.size() - 2] == begin.back()) begin.pop_back();
  std::size_t first = 0;
  while (first + 2 < begin.size() && begin[first + 1] == begin.front()) ++first;
  begin.erase(begin.begin(), begin.begin() + static_cast<std::ptrdiff_t>(first));
  return static_cast<std::uint32_t>(first);
}

std::vector<int> solvable_below(const Forest& forest, int root) {
  std::vector<int> stack{root}, seen, parms;
  while (!stack.empty()) {
    const int node = stack.back();
    stack.pop_back();
    if ((forest.dependencies(node) & kSolvable) == 0 || std::find(seen.begin(), seen.end(), node) != seen.end())
      continue;
    seen.push_back(node);
    if (forest.node(node).algebra() == Algebra::parameter) parms.push_back(node);
    for (const int child : forest.children(node))
      if (child >= 0) stack.push_back(child);
  }
  std::sort(parms.begin(), parms.end());
  return parms;
}

std::map<int, AxisSet> mixed_above(const Forest& forest, int root) {
  std::map<int, AxisSet> mixed;
  std::vector<std::pair<int, AxisSet>> stack{{root, kNoAxes}};
  while (!stack.empty()) {
    const auto [node, above] = stack.back();
    stack.pop_back();
    if ((forest.dependencies(node) & kSolvable) == 0) continue;
    const auto [known, is_new] = mixed.try_emplace(node, above);
    if (!is_new && (known->second | above) == known->second) continue;
    known->second |= above;
    for (const int child : forest.children(node))
      if (child >= 0) stack.emplace_back(child, known->second | forest.node(node).traits().mixed_axes);
  }
  return mixed;
}

Problem::Problem(const Forest& forest, int solver, const Request& request, const std::vector<std::string>& parm_names)
    : parm_of_node(forest.size(), -1) {
  std::vector<int> wanted, found;
  for (const std::string& name : parm_names) wanted.push_back(forest.find(name));
  std::vector<std::map<int, AxisSet>> below;
  for (const int child : forest.children(solver)) {
    const int condeq = forest.behind_identities(child);
    const std::span<const int> children = forest.children(condeq);
    const auto fits = [&](int k) {
      return (forest.dependencies(children[static_cast<std::size_t>(k)]) & kSolvable) != 0;
    };
    const bool turned = fits(0) && !fits(1);  // model first: the sign of residuals does not matter
    equations.push_back({condeq,
                         children[turned ? 1 : 0],
                         children[turned ? 0 : 1],
                         children.size() > 2 ? children[2] : -1,
                         forest.node(condeq).state().real("weight_factor"),
                         {}});
    below.push_back(mixed_above(forest, condeq));
    for (const auto& [node, mixed] : below.back())
      if (forest.node(node).n_unknown() > 0) found.push_back(node);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  for (const int node : wanted)
    if (!std::binary_search(found.begin(), found.end(), node))
      throw Error("node \"" + forest.node(node).name() + "\" is to be solved for, but is no solvable Parm below the " +
                  "Condeqs; give it solvable=True");
  for (const int node : found) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), node) == wanted.end()) continue;
    parm_of_node[node] = static_cast<int>(parms.size());
    const State& state = forest.node(node).state();
    const SolutionTiles tiles(state);
    parms.push_back({.node = node,
                     .name = forest.node(node).name(),
                     .tiles = tiles,
                     .limits = ParmLimits(state, tiles),
                     .first_unknown = n_unknown_});
    n_unknown_ += tiles.n_unknown();
  }
  if (parms.empty()) throw Error("there is nothing to solve for: no Parm below the Condeqs has solvable=True");
  for (std::size_t e = 0; e < equations.size(); ++e)
    for (const auto& [node, mixed] : below[e])
      if (parm_of_node[node] >= 0) equations[e].parms.push_back({parm_of_node[node], mixed});
  divide(*request.cells);
}

void Problem::divide(const Cells& cells, const BlockEdges& also) {
  cells_ = cells.shape();
  for (int axis = 0; axis < 2; ++axis) {
    const auto n_cell = static_cast<std::size_t>(cells.shape().extent[axis]);
    std::vector<std::vector<std::int32_t>> tiles;
    for (const SolvableParm& parm : parms) tiles.push_back(parm.tiles.of_cells(cells, static_cast<Axis>(axis)));
    for (const SolutionTiles& held : also.held) tiles.push_back(held.of_cells(cells, static_cast<Axis>(axis)));
    std::vector<std::size_t>& begin = segments_[axis].begin;
    begin.assign(1, 0);
    for (std::size_t i = 1; i < n_cell; ++i) {
      const bool changes =
          std::any_of(tiles.begin(), tiles.end(), [i](const auto& of) { return of.size() > 1 && of[i] != of[i - 1]; });
      if (also.each_cell[axis] || changes) begin.push_back(i);
    }
    for (std::size_t p = 0; p < parms.size(); ++p) {
      std::vector<std::int32_t>& of_segment = axis == 0 ? parms[p].time_tile : parms[p].frequency_tile;
      of_segment.clear();
      for (const std::size_t i : begin) of_segment.push_back(tiles[p][tiles[p].size() > 1 ? i : 0]);
      std::vector<std::int32_t>& present = axis == 0 ? parms[p].time_tiles : parms[p].frequency_tiles;
      present = of_segment;
      std::sort(present.begin(), present.end());
      present.erase(std::unique(present.begin(), present.end()), present.end());
    }
    begin.push_back(n_cell);
  }
  find_groups();
}

std::int64_t Problem::unknown(ParameterId id, const Item& item) const {
  const int p = parm_of_node[id.parm];
  if (p < 0) return -1;
  const SolvableParm& parm = parms[p];
  const std::int32_t time = id.time_tile >= 0 ? id.time_tile : parm.time_tile[item.time_segment],
                     frequency =
                         id.frequency_tile >= 0 ? id.frequency_tile : parm.frequency_tile[item.frequency_segment];
  const std::size_t unknown =
      parm.first_unknown + parm.tiles.at(static_cast<std::size_t>(time), static_cast<std::size_t>(frequency),
                                         static_cast<std::size_t>(id.coefficient));
  return active_.empty() || active_[unknown] ? static_cast<std::int64_t>(unknown) : -1;
}

bool Problem::is_same_in_all_parts(const Forest& forest, const Plan& plan, std::size_t equation) const {
  const int condeq = equations[equation].condeq;
  const bool varies = plan.result_cells(condeq, cells_)[Axis::time] > 1;
  return !varies && (forest.dependencies(condeq) & kData) == 0;
}

void Problem::activate(std::vector<bool> active) {
  active_ = std::move(active);
  find_groups();
}

template <class Body>
void Problem::for_each_unknown(const Item& item, const Body& body) const {
  constexpr std::int32_t kCells[] = {-1};
  for (const auto& [p, mixed] : equations[item.equation].parms) {
    const SolvableParm& parm = parms[p];
    const auto tiles_of = [&](Axis axis, const std::vector<std::int32_t>& present) {
      return (mixed & set_of(axis)) != 0 ? std::span<const std::int32_t>(present) : std::span(kCells);
    };
    for (const std::int32_t time : tiles_of(Axis::time, parm.time_tiles))
      for (const std::int32_t frequency : tiles_of(Axis::frequency, parm.frequency_tiles))
        for (std::size_t k = 0; k < parm.tiles.n_coefficient(); ++k) {
          const std::int64_t u = unknown({parm.node, static_cast<std::int32_t>(k), time, frequency}, item);
          if (u >= 0) body(static_cast<std::uint32_t>(u));
        }
  }
}

// All unknowns of an item are of one group: the first that is solved for tells.
std::int32_t Problem::group_of(const Item& item) const {
  for (const auto& [p, mixed] : equations[item.equation].parms) {
    const SolvableParm& parm = parms[p];
    const std::int32_t time = (mixed & set_of(Axis::time)) != 0 ? parm.time_tiles.front() : -1,
                       frequency = (mixed & set_of(Axis::frequency)) != 0 ? parm.frequency_tiles.front() : -1;
    for (std::size_t k = 0; k < parm.tiles.n_coefficient(); ++k) {
      const std::int64_t u = unknown({parm.node, static_cast<std::int32_t>(k), time, frequency}, item);
      if (u >= 0) return group_of_[static_cast<std::size_t>(u)];
    }
  }
  return -1;
}

void Problem::find_groups() {
  sparsities_.reset();
  fit::DisjointSets sets(n_unknown_);
  std::vector<bool> occurs(n_unknown_, false);
  for (std::uint32_t e = 0; e < equations.size(); ++e)
    for (std::uint32_t t = 0; t < segments_[0].size(); ++t)
      for (std::uint32_t f = 0; f < segments_[1].size(); ++f) {
        std::int64_t first = -1;
        for_each_unknown({e, t, f}, [&](std::uint32_t u) {
          occurs[u] = true;
          if (first < 0) first = u;
          sets.unite(static_cast<std::uint32_t>(first), u);
        });
      }
  groups_.clear();
  group_of_.assign(n_unknown_, -1);
  place_.assign(n_unknown_, 0);
  for (std::uint32_t u = 0; u < n_unknown_; ++u) {
    if (!occurs[u]) continue;
    const std::uint32_t root = sets.find(u);  // the smallest: it has been numbered
    if (root == u) {
      group_of_[u] = static_cast<std::int32_t>(groups_.size());
      groups_.emplace_back();
    }
    group_of_[u] = group_of_[root];
    place_[u] = static_cast<std::uint32_t>(groups_[group_of_[u]].size());
    groups_[group_of_[u]].push_back(u);
  }
  extents_.assign(groups_.size(), {~0u, 0, ~0u, 0});
  for (std::uint32_t e = 0; e < equations.size(); ++e)
    for (std::uint32_t t = 0; t < segments_[0].size(); ++t)
      for (std::uint32_t f = 0; f < segments_[1].size(); ++f) {
        const std::int32_t g = group_of({e, t, f});
        if (g < 0) continue;
        auto& [first_t, last_t, first_f, last_f] = extents_[static_cast<std::size_t>(g)];
        first_t = std::min(first_t, t), last_t = std::max(last_t, t);
        first_f = std::min(first_f, f), last_f = std::max(last_f, f);
      }
}

std::vector<double> Problem::values(const Forest& forest) const {
  std::vector<double> values;
  for (const SolvableParm& parm : parms) {
    const SolutionTiles tiles(forest.node(parm.node).state());
    values.insert(values.end(), tiles.values().begin(), tiles.values().end());
  }
  return values;
}

void Problem::set_values(Forest& forest, const std::vector<double>& values) const {
  for (const SolvableParm& parm : parms) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(parm.first_unknown);
    StateArray value{parm.tiles.value_shape(), NumberType::real,
                     std::vector<double>(first, first + static_cast<std::ptrdiff_t>(parm.tiles.n_unknown()))};
    if (forest.node(parm.node).state().array("value") == value) continue;
    forest.set_state(parm.node, {{"value", std::move(value)}});
  }
}

}  // namespace rimetree::solve
