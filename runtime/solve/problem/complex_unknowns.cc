#include "runtime/solve/problem/complex_unknowns.h"

#include <algorithm>
#include <cmath>

namespace rimetree::solve {

namespace {

/// Parms that are the real and imaginary part of a number, without bounds and of the same tiles.
struct Parts {
  int re = -1, im = -1;
  bool good() const { return re >= 0; }
};

class Finder {
 public:
  Finder(const Forest& forest, const Problem& problem) : forest_(forest), problem_(problem) {}

  std::vector<std::vector<fit::ComplexMatrix>> find() {
    std::vector<std::vector<fit::ComplexMatrix>> result(problem_.n_group());
    std::vector<bool> taken(problem_.parms.size(), false);
    const auto add = [&](const std::vector<Parts>& parts) {
      for (const Parts& part : parts)
        if (!part.good() || taken[static_cast<std::size_t>(part.re)] || taken[static_cast<std::size_t>(part.im)])
          return;
      for (const Parts& part : parts)
        taken[static_cast<std::size_t>(part.re)] = taken[static_cast<std::size_t>(part.im)] = true;
      unknowns_of(parts, result);
    };
    const std::vector<int> below = solvable_below_all();
    for (const int node : below) {
      if (!is_matrix_of_scalars(node)) continue;
      const std::span<const int> children = forest_.children(node);
      std::vector<Parts> parts;
      for (const int child : children) parts.push_back(parts_of(child));
      if (is_constant_zero(forest_, children[1]) && is_constant_zero(forest_, children[2])) {
        add({parts[0]});
        add({parts[3]});
      } else if (std::all_of(parts.begin(), parts.end(), [](const Parts& part) { return part.good(); })) {
        add(parts);
      }
    }
    for (const int node : below)
      if (forest_.node(node).algebra() == Algebra::product)
        for (const int child : forest_.children(node)) add({parts_of(child)});
    return result;
  }

  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> find_numbers() const {
    std::vector<std::vector<std::pair<std::size_t, std::size_t>>> result(problem_.n_group());
    std::vector<bool> taken(problem_.parms.size(), false);
    for (const int node : solvable_below_all()) {
      const Parts parts = parts_of(node);
      if (!parts.good() || taken[static_cast<std::size_t>(parts.re)] || taken[static_cast<std::size_t>(parts.im)])
        continue;
      taken[static_cast<std::size_t>(parts.re)] = taken[static_cast<std::size_t>(parts.im)] = true;
      const SolvableParm &re = problem_.parms[parts.re], &im = problem_.parms[parts.im];
      for (std::size_t k = 0; k < re.tiles.n_unknown(); ++k) {
        const std::int32_t group = problem_.group_of(re.first_unknown + k);
        if (group >= 0 && group == problem_.group_of(im.first_unknown + k))
          result[static_cast<std::size_t>(group)].emplace_back(problem_.place_in_group(re.first_unknown + k),
                                                               problem_.place_in_group(im.first_unknown + k));
      }
    }
    return result;
  }

 private:
  /// Nodes below the Condeqs that depend on solvable Parms, ascending.
  std::vector<int> solvable_below_all() const {
    std::vector<bool> seen(forest_.size(), false);
    std::vector<int> stack, found;
    for (const Equation& equation : problem_.equations) stack.push_back(equation.model);
    while (!stack.empty()) {
      const int node = stack.back();
      stack.pop_back();
      if (node < 0 || seen[static_cast<std::size_t>(node)] || (forest_.dependencies(node) & kSolvable) == 0) continue;
      seen[static_cast<std::size_t>(node)] = true;
      found.push_back(node);
      stack.insert(stack.end(), forest_.children(node).begin(), forest_.children(node).end());
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  /// Whether a node is [[c0, c1], [c2, c3]].
  bool is_matrix_of_scalars(int node) const {
    return forest_.node(node).algebra() == Algebra::composition && forest_.children(node).size() == 4 &&
           forest_.node(node).dims() == TensorShape{2, 2};
  }

  Parts parts_of(int node) const {
    const Algebra algebra = forest_.node(node).algebra();
    if (algebra == Algebra::conjugate) return parts_of(forest_.children(node)[0]);
    if (algebra != Algebra::complex_number) return {};
    const std::span<const int> children = forest_.children(node);
    const Parts parts{problem_.parm_of_node[children[0]], problem_.parm_of_node[children[1]]};
    if (parts.re < 0 || parts.im < 0 || parts.re == parts.im) return {};
    const SolvableParm &re = problem_.parms[parts.re], &im = problem_.parms[parts.im];
    const auto free = [](const SolvableParm& parm) {
      return std::none_of(parm.limits.minimum.begin(), parm.limits.minimum.end(),
                          [](double x) { return x > -INFINITY; }) &&
             std::none_of(parm.limits.maximum.begin(), parm.limits.maximum.end(),
                          [](double x) { return x < INFINITY; });
    };
    const bool same = re.tiles.n_unknown() == im.tiles.n_unknown() && re.time_tile == im.time_tile &&
                      re.frequency_tile == im.frequency_tile;
    return same && free(re) && free(im) ? parts : Parts{};
  }

  /// One matrix for each tile and coefficient.
  void unknowns_of(const std::vector<Parts>& parts, std::vector<std::vector<fit::ComplexMatrix>>& result) const {
    const std::size_t n = problem_.parms[parts[0].re].tiles.n_unknown();
    for (std::size_t k = 0; k < n; ++k) {
      fit::ComplexMatrix matrix{parts.size() == 1 ? 1u : 2u, {}};
      std::int32_t group = -1;
      bool together = true;
      for (std::size_t e = 0; e < parts.size(); ++e)
        for (const int part : {0, 1}) {
          const SolvableParm& parm = problem_.parms[part == 0 ? parts[e].re : parts[e].im];
          const std::size_t unknown = k < parm.tiles.n_unknown() ? parm.first_unknown + k : parm.first_unknown;
          const std::int32_t of = problem_.group_of(unknown);
          if (e == 0 && part == 0) group = of;
          together = together && of >= 0 && of == group && parm.tiles.n_unknown() == n;
          matrix.unknowns[2 * e + static_cast<std::size_t>(part)] = problem_.place_in_group(unknown);
        }
      if (together) result[static_cast<std::size_t>(group)].push_back(matrix);
    }
  }

  const Forest& forest_;
  const Problem& problem_;
};

}  // namespace

std::vector<std::vector<fit::ComplexMatrix>> complex_unknowns(const Forest& forest, const Problem& problem) {
  return Finder(forest, problem).find();
}

std::vector<std::vector<std::pair<std::size_t, std::size_t>>> complex_numbers(const Forest& forest,
                                                                              const Problem& problem) {
  return Finder(forest, problem).find_numbers();
}

}  // namespace rimetree::solve
