#include "runtime/solve/jones/jones_products.h"

#include <algorithm>
#include <map>

#include "runtime/solve/equations/generic_source.h"
#include "runtime/solve/equations/operand.h"

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

std::size_t most_elements(const std::vector<JonesModel>& models) {
  std::size_t most = 0;
  for (const JonesModel& model : models) most = std::max(most, model.n_element);
  return most;
}

/// Rows of the matrices that terms are products of.
std::size_t rows_of_matrices(const Forest& forest, const std::vector<JonesModel>& models) {
  const auto is_number = [&](int factor) { return forest.node(factor).dims().is_scalar(); };
  for (const JonesModel& model : models)
    for (const JonesTerm& term : model.terms)
      if (term.shape == TensorShape{2, 2} || !std::all_of(term.left.begin(), term.left.end(), is_number) ||
          !std::all_of(term.right.begin(), term.right.end(), is_number))
        return 2;
  return 1;
}

}  // namespace

JonesProducts::JonesProducts(ModelForest forest, const Problem& problem, const Request& whole,
                             std::vector<JonesModel> models)
    : forest_(forest),
      problem_(problem),
      request_(whole),
      models_(std::move(models)),
      n_element_(most_elements(models_)),
      n_feed_(rows_of_matrices(forest.get(), models_)),
      factors_(forest.get().size()) {
  request_.derivatives = true;
  request_.verify = 0;
  request_.tile = nullptr;
  request_.cells = block_cells(*whole.cells, problem);
  for (const JonesModel& model : models_) {
    n_basis_.push_back(n_solvable(model) * n_basis_of_term(n_basis_.size()));
    for (const JonesTerm& term : model.terms)
      for (const auto* factors : {&term.left, &term.right})
        factor_nodes_.insert(factor_nodes_.end(), factors->begin(), factors->end());
  }
  std::sort(factor_nodes_.begin(), factor_nodes_.end());
  factor_nodes_.erase(std::unique(factor_nodes_.begin(), factor_nodes_.end()), factor_nodes_.end());
  find_different();
}

// Baselines share the products of their antennas.
void JonesProducts::find_different() {
  std::map<std::vector<int>, std::uint32_t> known;
  for (const JonesModel& model : models_) {
    sides_.emplace_back();
    solvable_terms_.emplace_back();
    for (const JonesTerm& term : model.terms) {
      if (!term.solvable()) continue;
      solvable_terms_.back().push_back(static_cast<std::uint32_t>(&term - model.terms.data()));
      std::array<std::uint32_t, 2> sides{};
      for (std::size_t side : {0, 1}) {
        const std::vector<int>& factors = side == 0 ? term.left : term.right;
        const auto [found, is_new] = known.try_emplace(factors, static_cast<std::uint32_t>(different_.size()));
        if (is_new) different_.push_back(factors);
        sides[side] = found->second;
      }
      sides_.back().push_back(sides);
    }
  }
}

bool JonesProducts::evaluate(Cancellation& cancellation) {
  const auto results = forest_.evaluate(request_, factor_nodes_, cancellation, Placing::on_host);
  check_failures(results);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i]->ok() || !results[i]->flags.empty()) return false;
    factors_[static_cast<std::size_t>(factor_nodes_[i])] = results[i];
  }
  return true;
}

std::size_t JonesProducts::bytes_of_a_block() const {
  std::size_t bytes = 0;
  for (const std::vector<int>& factors : different_) {
    bytes += sizeof(JonesProduct);
    for (const int node : factors)
      bytes += factor(node).derivatives.size() * sizeof(decltype(JonesProduct::derivatives)::value_type);
  }
  return bytes;
}

JonesProduct JonesProducts::product(const std::vector<int>& factors, const Item& item) const {
  using Matrix = JonesProduct::Matrix;
  const std::size_t n_feed = this->n_feed();
  const auto multiply = [n_feed](const Matrix& a, const Matrix& b) {
    Matrix c{};
    for (std::size_t i = 0; i < n_feed; ++i)
      for (std::size_t j = 0; j < n_feed; ++j)
        for (std::size_t k = 0; k < n_feed; ++k) c[i * n_feed + j] += a[i * n_feed + k] * b[k * n_feed + j];
    return c;
  };
  const auto load = [&](const Vells& values) {
    const Operand operand(values);
    Matrix m{};
    for (std::size_t e = 0; e < n_feed * n_feed; ++e)
      if (!values.dims().is_scalar() || e % (n_feed + 1) == 0)  // a scalar is that times the unit matrix
        m[e] = operand.at(e, item.time_segment, item.frequency_segment);
    return m;
  };
  JonesProduct result;
  result.value[0] = 1;
  if (n_feed == 2) result.value[3] = 1;
  for (const int node : factors) {
    const Result& factor = this->factor(node);
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

std::vector<std::array<JonesProduct, 2>> JonesProducts::by_term(const Item& item) const {
  std::vector<std::array<JonesProduct, 2>> result;
  for (const auto& [left, right] : sides_[item.equation])
    result.push_back({product(different_[left], item), product(different_[right], item)});
  return result;
}

std::vector<Complex<double>> JonesProducts::coefficients(
    const Item& item, std::size_t element, const std::vector<std::array<JonesProduct, 2>>& by_term) const {
  std::vector<Complex<double>> c;
  for (std::size_t k = 0; k < by_term.size(); ++k)
    append_coefficients(item.equation, k, element, by_term[k][0], by_term[k][1], c);
  return c;
}

void JonesProducts::append_coefficients(std::uint32_t equation, std::size_t k, std::size_t element,
                                        const JonesProduct& left, const JonesProduct& right,
                                        std::vector<Complex<double>>& c) const {
  const std::size_t n_feed = this->n_feed();
  const auto [there, own, i, j] = place(equation, k, element);
  if (!there) return c.resize(c.size() + n_basis_of_term(equation));
  if (models_[equation].diagonal) return c.push_back(left.value[i * n_feed + i] * right.value[j * n_feed + j]);
  for (std::size_t a = 0; a < n_feed; ++a)
    for (std::size_t b = 0; b < n_feed; ++b) c.push_back(left.value[i * n_feed + a] * right.value[b * n_feed + j]);
}

}  // namespace rimetree::solve
