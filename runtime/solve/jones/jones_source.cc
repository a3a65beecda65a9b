#include "runtime/solve/jones/jones_source.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/solve/equations/operand.h"
#include "runtime/solve/jones/jones_alternation.h"
#include "runtime/solve/jones/jones_contribution.h"
#include "runtime/solve/jones/smoothing.h"

namespace rimetree::solve {

namespace {

/// The mean of the cells of each segment.
std::vector<double> centres(const std::vector<double>& cells, const Segments& segments) {
  std::vector<double> found;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const auto begin = cells.begin() + static_cast<std::ptrdiff_t>(segments.begin[i]),
               end = cells.begin() + static_cast<std::ptrdiff_t>(segments.begin[i + 1]);
    found.push_back(std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin));
  }
  return found;
}

/// The models of all equations; nothing where one of them is no sum of Jones terms.
std::optional<std::vector<JonesModel>> models_in(const ModelForest& read, const Forest& written, const Problem& problem,
                                                 ElementsOneByOne elements) {
  std::vector<JonesModel> models;
  for (const Equation& equation : problem.equations) {
    const bool fixed = (written.dependencies(equation.data) & kSolvable) == 0 &&
                       (equation.weight < 0 || (written.dependencies(equation.weight) & kSolvable) == 0);
    auto model = jones_model(read.get(), read.model_of(equation), elements);
    if (!fixed || !model) return std::nullopt;
    if (!(written.node(equation.condeq).dims() == written.node(equation.model).dims())) return std::nullopt;
    models.push_back(std::move(*model));
  }
  return models;
}

/// Says where few equations keep the others from being summed up.
void note_what_stands_beside(Evaluator& evaluator, const Problem& problem) {
  const ModelForest read(evaluator, false);
  std::size_t sums = 0;
  const Equation* other = nullptr;
  for (const Equation& equation : problem.equations)
    if (const auto model = jones_model(read.get(), equation.model); model && n_solvable(*model) > 0)
      ++sums;
    else if (other == nullptr)
      other = &equation;
  if (sums > 0 && other != nullptr)
    evaluator.notes().add(
        "solver-beside", "Solver: of " + std::to_string(problem.equations.size()) + " Condeqs " + std::to_string(sums) +
                             " could be solved on sums over the data, which takes less, if \"" +
                             evaluator.forest().node(other->condeq).name() +
                             "\" were not beside them (what is known of a Parm may be its prior_mean and prior_sigma)");
}

std::size_t most_terms(const std::vector<JonesModel>& models) {
  std::size_t terms = 0;
  for (const JonesModel& model : models) terms = std::max(terms, n_solvable(model));
  return terms;
}

}  // namespace

std::unique_ptr<JonesSource> JonesSource::recognise(Evaluator& evaluator, Problem& problem, RequestParts& parts,
                                                    const Manner& manner, Cancellation& cancellation) {
  const auto source_of = [&](const ModelForest& read, ElementsOneByOne elements) -> std::unique_ptr<JonesSource> {
    auto models = models_in(read, evaluator.forest(), problem, elements);
    return models ? make(read, std::move(*models), evaluator, problem, parts, manner, cancellation) : nullptr;
  };
  const ModelForest as_written(evaluator, false);
  if (auto source = source_of(as_written, ElementsOneByOne::no)) return source;
  if (manner.evaluated && &evaluator.evaluated() != &evaluator.forest()) {
    // All that is asked for first, so that the plan stays.
    std::vector<int> roots;
    for (const Equation& equation : problem.equations)
      for (const int node : {equation.condeq, equation.data, equation.weight})
        if (node >= 0) roots.push_back(node);
    evaluator.update_plan(roots);
    if (auto source = source_of(ModelForest(evaluator, true), ElementsOneByOne::yes)) return source;
  }
  auto source = source_of(as_written, ElementsOneByOne::yes);
  if (source == nullptr) note_what_stands_beside(evaluator, problem);
  return source;
}

