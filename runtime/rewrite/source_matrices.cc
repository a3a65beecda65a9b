// Matrices that a tree has element by element: Matrix22(K XX, 0, 0, K YY), or with sums over sources as elements. What
// all elements have of phases, smearing and tapers are factors of the matrix, which then is one of products of numbers.
// Where elements have different ones each term of an element is read by itself; then those of one source are joined.
#include <algorithm>
#include <map>
#include <tuple>

#include "runtime/rewrite/source_products.h"

namespace rimetree::rewrite {

bool read_matrix(Reading& reading, int node, bool adjoint, Product& product) {
  SourceNodes& nodes = reading.nodes;
  const std::span<const int> children = nodes.children(node);
  const auto is_number = [&](int child) { return nodes.dims(child).is_scalar(); };
  if (children.size() != 4 || !(nodes.dims(node) == TensorShape{2, 2}) ||
      !std::all_of(children.begin(), children.end(), is_number))
    return reading.refuse(node, "it is no matrix of four numbers");
  const SourceTerms::Mark start = reading.found.mark();
  ProductMatrix matrix;
  Product element, first;
  bool any = false, alike = true;
  for (std::size_t e = 0; e < 4 && alike; ++e) {
    const int child = children[adjoint ? kTransposed[e] : static_cast<int>(e)];
    if (nodes.is_zero(child)) continue;
    if (!nodes.has_term(child))
      return reading.refuse(child, "it is an element without a phase of a source, and not zero");
    element.clear();
    if (!read_factors(reading, child, adjoint, element)) return false;
    if (element.sight.part != Algebra::none)
      return reading.refuse(child, "it is an element that is the real part of a term");
    alike = element.nested < 0 && (!any || element.sight == first.sight);
    if (!alike) break;
    if (!any) first = element;
    any = true;
    matrix.elements[e] = reading.found.element_of(element.negative, element.factors);
  }
  if (alike) {
    reading.sum.by_element = true;
    reading.found.add_matrix(matrix, product.factors);
    return take_sight(reading, first.sight, product);
  }
  reading.found.forget_since(start);
  return nest(reading, node, adjoint, product);
}

/// An element of a product of one matrix and numbers is that of the matrix, times the numbers.
bool read_selection(Reading& reading, int node, bool adjoint, Product& product) {
  SourceNodes& nodes = reading.nodes;
  const int child = nodes.children(node)[0];
  const State& state = nodes.state(node);
  const std::vector<std::int64_t> index = state.integers("index");
  if (!nodes.dims(node).is_scalar() || !(nodes.dims(child) == TensorShape{2, 2}) || state.boolean("multi"))
    return reading.refuse(node, "it is no element of a matrix");
  const auto e = static_cast<std::size_t>(index.size() == 2 ? 2 * index[0] + index[1] : index[0]);
  Product inner;
  if (!read_factors(reading, child, false, inner)) return false;
  if (inner.nested >= 0) return reading.refuse(node, "it selects from a sum");
  int n_matrix = 0;
  for (Factor& factor : inner.factors) {
    if (factor.matrix < 0 && nodes.dims(factor.node).is_scalar()) continue;
    if (factor.matrix >= 0 || factor.element >= 0) return reading.refuse(node, "it selects from a matrix of products");
    factor.element = static_cast<std::int8_t>(factor.adjoint ? kTransposed[e] : static_cast<int>(e));
    ++n_matrix;
  }
  if (n_matrix != 1) return reading.refuse(node, "it does not select from a product of one matrix and numbers");
  for (Factor& factor : inner.factors) factor.adjoint = factor.adjoint != adjoint;
  for (ProductSight::Phase& phase : inner.sight.phases) phase.negative = phase.negative != adjoint;
  product.factors.insert(product.factors.end(), inner.factors.begin(), inner.factors.end());
  product.negative = product.negative != inner.negative;
  return take_sight(reading, inner.sight, product);
}

void join_elements(Reading& reading, const SourceTerms::Mark& start, std::span<const ElementPlace> places) {
  using Key = std::tuple<int, int, int, decltype(SourceTerm().sight())>;
  /// The term of the first element, in which there are also the factors around the matrix.
  struct Joined {
    SourceTerm term;
    ElementPlace place;
    ProductMatrix matrix;
  };
  SourceTerms& found = reading.found;
  reading.sum.by_element = reading.sum.by_element || !places.empty();
  std::map<Key, std::vector<std::size_t>> known;
  std::vector<Joined> joined;
  const std::vector<SourceTerm> terms = found.take_terms_since(start);
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const SourceTerm& term = terms[i];
    const ElementPlace& place = places[i];
    const auto e = static_cast<std::size_t>(place.element);
    auto& alike = known[{term.lmn, term.shape, term.n_source, term.sight()}];
    const auto free = std::ranges::find_if(alike, [&](std::size_t j) { return joined[j].matrix.elements[e].is_zero; });
    const std::size_t at = free == alike.end() ? joined.size() : *free;
    if (free == alike.end()) {
      alike.push_back(at);
      joined.push_back({term, place, {}});
      joined.back().term.negative = false;
    }
    const auto n_left = static_cast<std::uint32_t>(place.n_left), n_right = static_cast<std::uint32_t>(place.n_right);
    joined[at].matrix.elements[e] = {false, term.negative, term.first + n_left, term.count - n_left - n_right};
  }
  std::vector<Factor> own;
  for (const auto& [term, place, matrix] : joined) {
    const std::span<const Factor> factors = found.factors(term);
    const auto left = factors.first(place.n_left), right = factors.last(place.n_right);
    own.assign(left.begin(), left.end());
    found.add_matrix(matrix, own);
    own.insert(own.end(), right.begin(), right.end());
    found.add(term, own);
  }
}

}  // namespace rimetree::rewrite
