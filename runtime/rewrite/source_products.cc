#include "runtime/rewrite/source_products.h"

#include <algorithm>
#include <utility>

namespace rimetree::rewrite {

namespace {

/// A conjugate transpose, by one node or by two.
bool read_adjoint(Reading& reading, int node, bool adjoint, Product& product) {
  SourceNodes& nodes = reading.nodes;
  const int child = nodes.children(node)[0];
  const Algebra own = nodes.algebra(node), below = nodes.algebra(child);
  const bool is_matrix = nodes.dims(node).rank > 1;
  const auto conjugates = [&](int one) {  // a transpose, as well
    const std::vector<StateSpec>& fields = nodes.forest().node(one).node_class().state;
    const auto is_it = [](const StateSpec& field) { return field.name == "conj"; };
    return std::any_of(fields.begin(), fields.end(), is_it) && nodes.state(one).boolean("conj");
  };
  const bool is_whole = own == Algebra::conjugate_transpose || (own == Algebra::conjugate && !is_matrix) ||
                        (own == Algebra::transpose && conjugates(node));
  if (is_whole) return read_factors(reading, child, !adjoint, product);
  if (own == Algebra::transpose && !is_matrix) return read_factors(reading, child, adjoint, product);
  const bool is_pair = (own == Algebra::conjugate && below == Algebra::transpose && !conjugates(child)) ||
                       (own == Algebra::transpose && below == Algebra::conjugate);
  if (!is_pair || nodes.is_refused(child))
    return reading.refuse(node, "it conjugates or transposes a matrix, but does not do both");
  return read_factors(reading, nodes.children(child)[0], !adjoint, product);
}

bool read_product(Reading& reading, int node, bool adjoint, Product& product) {
  SourceNodes& nodes = reading.nodes;
  const std::span<const int> children = nodes.children(node);
  const int rank = nodes.dims(node).rank;
  const bool elementwise = nodes.algebra(node) == Algebra::product;
  int matrices = 0;
  for (const int child : children) {
    const int own = nodes.dims(child).rank;
    matrices += own >= 2;
    if (!elementwise && own == 1 && rank != 3) return reading.refuse(node, "it multiplies vectors");
  }
  if (elementwise && matrices > 1) return reading.refuse(node, "it multiplies matrices element by element");
  for (std::size_t i = 0; i < children.size(); ++i)
    if (!read_factors(reading, children[adjoint ? children.size() - 1 - i : i], adjoint, product)) return false;
  return true;
}

bool read_phase(Reading& reading, int node, bool adjoint, Product& product) {
  note_left_out(reading, node);
  product.sight.phases.push_back({reading.nodes.children(node)[1], adjoint});
  return take_direction(reading, node, product);
}

/// Numbers divide, one for all elements or one for each source; or phases, whose inverses are their conjugates.
bool read_quotient(Reading& reading, int node, bool adjoint, Product& product) {
  SourceNodes& nodes = reading.nodes;
  const std::span<const int> children = nodes.children(node);
  const int divisor = children[1];
  if (nodes.has_term(divisor) && nodes.algebra(divisor) != Algebra::phase)
    return reading.refuse(node, "it divides by a term of a source");
  if (nodes.is_refused(divisor)) return reading.refuse(divisor, kMustBeAsWritten);
  if (nodes.dims(divisor).rank > 1) return reading.refuse(node, "it divides by a matrix, element by element");
  if (nodes.has_term(divisor))
    return read_phase(reading, divisor, !adjoint, product) && read_factors(reading, children[0], adjoint, product);
  product.factors.push_back({divisor, adjoint, true});
  return read_factors(reading, children[0], adjoint, product);
}

}  // namespace

void Product::clear() {
  Product empty;
  empty.factors = std::move(factors);
  empty.sight.phases = std::move(sight.phases);
  empty.factors.clear();
  empty.sight.phases.clear();
  *this = std::move(empty);
}

bool read_factors(Reading& reading, int node, bool adjoint, Product& product) {
  SourceNodes& nodes = reading.nodes;
  const std::span<const int> children = nodes.children(node);
  if (nodes.is_refused_factor(node)) return reading.refuse(node, kMustBeAsWritten);
  const bool is_number = !nodes.has_term(node) || (nodes.has_parts_only(node) && !product.takes_parts);
  if (is_number) {
    // A number's conjugate is the number: so a station's gain is one factor, wherever it stands.
    if (nodes.is_of_one_term(node)) return read_product(reading, node, adjoint, product);
    if (nodes.algebra(node) == Algebra::conjugate_transpose && !nodes.is_refused(children[0]) &&
        nodes.is_of_one_term(children[0]))
      return read_product(reading, children[0], !adjoint, product);
    const bool is_conjugate =
        nodes.algebra(node) == Algebra::conjugate || nodes.algebra(node) == Algebra::conjugate_transpose;
    if (is_conjugate && nodes.dims(node).is_scalar() && !nodes.is_refused(children[0]))
      product.factors.push_back({children[0], !adjoint, false});
    else
      product.factors.push_back({node, adjoint, false});
    return true;
  }
  switch (nodes.algebra(node)) {
    case Algebra::phase:
      return read_phase(reading, node, adjoint, product);
    case Algebra::smearing:
      return read_smearing(reading, node, product);
    case Algebra::real_part:
    case Algebra::imaginary_part:
      return read_part(reading, node, product);
    case Algebra::taper:
      return take_loss(reading, kTaper, node, product);
    case Algebra::identity:
      return read_factors(reading, children[0], adjoint, product);
    case Algebra::negation:
      product.negative = !product.negative;
      return read_factors(reading, children[0], adjoint, product);
    case Algebra::conjugate:
    case Algebra::transpose:
    case Algebra::conjugate_transpose:
      return read_adjoint(reading, node, adjoint, product);
    case Algebra::product:
    case Algebra::matrix_product:
      return read_product(reading, node, adjoint, product);
    case Algebra::quotient:
      return read_quotient(reading, node, adjoint, product);
    case Algebra::composition:
      return read_matrix(reading, node, adjoint, product);
    case Algebra::selection:
      return read_selection(reading, node, adjoint, product);
    case Algebra::sum:
    case Algebra::difference:
    case Algebra::reduction:
      return nest(reading, node, adjoint, product);
    default:
      return reading.refuse(node, "it is no factor of a sum over sources");
  }
}

bool nest(Reading& reading, int node, bool adjoint, Product& product) {
  if (product.nested >= 0) return reading.refuse(node, "it is a sum in a product with another sum");
  product.nested = node;
  product.nested_at = product.factors.size();
  product.nested_adjoint = adjoint;
  return true;
}

bool take_direction(Reading& reading, int node, Product& product) {
  const int lmn = reading.nodes.children(node)[0];
  const auto n_minus = static_cast<int>(reading.nodes.state(node).integer("n_minus"));
  ProductSight& sight = product.sight;
  if (sight.lmn >= 0 && sight.lmn != lmn) return reading.refuse(node, "a product has phases of two directions");
  if (sight.n_minus >= 0 && sight.n_minus != n_minus)
    return reading.refuse(node, "a product has two values of n_minus");
  sight.lmn = lmn;
  sight.n_minus = n_minus;
  return true;
}

bool take_sight(Reading& reading, const ProductSight& from, Product& product) {
  static_assert(kLosses == 3, "a kind of loss that is not taken here would be lost");
  ProductSight& own = product.sight;
  const auto take = [&](Loss loss) { return take_loss(reading, loss, from.losses[loss], product); };
  own.phases.insert(own.phases.end(), from.phases.begin(), from.phases.end());
  if (from.lmn >= 0 && own.lmn >= 0 && from.lmn != own.lmn)
    return reading.refuse(own.lmn, "a product has phases of two directions");
  if (from.n_minus >= 0 && own.n_minus >= 0 && from.n_minus != own.n_minus)
    return reading.refuse(reading.sum.root, "a product has two values of n_minus");
  own.lmn = std::max(own.lmn, from.lmn);
  own.n_minus = std::max(own.n_minus, from.n_minus);
  if (!take(kTaper)) return false;
  const bool any_part = from.part != Algebra::none || own.part != Algebra::none;
  if (any_part && !from.phases.empty() && own.phases.size() > from.phases.size())
    return reading.refuse(reading.sum.root, "a product has a phase beside the real part of another one");
  if (from.part != Algebra::none) own.part = from.part;
  return take(kOverExposures) && take(kOverChannels);
}

bool put_into(Reading& reading, const Product& outer, Product& product) {
  const auto at = static_cast<std::ptrdiff_t>(outer.nested_at);
  product.factors.insert(product.factors.begin(), outer.factors.begin(), outer.factors.begin() + at);
  product.factors.insert(product.factors.end(), outer.factors.begin() + at, outer.factors.end());
  product.nested_at += outer.nested_at;
  product.place = outer.place;
  return take_sight(reading, outer.sight, product);
}

}  // namespace rimetree::rewrite