std::unique_ptr<JonesSource> JonesSource::make(ModelForest read, std::vector<JonesModel> models, Evaluator& evaluator,
                                               Problem& problem, RequestParts& parts, const Manner& manner,
                                               Cancellation& cancellation) {
  const Forest& forest = read.get();
  const Request& request = parts.whole();
  const CellShape& cells = request.cells->shape();
  if (cells[Axis::l] != 1 || cells[Axis::m] != 1) return nullptr;
  // Where nothing is to be solved for on any baseline, there is nothing to recognise.
  if (std::none_of(models.begin(), models.end(), [](const auto& model) { return n_solvable(model) > 0; }))
    return nullptr;
  const BlockEdges edges = edges_of_factors(forest, problem, models);
  problem.divide(*request.cells, edges);
  std::unique_ptr<JonesSource> source(
      new JonesSource(evaluator, read, problem, parts, manner.errors, std::move(models)));
  // A factor that changes within an interval is not the same for data of another one.
  const bool same = !edges.each_cell[1] && request.cells->has(Axis::frequency);
  if (manner.smooth_hz > 0 && same && manner.errors.degrees_of_freedom == 0 &&
      problem.frequency_segments().size() > 1) {
    source->smoothed_hz_ = manner.smooth_hz;
    source->centre_hz_ = centres(request.cells->axis(Axis::frequency).centre, problem.frequency_segments());
  }
  if (source->statistics_bytes() <= evaluator.memory_budget() / 2 && !source->sums_up_too_little(cells) &&
      source->products_.evaluate(cancellation))
    return source;
  problem.divide(*request.cells);
  return nullptr;
}

JonesSource::JonesSource(Evaluator& evaluator, ModelForest forest, Problem& problem, RequestParts& parts,
                         ErrorModel errors, std::vector<JonesModel> models)
    : evaluator_(evaluator),
      problem_(problem),
      errors_(errors),
      products_(forest, problem, parts.whole(), std::move(models)),
      sums_(problem, products_),
      sweep_(evaluator, problem, parts, products_, sums_) {}

void JonesSource::make_sums(Cancellation& cancellation) {
  if (!summed_ || errors_.degrees_of_freedom > 0) sweep_.run(JonesSweep::What::sums, errors_, cancellation);
  if (smoothed_hz_ > 0 && !summed_) smooth_along_frequency(centre_hz_, smoothed_hz_, sums_, evaluator_.thread_pool());
  summed_ = true;
}

// Phases of sources whose places are solved for are such terms: they differ in each cell, and follow from few unknowns.
// With 20 sources, 91 baselines and 120 cells an iteration took 0.5 s so, and 0.07 s by derivatives of the Condeqs
// (2 cores of an Intel Xeon with AVX-512, 2026-11-30); with gains for each cell of 8 directions both took the same.
bool JonesSource::sums_up_too_little(const CellShape& cells) const {
  const std::size_t blocks = problem_.time_segments().size() * problem_.frequency_segments().size();
  return most_terms(products_.models()) > 1 && cells.size() < 2 * blocks && problem_.n_unknown() < blocks;
}

std::string JonesSource::method() const {
  const auto& models = products_.models();
  const std::size_t terms = most_terms(models);
  const bool diagonal = std::all_of(models.begin(), models.end(), [](const auto& model) { return model.diagonal; });
  return "sums over the data for " + std::to_string(terms) +
         (products_.n_feed() == 1 ? " scalar"
          : diagonal              ? " diagonal"
                                  : " full") +
         (terms == 1 ? " Jones term" : " Jones terms") + ", " + std::to_string(problem_.time_segments().size()) +
         " x " + std::to_string(problem_.frequency_segments().size()) + " blocks" +
         (smoothed_hz_ > 0 ? ", smoothed along frequency" : "");
}

