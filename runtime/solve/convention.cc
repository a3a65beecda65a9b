#include "runtime/solve/convention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "runtime/fit/disjoint_sets.h"

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

/// By Parm: complex numbers of two Parms, and real or imaginary ones that are made complex, are factors; others are
/// added.
std::vector<Part> parts_of(const Forest& forest, const Problem& problem) {
  std::vector<Part> parts(problem.parms.size());
  for (int node = 0; node < static_cast<int>(forest.size()); ++node) {
    if (forest.node(node).algebra() != Algebra::complex_number) continue;
    const std::span<const int> children = forest.children(node);
    const int re = problem.parm_of_node[static_cast<std::size_t>(children[0])],
              im = problem.parm_of_node[static_cast<std::size_t>(children[1])];
    if (re == im) continue;
    if (re < 0) {
      if (im >= 0 && is_zero(forest, children[0])) parts[static_cast<std::size_t>(im)].factor = true;
      continue;
    }
    if (im < 0 && is_zero(forest, children[1])) parts[static_cast<std::size_t>(re)].factor = true;
    if (im < 0 || !same_tiles(problem.parms[static_cast<std::size_t>(re)], problem.parms[static_cast<std::size_t>(im)]))
      continue;
    parts[static_cast<std::size_t>(re)] = {true, false, im};
    parts[static_cast<std::size_t>(im)] = {true, true, -1};
  }
  return parts;
}

double median(std::vector<double> of) {
  const auto middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
  std::nth_element(of.begin(), middle, of.end());
  return *middle;
}

double size_of(const std::vector<double>& of, const fit::Number& number) {
  return std::hypot(of[number.re], number.im < 0 ? 0.0 : of[static_cast<std::size_t>(number.im)]);
}

/// Has numbers have no part in means that are many times as large as most along frequency: in a channel of
/// interference, which may be a hundred times as bright as all others, gains are what no antenna does, and would be all
/// of the mean.
void take_out_outstanding(const std::vector<double>& x, std::vector<fit::Number>& numbers) {
  constexpr double kOutstanding = 4;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<double>> rows;
  for (const fit::Number& number : numbers)
    if (number.factor && number.rank > 0) rows[{number.series, number.row}].push_back(size_of(x, number));
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> usual;
  for (auto& [row, sizes] : rows) usual[row] = median(std::move(sizes));
  for (fit::Number& number : numbers)
    if (number.factor && number.rank > 0 && size_of(x, number) > kOutstanding * usual[{number.series, number.row}])
      number.rank = 0;
}

/// Has numbers have no part in means over their series whose errors would be those of the mean, and so of all others:
/// much of what they are and of what others are, and relative to their size several times those of others. Closure
/// phases of a channel of noise may have its gains go on to 0 and to infinity. Returns whether there are any: errors
/// of the others are less without these.
bool take_out_unsure(const Outcome& outcome, const std::vector<std::vector<double>>& open, const std::vector<double>& x,
                     std::vector<fit::Number>& numbers) {
  constexpr double kUnsure = 0.3, kMany = 3;
  if (!(outcome.freedom() > 0)) return false;
  const double scale = std::sqrt(outcome.equations.chi_square / outcome.freedom());
  // Errors besides what is open, which is taken from all numbers alike: no number counts for more than another.
  fit::CovarianceRequest request;
  request.open = open;
  for (const std::vector<double>& step : request.open) {
    fit::Combination& condition = request.conditions.emplace_back();
    for (const fit::Number& number : numbers) {
      const double size = size_of(x, number);
      if (!number.factor || number.rank <= 0 || !(size > 0)) continue;
      const auto add = [&](std::size_t k) {
        if (step[k] != 0) condition.emplace_back(k, step[k] / (size * size));
      };
      add(number.re);
      if (number.im >= 0) add(static_cast<std::size_t>(number.im));
    }
  }
  const std::vector<double> sigma = fit::covariance(outcome.equations, outcome.held, request).at_most;
  std::map<std::uint32_t, std::array<std::vector<double>, 2>> series;  // sizes, and errors relative to them
  for (const fit::Number& number : numbers) {
    const double size = size_of(x, number), error = scale * size_of(sigma, number);
    if (!number.factor || number.rank <= 0 || !(size > 0) || !std::isfinite(error)) continue;
    series[number.series][0].push_back(size);
    series[number.series][1].push_back(error / size);
  }
  std::map<std::uint32_t, std::array<double, 2>> medians;
  for (const auto& [name, of] : series) medians[name] = {median(of[0]), median(of[1])};
  bool any = false;
  for (fit::Number& number : numbers) {
    if (!number.factor || number.rank <= 0 || !medians.contains(number.series)) continue;
    const auto [usual, usual_error] = medians.at(number.series);
    const double size = size_of(x, number), error = scale * size_of(sigma, number);
    if (!(error > kUnsure * std::max(size, usual) && error > kMany * usual_error * size)) continue;
    number.rank = 0;
    any = true;
  }
  return any;
}

