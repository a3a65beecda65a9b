#include "runtime/solve/jones_source.h"

#include <algorithm>

#include "runtime/solve/generic_source.h"
#include "runtime/solve/operand.h"

namespace rimetree::solve {

namespace {

/// One cell for each block: the first of each segment.
std::shared_ptr<const Cells> block_cells(const Cells& cells, const Problem& problem) {
  const auto picked = [&](Axis axis, const Segments& segments) {
    AxisGrid grid;
    if (!cells.has(axis)) return grid;
    for (std::size_t i = 0; i < segments.size(); ++i) {
      grid.centre.push_back(cells.axis(axis).centre[segments.begin[i]]);
      grid.width.push_back(cells.axis(axis).width[segments.begin[i]]);
    }
    return grid;
  };
  return std::make_shared<const Cells>(Cells::time_frequency(picked(Axis::time, problem.time_segments()),
                                                             picked(Axis::frequency, problem.frequency_segments())));
}

std::size_t n_solvable(const JonesModel& model) {
  return static_cast<std::size_t>(
      std::count_if(model.terms.begin(), model.terms.end(), [](const JonesTerm& term) { return term.solvable(); }));
}

}  // namespace

std::unique_ptr<JonesSource> JonesSource::recognise(Evaluator& evaluator, Problem& problem, RequestParts& parts,
                                                    ErrorModel errors, Cancellation& cancellation) {
  const Forest& forest = evaluator.forest();
  const Request& request = parts.whole();
  const CellShape& cells = request.cells->shape();
  if (cells[Axis::l] != 1 || cells[Axis::m] != 1) return nullptr;
  std::vector<JonesModel> models;
  for (const Equation& equation : problem.equations) {
    const bool fixed = (forest.dependencies(equation.data) & kSolvable) == 0 &&
                       (equation.weight < 0 || (forest.dependencies(equation.weight) & kSolvable) == 0);
    auto model = jones_model(forest, equation.model);
    if (!fixed || !model) return nullptr;
    if (!(forest.node(equation.model).dims() == forest.node(problem.equations[0].model).dims()) ||
        !(forest.node(equation.condeq).dims() == forest.node(equation.model).dims()))
      return nullptr;
    models.push_back(std::move(*model));
  }
  // Where nothing is to be solved for on any baseline, there is nothing to recognise.
  if (std::none_of(models.begin(), models.end(), [](const auto& model) { return n_solvable(model) > 0; }))
    return nullptr;
  problem.divide(*request.cells, varies_within_tiles(forest, problem, models));
  std::unique_ptr<JonesSource> source(new JonesSource(evaluator, problem, parts, errors, std::move(models)));
  if (source->statistics_bytes() <= evaluator.memory_budget() / 2 && source->evaluate_factors(cancellation))
    return source;
  problem.divide(*request.cells, {false, false});
  return nullptr;
}

JonesSource::JonesSource(Evaluator& evaluator, Problem& problem, RequestParts& parts, ErrorModel errors,
                         std::vector<JonesModel> models)
    : evaluator_(evaluator),
      problem_(problem),
      parts_(parts),
      factor_request_(parts.whole()),
      errors_(errors),
      models_(std::move(models)),
      elements_(evaluator.forest().node(problem.equations[0].model).dims().size()),
      side_(elements_ == 1 ? 1 : 2),
      factors_(evaluator.forest().size()),
      has_data_(models_.size(), 0),
      complex_(models_.size(), 0) {
  factor_request_.derivatives = true;
  factor_request_.verify = 0;
  factor_request_.tile = nullptr;
  factor_request_.cells = block_cells(*parts.whole().cells, problem);
  first_.push_back(0);
  for (std::uint32_t e = 0; e < models_.size(); ++e) {
    const JonesModel& model = models_[e];
    const std::size_t k = n_solvable(model) * (model.diagonal ? 1 : elements_);
    n_basis_.push_back(k);
    first_.push_back(first_.back() + elements_ * (k + k * (k + 1) / 2));
    for (const JonesTerm& term : models_[e].terms) {
      factor_nodes_.insert(factor_nodes_.end(), term.left.begin(), term.left.end());
      factor_nodes_.insert(factor_nodes_.end(), term.right.begin(), term.right.end());
    }
  }
  std::sort(factor_nodes_.begin(), factor_nodes_.end());
  factor_nodes_.erase(std::unique(factor_nodes_.begin(), factor_nodes_.end()), factor_nodes_.end());
  find_products();
}

std::uint64_t JonesSource::statistics_bytes() const {
  return problem_.n_block() *
         (first_.back() * sizeof(Complex<double>) + models_.size() * elements_ * sizeof(ScalarSums));
}

std::string JonesSource::method() const {
  std::size_t terms = 0;
  bool diagonal = true;
  for (const JonesModel& model : models_) {
    terms = std::max(terms, n_solvable(model));
    diagonal = diagonal && model.diagonal;
  }
  return "sums over the data for " + std::to_string(terms) +
         (side_ == 1 ? " scalar"
          : diagonal ? " diagonal"
                     : " full") +
         (terms == 1 ? " Jones term" : " Jones terms") + ", " + std::to_string(problem_.time_segments().size()) +
         " x " + std::to_string(problem_.frequency_segments().size()) + " blocks";
}

std::vector<std::vector<bool>> JonesSource::unknowns_of_terms() const {
  // Which terms a Parm occurs in: what occurs in several is shared by them, and a term of its own.
  std::vector<int> term_of(problem_.parms.size(), -1);
  int last = 0;
  for (const JonesModel& model : models_)
    for (std::size_t t = 0; t < model.terms.size(); ++t)
      for (const auto* factors : {&model.terms[t].left, &model.terms[t].right})
        for (const int factor : *factors)
          for (const int node : solvable_below(evaluator_.forest(), factor)) {
            const int p = problem_.parm_of_node[node], term = static_cast<int>(t);
            if (p < 0) continue;
            if (term_of[p] == -1) term_of[p] = term;
            if (term_of[p] != term) term_of[p] = -2;
            last = std::max(last, term);
          }
  std::vector<std::vector<bool>> terms;
  for (int term = -2; term <= last; ++term) {
    std::vector<bool> unknowns(problem_.n_unknown(), false);
    for (std::size_t p = 0; p < problem_.parms.size(); ++p)
      if (term_of[p] == term)
        for (std::size_t k = 0; k < problem_.parms[p].tiles.n_unknown(); ++k)
          unknowns[problem_.parms[p].first_unknown + k] = true;
    if (std::find(unknowns.begin(), unknowns.end(), true) != unknowns.end()) terms.push_back(std::move(unknowns));
  }
  return terms;
}

std::vector<std::size_t> JonesSource::occurrences() const {
  constexpr std::uint32_t kNone = ~0u;
  std::vector<std::size_t> count(problem_.n_unknown(), 0);
  std::vector<std::uint32_t> last(problem_.n_unknown(), kNone);
  for (const Item& item : items()) {
    double data = 0;
    for (std::size_t element = 0; element < elements_; ++element) data += scalars_of(item, element).equations;
    if (data == 0) continue;
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
  std::vector<std::vector<Essential>> all(problem_.n_group());
  const std::vector<std::size_t> occurrences = this->occurrences();
  std::vector<bool> done(problem_.n_unknown(), false);  // the norm's combination that begins with an unknown
  for (std::uint32_t t = 0; t < problem_.time_segments().size(); ++t)
    for (std::uint32_t f = 0; f < problem_.frequency_segments().size(); ++f)
      for (const int node : factor_nodes_) {
        const Result& factor = *factors_[node];
        // d|G|^2 = 2 Re sum G_e* dG_e
        fit::Combination combination;
        std::int64_t first = -1;
        for (const Derivative& derivative : factor.derivatives) {
          const std::int64_t unknown = problem_.unknown(derivative.parameter, {0, t, f});
          if (unknown < 0) continue;
          const Operand value(factor.value), slope(derivative.value);
          double sum = 0;
          for (std::size_t e = 0; e < factor.value.dims().size(); ++e) {
            const Complex<double> v = value.at(e, t, f), d = slope.at(e, t, f);
            sum += v.re * d.re + v.im * d.im;
          }
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

// False if a factor has no value or flags, which only the general way can take account of.
bool JonesSource::evaluate_factors(Cancellation& cancellation) {
  const auto results = evaluator_.evaluate_step(factor_request_, factor_nodes_, &cancellation, Placing::on_host);
  check_failures(results);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i]->ok() || !results[i]->flags.empty()) return false;
    factors_[factor_nodes_[i]] = results[i];
  }
  return true;
}

JonesSource::Product JonesSource::product(const std::vector<int>& factors, const Item& item) const {
  using Matrix = std::array<Complex<double>, 4>;
  const auto multiply = [this](const Matrix& a, const Matrix& b) {
    Matrix c{};
    for (std::size_t i = 0; i < side_; ++i)
      for (std::size_t j = 0; j < side_; ++j)
        for (std::size_t k = 0; k < side_; ++k) c[i * side_ + j] += a[i * side_ + k] * b[k * side_ + j];
    return c;
  };
  const auto load = [&](const Vells& values) {
    const Operand operand(values);
    Matrix m{};
    for (std::size_t e = 0; e < elements_; ++e)
      if (!values.dims().is_scalar() || e % (side_ + 1) == 0)  // a scalar is that times the unit matrix
        m[e] = operand.at(e, item.time_segment, item.frequency_segment);
    return m;
  };
  Product result;
  result.value[0] = 1;
  if (side_ == 2) result.value[3] = 1;
  for (const int node : factors) {
    const Result& factor = *factors_[node];
    const Matrix value = load(factor.value);
    for (auto& [unknown, derivative] : result.derivatives) derivative = multiply(derivative, value);
    for (const Derivative& derivative : factor.derivatives) {
      const std::int64_t unknown = problem_.unknown(derivative.parameter, item);
      if (unknown >= 0)
        result.derivatives.emplace_back(static_cast<std::uint32_t>(unknown),
                                        multiply(result.value, load(derivative.value)));
    }
    result.value = multiply(result.value, value);
  }
  return result;
}

}  // namespace rimetree::solve