std::vector<int> JonesSource::terms_of_parms() const {
  constexpr int kNone = -2, kSeveral = -1;
  std::vector<int> terms(problem_.parms.size(), kNone);
  for (const JonesModel& model : products_.models())
    for (std::size_t t = 0; t < model.terms.size(); ++t)
      for (const auto* factors : {&model.terms[t].left, &model.terms[t].right})
        for (const int factor : *factors)
          for (const int node : solvable_below(products_.forest().get(), factor)) {
            const int p = problem_.parm_of_node[node];
            if (p < 0) continue;
            int& of = terms[static_cast<std::size_t>(p)];
            of = of == kNone || of == static_cast<int>(t) ? static_cast<int>(t) : kSeveral;
          }
  std::replace(terms.begin(), terms.end(), kNone, kSeveral);
  return terms;
}

std::vector<std::size_t> JonesSource::occurrences() const {
  constexpr std::uint32_t kNone = ~0u;
  std::vector<std::size_t> count(problem_.n_unknown(), 0);
  std::vector<std::uint32_t> last(problem_.n_unknown(), kNone);
  for (const Item& item : sums_.items()) {
    if (sums_.n_equation(item) == 0) continue;
    for (const auto& [p, mixed] : problem_.equations[item.equation].parms)
      for (std::size_t k = 0; k < problem_.parms[p].tiles.n_coefficient(); ++k) {
        const std::int64_t u = problem_.unknown({problem_.parms[p].node, static_cast<std::int32_t>(k)}, item);
        if (u < 0 || last[static_cast<std::size_t>(u)] == item.equation) continue;
        last[static_cast<std::size_t>(u)] = item.equation;
        ++count[static_cast<std::size_t>(u)];
      }
  }
  return count;
}

std::vector<std::vector<Essential>> JonesSource::essential() const {
  constexpr double kRounding = 1e-12;
  std::vector<std::vector<Essential>> all(problem_.n_group());
  const std::vector<std::size_t> occurrences = this->occurrences();
  std::vector<bool> done(problem_.n_unknown(), false);  // the norm's combination that begins with an unknown
  for (std::uint32_t t = 0; t < problem_.time_segments().size(); ++t)
    for (std::uint32_t f = 0; f < problem_.frequency_segments().size(); ++f)
      for (const int node : products_.factor_nodes()) {
        const Result& factor = products_.factor(node);
        // d|G|^2 = 2 Re sum G_e* dG_e
        fit::Combination combination;
        std::int64_t first = -1;
        for (const Derivative& derivative : factor.derivatives) {
          const std::int64_t unknown = problem_.unknown(derivative.parameter, {0, t, f});
          if (unknown < 0) continue;
          const Operand value(factor.value), slope(derivative.value);
          double sum = 0, most = 0;
          for (std::size_t e = 0; e < factor.value.dims().size(); ++e) {
            const Complex<double> v = value.at(e, t, f), d = slope.at(e, t, f);
            sum += v.re * d.re + v.im * d.im;
            most += std::hypot(v.re, v.im) * std::hypot(d.re, d.im);
          }
          if (std::abs(sum) <= kRounding * most) continue;  // it turns phases
          if (first < 0) first = unknown;
          combination.emplace_back(problem_.place_in_group(static_cast<std::size_t>(unknown)), sum);
        }
        if (first < 0 || done[static_cast<std::size_t>(first)]) continue;
        const std::int32_t g = problem_.group_of(static_cast<std::size_t>(first));
        if (g < 0) continue;
        done[static_cast<std::size_t>(first)] = true;
        all[static_cast<std::size_t>(g)].push_back(
            {std::move(combination), occurrences[static_cast<std::size_t>(first)]});
      }
  return all;
}

