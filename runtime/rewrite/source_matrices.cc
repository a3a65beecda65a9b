// Matrices that a tree has element by element: Matrix22(K XX, 0, 0, K YY), or with sums over sources as elements. What
// all elements have of phases, smearing and tapers are factors of the matrix, which then is one of products of numbers.
// Where elements have different ones each term of an element is read by itself; then those of one source are joined.
#include <algorithm>
#include <map>
#include <tuple>

#include "runtime/rewrite/source_terms.h"

namespace rimetree::rewrite {

namespace {

constexpr int kTransposed[] = {0, 2, 1, 3};

bool is_identity(const ProductMatrix& matrix) {
  const auto& all = matrix.elements;
  const auto is_one = [](const ProductMatrix::Element& e) { return !e.is_zero && !e.negative && e.count == 0; };
  return is_one(all[0]) && is_one(all[3]) && all[1].is_zero && all[2].is_zero;
}

}  // namespace

/// Whether a node is zero on all cells. It has to be looked at again when its state changes.
bool TermReader::is_zero(int node) {
  if (!is_constant_zero(forest_, node) || forest_.node(node).traits().varies_along != kNoAxes) return false;
  if (read_states_.empty() || read_states_.back() != node) read_states_.push_back(node);
  return true;
}

bool TermReader::read_matrix(int node, bool adjoint, Product& product) {
  const std::span<const int> children = forest_.children(node);
  const auto is_number = [this](int child) { return forest_.node(child).dims().is_scalar(); };
  if (children.size() != 4 || !(forest_.node(node).dims() == TensorShape{2, 2}) ||
      !std::all_of(children.begin(), children.end(), is_number))
    return refuse(node, "it is no matrix of four numbers");
  const Mark start = mark();
  ProductMatrix matrix;
  Product first;
  bool any = false, alike = true;
  for (std::size_t e = 0; e < 4 && alike; ++e) {
    const int child = children[adjoint ? kTransposed[e] : static_cast<int>(e)];
    if (is_zero(child)) continue;
    if (!has_term_[child]) return refuse(child, "it is an element without a phase of a source, and not zero");
    element_.clear();
    if (!read_factors(child, adjoint, element_)) return false;
    if (element_.part != Algebra::none) return refuse(child, "it is an element that is the real part of a term");
    const auto& phases = element_.phases;
    alike = element_.nested < 0 &&
            (!any || (element_.lmn == first.lmn && element_.n_minus == first.n_minus &&
                      element_.smearing == first.smearing && element_.taper == first.taper && phases == first.phases));
    if (!alike) break;
    if (!any) first = element_;
    any = true;
    matrix.elements[e] = {false, element_.negative, static_cast<std::uint32_t>(factors_.size()),
                          static_cast<std::uint32_t>(element_.factors.size())};
    factors_.insert(factors_.end(), element_.factors.begin(), element_.factors.end());
  }
  if (alike) {
    add_matrix(matrix, product.factors);
    return take_place(first, product);
  }
  forget_since(start);
  if (product.nested >= 0) return refuse(node, "it is a sum in a product with another sum");
  product.nested = node;
  product.nested_at = product.factors.size();
  product.nested_adjoint = adjoint;
  return true;
}

/// An element of a product of one matrix and numbers is that of the matrix, times the numbers.
bool TermReader::read_selection(int node, bool adjoint, Product& product) {
  const int child = forest_.children(node)[0];
  const State& state = forest_.node(node).state();
  const std::vector<std::int64_t> index = state.integers("index");
  if (!forest_.node(node).dims().is_scalar() || !(forest_.node(child).dims() == TensorShape{2, 2}) ||
      state.boolean("multi"))
    return refuse(node, "it is no element of a matrix");
  const auto e = static_cast<std::size_t>(index.size() == 2 ? 2 * index[0] + index[1] : index[0]);
  Product inner;
  if (!read_factors(child, false, inner)) return false;
  if (inner.nested >= 0) return refuse(node, "it selects from a sum");
  int n_matrix = 0;
  for (Factor& factor : inner.factors) {
    if (factor.matrix < 0 && forest_.node(factor.node).dims().is_scalar()) continue;
    if (factor.matrix >= 0 || factor.element >= 0) return refuse(node, "it selects from a matrix of products");
    factor.element = static_cast<std::int8_t>(factor.adjoint ? kTransposed[e] : static_cast<int>(e));
    ++n_matrix;
  }
  if (n_matrix != 1) return refuse(node, "it does not select from a product of one matrix and numbers");
  for (Factor& factor : inner.factors) factor.adjoint = factor.adjoint != adjoint;
  for (Product::Phase& phase : inner.phases) phase.negative = phase.negative != adjoint;
  product.factors.insert(product.factors.end(), inner.factors.begin(), inner.factors.end());
  product.negative = product.negative != inner.negative;
  return take_place(inner, product);
}

void TermReader::add_matrix(const ProductMatrix& matrix, std::vector<Factor>& factors) {
  by_element_ = true;
  if (is_identity(matrix)) return;
  factors.push_back({.matrix = static_cast<int>(matrices_.size())});
  matrices_.push_back(matrix);
}

/// The terms of a matrix whose elements have different phases, or are sums.
bool TermReader::read_elements(int node, bool negative, const Around& around) {
  const std::span<const int> children = forest_.children(node);
  const std::size_t first_term = terms_.size();
  places_.clear();
  for (int e = 0; e < 4; ++e) {
    const int child = children[around.adjoint ? kTransposed[e] : e];
    if (is_zero(child)) continue;
    if (!has_term_[child]) return refuse(child, "it is an element without a phase of a source, and not zero");
    Around inside = around;
    inside.element = e;
    if (!read_terms(child, negative, inside)) return false;
  }
  join_elements(first_term);
  return true;
}

/// One term for those of a source that are of different elements.
void TermReader::join_elements(std::size_t first_term) {
  using Key = std::tuple<int, int, int, decltype(SourceTerm().sight())>;
  std::map<Key, std::vector<std::size_t>> known;
  std::vector<SourceTerm> joined;
  std::vector<ProductMatrix> matrices;
  std::vector<Place> places;
  for (std::size_t i = first_term; i < terms_.size(); ++i) {
    const SourceTerm& term = terms_[i];
    const Place& place = places_[i - first_term];
    const auto e = static_cast<std::size_t>(place.element);
    auto& alike = known[{term.lmn, term.shape, term.n_source, term.sight()}];
    const auto free =
        std::find_if(alike.begin(), alike.end(), [&](std::size_t j) { return matrices[j].elements[e].is_zero; });
    const std::size_t at = free == alike.end() ? joined.size() : *free;
    if (free == alike.end()) {
      alike.push_back(at);
      joined.push_back(term);
      joined.back().negative = false;
      matrices.emplace_back();
      places.push_back(place);
    }
    const auto n_left = static_cast<std::uint32_t>(place.n_left), n_right = static_cast<std::uint32_t>(place.n_right);
    matrices[at].elements[e] = {false, term.negative, term.first + n_left, term.count - n_left - n_right};
  }
  terms_.resize(first_term);
  std::vector<Factor> own;
  for (std::size_t j = 0; j < joined.size(); ++j) {
    SourceTerm& term = joined[j];
    const auto begin = factors_.begin() + term.first, end = begin + term.count;
    own.assign(begin, begin + static_cast<std::ptrdiff_t>(places[j].n_left));
    add_matrix(matrices[j], own);
    own.insert(own.end(), end - static_cast<std::ptrdiff_t>(places[j].n_right), end);
    term.first = static_cast<std::uint32_t>(factors_.size());
    term.count = static_cast<std::uint32_t>(own.size());
    factors_.insert(factors_.end(), own.begin(), own.end());
    terms_.push_back(term);
  }
}

}  // namespace rimetree::rewrite