/// Unknowns of a group that products connect, as those of one antenna, and the products.
struct Connected {
  std::size_t group = 0;
  std::vector<std::uint32_t> unknowns;  ///< by place in the group, ascending
  std::vector<ProductOnBlock> products;
};

/// Calls body(a, b, value) for the elements of what changes a product that are not 0; a, b: places in the group.
template <class Body>
void for_each_element(const Problem& problem, const Contribution& changes, const Body& body) {
  const fit::NormalEquations& of = changes.equations;
  for (std::size_t i = 0; i < of.n; ++i)
    for (std::size_t j = 0; j <= i; ++j)
      if (const double value = of.matrix[i * of.n + j]; value != 0)
        body(problem.place_in_group(changes.unknowns[i]), problem.place_in_group(changes.unknowns[j]), value);
}

void append_connected(const EquationSource& source, const Problem& problem, std::size_t group,
                      const std::vector<ProductOnBlock>& products, std::vector<Connected>& found) {
  constexpr std::size_t kNone = ~std::size_t{0};
  const std::size_t n = problem.group(group).size();
  Contribution changes;
  fit::DisjointSets sets(n);
  std::vector<bool> changing(n, false);
  for (const ProductOnBlock& product : products) {
    source.changes_of(product, changes);
    for_each_element(problem, changes, [&](std::uint32_t a, std::uint32_t b, double) {
      sets.unite(a, b);
      changing[a] = changing[b] = true;
    });
  }
  std::vector<std::size_t> of_root(n, kNone);
  for (std::uint32_t u = 0; u < n; ++u) {
    if (!changing[u]) continue;
    std::size_t& number = of_root[sets.find(u)];
    if (number == kNone) {
      number = found.size();
      found.push_back({group, {}, {}});
    }
    found[number].unknowns.push_back(u);
  }
  for (const ProductOnBlock& product : products) {
    source.changes_of(product, changes);
    std::size_t last = kNone;
    for_each_element(problem, changes, [&](std::uint32_t a, std::uint32_t, double) {
      const std::size_t number = of_root[sets.find(a)];
      // Of a diagonal matrix the unknowns of either feed follow each other.
      if (number != last && (found[number].products.empty() || !(found[number].products.back() == product)))
        found[number].products.push_back(product);
      last = number;
    });
  }
}