/// Items of blocks [first, last) that wanted groups have, and the blocks that have any.
void JonesSource::find_items(std::size_t first, std::size_t last, const std::vector<GroupEquations>& groups,
                             std::vector<Item>& items, std::vector<std::uint32_t>& blocks) const {
  for (std::size_t block = first; block < last; ++block) {
    const std::size_t before = items.size();
    for (std::uint32_t e = 0; e < products_.n_equation(); ++e) {
      if (!sums_.has_data[e] || !sums_.counts(e)) continue;
      const Item item = item_of(e, block);
      const std::int32_t group = problem_.group_of(item);
      if (group >= 0 && groups[static_cast<std::size_t>(group)].wanted) items.push_back(item);
    }
    if (items.size() > before) blocks.push_back(static_cast<std::uint32_t>(block));
  }
}

void JonesSource::add_to(std::vector<GroupEquations>& groups, Cancellation& cancellation) {
  products_.evaluate(cancellation);
  make_sums(cancellation);
  // Products of all antennas are in memory for some blocks at a time.
  constexpr std::size_t kMostBytes = 32u << 20;
  const auto& different = products_.different();
  const std::size_t n_product = different.size(), n_block = problem_.n_block();
  const std::size_t step = std::clamp<std::size_t>(kMostBytes / (1 + products_.bytes_of_a_block()), 1, n_block);
  std::vector<JonesProduct> products(std::min(step, n_block) * n_product);  // [block, product]
  for (std::size_t first = 0; first < n_block; first += step) {
    std::vector<Item> items;
    std::vector<std::uint32_t> blocks;
    find_items(first, std::min(first + step, n_block), groups, items, blocks);
    evaluator_.thread_pool().parallel_for(
        blocks.size() * n_product, 64,
        [&](std::size_t begin, std::size_t end, int) {
          for (std::size_t k = begin; k < end; ++k) {
            const std::size_t block = blocks[k / n_product], number = k % n_product;
            products[(block - first) * n_product + number] = products_.product(different[number], item_of(0, block));
          }
        },
        &cancellation);
    assemble(
        problem_, items,
        [&](const Item& item, Contribution& contribution) {
          contribute(products_, sums_, errors_, item, &products[(sums_.block_of(item) - first) * n_product],
                     contribution);
        },
        groups, evaluator_.thread_pool(), cancellation);
  }
}

void JonesSource::add_exact_chi_square(std::vector<GroupEquations>& groups, Cancellation& cancellation) {
  products_.evaluate(cancellation);
  sweep_.run(JonesSweep::What::exact, errors_, cancellation);
  for (const Item& item : sums_.items()) {
    const std::int32_t g = problem_.group_of(item);
    for (std::size_t element = 0; g >= 0 && element < products_.n_element(); ++element)
      groups[static_cast<std::size_t>(g)].equations.chi_square +=
          sums_.scalars(sums_.block_of(item), item.equation, element).chi_square;
  }
  summed_ = false;  // what follows would begin anew
}

std::vector<double> JonesSource::approach(std::vector<double>& values, Cancellation& cancellation) {
  if (errors_.degrees_of_freedom > 0) return {};
  bool diagonal = true, full = true;
  for (std::size_t e = 0; e < products_.n_equation(); ++e) {
    const JonesModel& model = products_.model(e);
    const auto is_whole = [](const JonesTerm& term) { return term.elements.empty(); };
    diagonal = diagonal && model.diagonal && products_.n_basis(e) <= 1;
    full = full && !model.diagonal && products_.n_basis(e) == 4 && model.n_element == 4 &&
           std::all_of(model.terms.begin(), model.terms.end(), is_whole);
  }
  if (!diagonal && !full) return {};
  make_sums(cancellation);
  // A chain has no rows that are numbers; one of diagonal matrices is found number by number, whatever the model is.
  std::vector<double> found;
  if (full) found = alternate_matrices(problem_, products_, sums_, values, cancellation);
  return found.empty() ? alternate(problem_, products_, sums_, values, cancellation) : found;
}

}  // namespace rimetree::solve
