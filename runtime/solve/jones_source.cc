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
    const std::size_t k = n_basis(e);
    first_.push_back(first_.back() + problem.n_block() * elements_ * (k + k * (k + 1) / 2));
    for (const JonesTerm& term : models_[e].terms) {
      factor_nodes_.insert(factor_nodes_.end(), term.left.begin(), term.left.end());
      factor_nodes_.insert(factor_nodes_.end(), term.right.begin(), term.right.end());
    }
  }
  std::sort(factor_nodes_.begin(), factor_nodes_.end());
  factor_nodes_.erase(std::unique(factor_nodes_.begin(), factor_nodes_.end()), factor_nodes_.end());
}

std::uint64_t JonesSource::statistics_bytes() const {
  return first_.back() * sizeof(Complex<double>) + models_.size() * problem_.n_block() * elements_ * sizeof(ScalarSums);
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

JonesSource::Products JonesSource::products(const Item& item) const {
  Products result;
  for (const JonesTerm& term : models_[item.equation].terms)
    if (term.solvable()) result.push_back({product(term.left, item), product(term.right, item)});
  return result;
}

std::vector<Complex<double>> JonesSource::coefficients(std::uint32_t equation, std::size_t element,
                                                       const Products& products) const {
  const std::size_t i = element / side_, j = element % side_;
  std::vector<Complex<double>> c;
  for (const auto& [left, right] : products) {
    if (models_[equation].diagonal) {
      c.push_back(left.value[i * side_ + i] * right.value[j * side_ + j]);
      continue;
    }
    for (std::size_t a = 0; a < side_; ++a)
      for (std::size_t b = 0; b < side_; ++b) c.push_back(left.value[i * side_ + a] * right.value[b * side_ + j]);
  }
  return c;
}

std::vector<JonesSource::Slope> JonesSource::slopes(std::uint32_t equation, std::size_t element,
                                                    const Products& products,
                                                    const std::vector<std::uint32_t>& unknowns) const {
  const std::size_t i = element / side_, j = element % side_, per_term = models_[equation].diagonal ? 1 : elements_;
  std::vector<Slope> slopes;
  std::vector<std::ptrdiff_t> slope_of(unknowns.size(), -1);
  const auto add = [&](std::uint32_t unknown, std::size_t k, Complex<double> value) {
    if (value.re == 0 && value.im == 0) return;
    const auto place =
        static_cast<std::size_t>(std::lower_bound(unknowns.begin(), unknowns.end(), unknown) - unknowns.begin());
    if (slope_of[place] < 0) {
      slope_of[place] = static_cast<std::ptrdiff_t>(slopes.size());
      slopes.push_back({place, std::vector<Complex<double>>(products.size() * per_term)});
    }
    slopes[static_cast<std::size_t>(slope_of[place])].value[k] += value;
  };
  for (std::size_t term = 0; term < products.size(); ++term) {
    const auto& [left, right] = products[term];
    const auto each = [&](const auto& body) {  // body(k, a, b): c_k = L_ia R_bj
      if (per_term == 1) return body(term, i, j);
      for (std::size_t a = 0; a < side_; ++a)
        for (std::size_t b = 0; b < side_; ++b) body(term * per_term + a * side_ + b, a, b);
    };
    for (const auto& [unknown, d] : left.derivatives)
      each([&, u = unknown, &m = d](std::size_t k, std::size_t a, std::size_t b) {
        add(u, k, m[i * side_ + a] * right.value[b * side_ + j]);
      });
    for (const auto& [unknown, d] : right.derivatives)
      each([&, u = unknown, &m = d](std::size_t k, std::size_t a, std::size_t b) {
        add(u, k, left.value[i * side_ + a] * m[b * side_ + j]);
      });
  }
  return slopes;
}

void JonesSource::contribute(const Item& item, Contribution& contribution) const {
  const Products products = this->products(item);
  std::vector<std::uint32_t> unknowns;
  for (const auto& sides : products)
    for (const Product& side : sides)
      for (const auto& [unknown, derivative] : side.derivatives) unknowns.push_back(unknown);
  std::sort(unknowns.begin(), unknowns.end());
  unknowns.erase(std::unique(unknowns.begin(), unknowns.end()), unknowns.end());
  contribution.reset(unknowns.size());
  fit::NormalEquations& to = contribution.equations;
  const std::size_t n = n_basis(item.equation);
  std::vector<Complex<double>> misfit(n), image(n);
  const auto conj_product = [n](const std::vector<Complex<double>>& a, const Complex<double>* b) {
    double sum = 0;
    for (std::size_t k = 0; k < n; ++k) sum += a[k].re * b[k].re + a[k].im * b[k].im;
    return sum;
  };
  for (std::size_t element = 0; element < elements_; ++element) {
    const ScalarSums& scalars = scalars_of(item, element);
    contribution.excluded += excluded_of(scalars);
    if (scalars.equations == 0) continue;
    const Complex<double>*b = sums_of(item, element), *h = b + n;
    const auto apply = [&](const std::vector<Complex<double>>& x, std::vector<Complex<double>>& y) {
      for (std::size_t k = 0; k < n; ++k) {
        Complex<double> sum{};
        for (std::size_t l = 0; l <= k; ++l) sum += h[k * (k + 1) / 2 + l] * x[l];
        for (std::size_t l = k + 1; l < n; ++l) sum += conj(h[l * (l + 1) / 2 + k]) * x[l];
        y[k] = sum;
      }
    };
    const std::vector<Complex<double>> c = coefficients(item.equation, element, products);
    apply(c, image);
    for (std::size_t k = 0; k < n; ++k) misfit[k] = b[k] - image[k];
    const bool robust = errors_.degrees_of_freedom > 0;
    // power - 2 Re c^H b + c^H H c; rounding may take it below zero where the fit is perfect.
    const double chi_square = robust
                                  ? scalars.chi_square
                                  : std::max(0.0, scalars.power - conj_product(c, b) - conj_product(c, misfit.data()));
    to.equations += static_cast<std::size_t>(scalars.equations);
    to.information += scalars.equations / errors_.variance_factor(complex_[item.equation] ? 2 : 1);
    to.data_power += scalars.data_power;
    to.chi_square += chi_square;
    to.objective += robust ? scalars.objective : chi_square;
    const std::vector<Slope> slopes = this->slopes(item.equation, element, products, unknowns);
    for (const Slope& slope : slopes) {
      to.gradient[slope.place] += conj_product(slope.value, misfit.data());
      apply(slope.value, image);
      for (const Slope& other : slopes)
        if (other.place <= slope.place)
          to.matrix[slope.place * to.n + other.place] += conj_product(other.value, image.data());
    }
  }
  contribution.unknowns = std::move(unknowns);
}

void JonesSource::add_to(std::vector<GroupEquations>& groups, Cancellation& cancellation) {
  evaluate_factors(cancellation);
  if (!summed_ || errors_.degrees_of_freedom > 0) sweep(Sweep::sums, cancellation);
  summed_ = true;
  assemble(
      problem_, items(), [this](const Item& item, Contribution& contribution) { contribute(item, contribution); },
      groups, evaluator_.thread_pool(), cancellation);
}

}  // namespace rimetree::solve