/// Steps [unknowns of the group] that change none of the products.
std::vector<std::vector<double>> steps_without_change(const EquationSource& source, const Problem& problem,
                                                      const Connected& of, const Outcome& outcome) {
  std::vector<std::uint32_t> place(problem.group(of.group).size(), 0);
  std::vector<bool> among(place.size(), false), still;
  for (std::size_t k = 0; k < of.unknowns.size(); ++k) {
    const std::uint32_t u = of.unknowns[k];
    place[u] = static_cast<std::uint32_t>(k);
    among[u] = true;
    still.push_back(outcome.held[u] || !(outcome.equations.diagonal(u) > 0));  // with those of which no datum tells
  }
  Contribution changes;
  const auto for_each_pair = [&](const auto& body) {
    for (const ProductOnBlock& product : of.products) {
      source.changes_of(product, changes);
      for_each_element(problem, changes, [&](std::uint32_t a, std::uint32_t b, double value) {
        if (among[a] && among[b]) body(place[a], place[b], value);
      });
    }
  };
  // Gains of many channels or times are seen together only where another term connects them.
  std::shared_ptr<const fit::Sparsity> sparsity;
  if (of.unknowns.size() > kFewUnknowns) {
    fit::SparsityBuilder builder(of.unknowns.size());
    for_each_pair([&](std::uint32_t a, std::uint32_t b, double) { builder.connect(a, b); });
    sparsity = builder.finish();
  }
  fit::NormalEquations equations(of.unknowns.size(), sparsity);
  for_each_pair([&](std::uint32_t a, std::uint32_t b, double value) { equations.at(a, b) += value; });
  std::vector<std::vector<double>> found;
  for (const std::vector<double>& step : fit::null_space(equations, still)) {
    std::vector<double>& all = found.emplace_back(place.size(), 0.0);
    for (std::size_t k = 0; k < step.size(); ++k) all[of.unknowns[k]] = step[k];
  }
  return found;
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

// From the products alone: in the null space of the data's own matrix they would be mixed with what these data hardly
// tell, as where channels of little noise stand beside others of a thousand times as much.
std::vector<Convention::Steps> Convention::open(const EquationSource& source, const std::vector<Outcome>& outcomes,
                                                const std::vector<bool>& looked_at, ThreadPool& threads) const {
  std::vector<Steps> found(outcomes.size());
  const std::vector<std::vector<ProductOnBlock>> products = source.products();
  std::vector<Connected> connected;
  for (std::size_t g = 0; g < products.size(); ++g)
    if (looked_at[g]) append_connected(source, problem_, g, products[g], connected);
  std::vector<Steps> of_connected(connected.size());
  threads.parallel_for(connected.size(), 1, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t k = begin; k < end; ++k)
      of_connected[k] = steps_without_change(source, problem_, connected[k], outcomes[connected[k].group]);
  });
  for (std::size_t k = 0; k < connected.size(); ++k) {
    Steps& all = found[connected[k].group];
    std::move(of_connected[k].begin(), of_connected[k].end(), std::back_inserter(all));
  }
  return found;
}

void Convention::keep_open(const EquationSource& source, std::vector<Outcome>& outcomes, ThreadPool& threads) const {
  std::vector<bool> holds;
  for (const Outcome& outcome : outcomes) holds.push_back(!outcome.conditions.empty());
  if (std::none_of(holds.begin(), holds.end(), [](bool one) { return one; })) return;
  std::vector<Steps> found = open(source, outcomes, holds, threads);
  for (std::size_t g = 0; g < outcomes.size(); ++g) outcomes[g].open = std::move(found[g]);
}

bool Convention::apply(const EquationSource& source, std::vector<Outcome>& outcomes, std::vector<double>& values,
                       ThreadPool& threads) const {
  constexpr int kPasses = 3;
  if (!any_) return false;
  std::vector<bool> with_data;
  for (const Outcome& outcome : outcomes) with_data.push_back(outcome.equations.equations > 0);
  const std::vector<Steps> open = this->open(source, outcomes, with_data, threads);
  std::vector<Steps> every(outcomes.size());
  threads.parallel_for(outcomes.size(), 1, [&](std::size_t begin, std::size_t end, int) {
    const auto is_held = [](const fit::Number& number) { return number.rank < 0; };
    for (std::size_t g = begin; g < end; ++g)
      if (outcomes[g].coupled() && !open[g].empty() && std::any_of(numbers_[g].begin(), numbers_[g].end(), is_held))
        every[g] = fit::null_space(outcomes[g].equations, outcomes[g].held, open[g]);
  });
  bool moved = false;
  for (std::size_t g = 0; g < outcomes.size(); ++g) {
    if (open[g].empty()) continue;
    std::vector<double> x;
    for (const std::uint32_t u : problem_.group(g)) x.push_back(values[u]);
    std::vector<fit::Number> numbers = numbers_[g];
    std::erase_if(numbers, [&](const fit::Number& number) { return !(outcomes[g].equations.diagonal(number.re) > 0); });
    for (int pass = 0; pass < kPasses && take_out_unsure(outcomes[g], open[g], x, numbers);) ++pass;
    take_out_outstanding(x, numbers);
    fit::Normalised found = fit::normalise(std::move(x), std::move(numbers), open[g], every[g]);
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
