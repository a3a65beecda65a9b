#include "runtime/rewrite/term_reader.h"

#include <algorithm>
#include <utility>

#include "runtime/rewrite/new_nodes.h"

namespace rimetree::rewrite {

namespace {

/// Sums of so few terms are multiplied out where a product of them is a term of another sum. Of larger ones the
/// product is formed once, after them.
constexpr int kMostMultipliedOut = 16;

/// With more directions products are no sums of their own: a node for each source takes longer than its arithmetic.
constexpr std::size_t kMostAlone = 16;

}  // namespace

/// What a sum is made from is needed; what is between is not, unless others need it.
void TermReader::read(std::span<const int> roots) {
  const Forest& forest = nodes_.forest();
  std::vector<bool> needed(forest.size());
  const auto need = [&](int node) {
    if (node >= 0) needed[static_cast<std::size_t>(node)] = true;
  };
  for (const int root : roots) need(root);
  const std::vector<int>& order = forest.order();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const int node = *it;
    if (!needed[static_cast<std::size_t>(node)]) continue;
    if (!nodes_.has_term(node) || nodes_.is_refused(node) || !read_sum(node)) {
      for (const int child : forest.children(node)) need(child);
      continue;
    }
    const SourceSum& sum = found_.sums().back();
    for (const int one : sum.rest) need(one);
    for (const SourceTerm& term : found_.terms(sum)) {
      for (const int one : {term.lmn, term.shape, term.uvw, term.minus_uvw}) need(one);
      found_.for_each_node(term, need);
    }
  }
}

bool TermReader::read_sum(int root) {
  const TensorShape& dims = nodes_.dims(root);
  const bool is_matrix = dims == TensorShape{2, 2};
  const Algebra kind = nodes_.algebra(root);
  const bool by_element = kind == Algebra::composition;
  const bool sums = is_sum(kind) || (by_element && nodes_.holds_sum(root));
  if (!is_matrix && !(dims.is_scalar() && sums)) return false;
  const bool alone = kind == Algebra::product || kind == Algebra::matrix_product || by_element;
  if (!sums && (!alone || nodes_.n_direction() > kMostAlone)) return false;
  const SourceTerms::Mark start = found_.mark();
  SourceSum& sum = reading_.sum = {};
  sum.root = root;
  sum.is_reduction = kind == Algebra::reduction;
  sum.first_term = static_cast<std::uint32_t>(start.terms);
  reading_.obstacle = {root, -1, ""};
  if (kind == Algebra::sum) {
    read_parts(root);
  } else if (!(sums ? read_terms(root, false, {}) : read_term(root, false, {}))) {
    found_.forget_since(start);
  }
  // One node that sums sources, and what is no source: there is nothing to take together.
  const std::span<const SourceTerm> terms = found_.terms_since(start);
  if (terms.size() == 1 && terms[0].written >= 0) {
    found_.forget_since(start);
    return false;
  }
  if (sums && reading_.obstacle.node >= 0) found_.add(reading_.obstacle);
  sum.n_term = static_cast<std::uint32_t>(terms.size());
  if (sum.n_term == 0) return false;
  found_.add(std::move(sum));
  return true;
}

/// The terms of a sum of which some may be no terms. Python's sum() begins with zero.
void TermReader::read_parts(int node) {
  for (const int child : nodes_.children(node)) {
    if (leaves_out(child)) continue;
    const bool alike = nodes_.dims(child) == nodes_.dims(node);
    if (alike && nodes_.has_term(child) && !nodes_.is_refused(child)) {
      if (nodes_.algebra(child) == Algebra::sum) {
        read_parts(child);
        continue;
      }
      const SourceTerms::Mark start = found_.mark();
      if (read_terms(child, false, {})) continue;
      found_.forget_since(start);
    } else {
      const bool by_itself = nodes_.algebra(child) == Algebra::source_sum;
      refuse(child, !alike      ? "its dimensions are not those of the sum"
                    : by_itself ? "it sums several sources, or is read by others, and is taken by itself"
                                : "it holds no phase of a source");
    }
    reading_.sum.rest.push_back(child);
  }
}

/// Reads a node as a sum of terms, all of it.
bool TermReader::read_terms(int node, bool negative, const Around& around) {
  if (!nodes_.has_term(node)) return refuse(node, "it holds no phase of a source");
  if (nodes_.is_refused(node)) return refuse(node, kMustBeAsWritten);
  const std::span<const int> children = nodes_.children(node);
  const auto read_all = [&](bool alternate, const Around& inner) {
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (leaves_out(children[i])) continue;
      if (!(nodes_.dims(children[i]) == nodes_.dims(node)))
        return refuse(children[i], "its dimensions are not those of the sum");
      if (!read_terms(children[i], negative != (alternate && i == 1), inner)) return false;
    }
    return true;
  };
  switch (nodes_.algebra(node)) {
    case Algebra::identity:
      return read_terms(children[0], negative, around);
    case Algebra::negation:
      return read_terms(children[0], !negative, around);
    case Algebra::sum:
      return read_all(false, around);
    case Algebra::difference: {
      Around inside = around;
      inside.in_difference = true;
      return read_all(true, inside);
    }
    case Algebra::reduction:
      return read_reduction(node, negative, around);
    case Algebra::source_sum:
      return read_source_sum(node, negative, around);
    default:
      return read_term(node, negative, around);
  }
}

/// A sum over the first dimension of a stack. It leaves out what is flagged, as nothing else does: so it is not taken
/// as a part of something else, but for elements of a matrix, which are taken only if nothing is flagged.
bool TermReader::read_reduction(int node, bool negative, const Around& around) {
  const bool is_element = around.element >= 0 || (around.outer != nullptr && around.outer->place.element >= 0);
  if (kind_of_sum() != Algebra::reduction && !is_element) return refuse(node, "it is a sum of its own, over a stack");
  const State& state = nodes_.state(node);
  const std::span<const int> children = nodes_.children(node);
  const TensorShape& dims = nodes_.dims(children[0]);
  if (around.stack > 0) return refuse(node, "it is a sum within a stack");
  if (!state.text_list("reduction_axes").empty()) return refuse(node, "it sums over cells");
  if (state.integer("tensor_axis") != 0 || (dims.rank != 3 && dims.rank != 1))
    return refuse(node, "it is no sum over the first dimension of a stack");
  for (const int child : children) {
    Around inner = around;
    inner.stack = dims[0];
    const bool is_list = nodes_.algebra(child) == Algebra::composition;
    const std::vector<int> one{child};
    for (const int part : is_list ? nodes_.children(child) : one) {
      const TensorShape& own = nodes_.dims(part);
      if (is_list) inner.stack = 0;
      if (is_list && !(own == nodes_.dims(node))) return refuse(part, "it is no element of a stack of terms");
      if (!read_terms(part, negative, inner)) return false;
    }
  }
  return true;
}

bool TermReader::read_term(int node, bool negative, const Around& around) {
  Product product = std::move(spare_);
  product.clear();
  product.negative = negative;
  product.takes_parts = !nodes_.has_phase(node);
  bool good = read_factors(reading_, node, around.adjoint, product);
  const bool too_long = good && is_too_long(product, around);
  if (good && around.outer != nullptr) good = put_into(reading_, *around.outer, product);
  if (around.element >= 0) {
    const std::size_t n_left = around.outer->nested_at;
    product.place = {around.element, n_left, around.outer->factors.size() - n_left};
  }
  if (good && product.nested < 0) {
    const std::optional<SourceTerm> term = term_of(reading_, product, around.stack);
    good = term.has_value();
    if (good) found_.add(*term, product.factors);
    if (good && product.place.element >= 0) places_.push_back(product.place);
  } else if (good) {
    const bool is_term = is_sum(kind_of_sum()) || kind_of_sum() == Algebra::composition;
    const Around inside{.outer = &product, .adjoint = product.nested_adjoint, .stack = around.stack};
    if (!is_term || too_long)
      good = refuse(is_term ? product.nested : -1, "it is a long sum within a product, and is taken by itself");
    else if (nodes_.algebra(product.nested) == Algebra::composition)
      good = read_elements(product.nested, product.negative, inside);
    else
      good = read_terms(product.nested, product.negative, inside);
  }
  spare_ = std::move(product);
  return good;
}

/// Whether a sum in a product is too long to be multiplied out. It need not be where there is nothing else in the
/// product, nor in an element of the matrix that is replaced: what all its terms have in common stays outside of it.
bool TermReader::is_too_long(const Product& product, const Around& around) const {
  if (product.nested < 0 || nodes_.n_term(product.nested) <= kMostMultipliedOut) return false;
  const bool of_whole = around.element >= 0 && kind_of_sum() == Algebra::composition;
  return !(around.outer == nullptr ? product.is_bare() : of_whole && around.outer->is_bare());
}

/// A node that sums sources, of one source.
bool TermReader::read_source_sum(int node, bool negative, const Around& around) {
  if (around.outer != nullptr || around.stack > 0) return refuse(node, "it sums sources within a product or a stack");
  const std::span<const int> children = nodes_.children(node);
  for (const int child : children)
    if (child >= 0 && nodes_.is_refused_factor(child)) return refuse(child, kMustBeAsWritten);
  const TensorShape& lmn = nodes_.dims(children[kLmnSlot]);
  const TensorShape& uvw = nodes_.dims(children[kUvwSlot]);
  const State& state = nodes_.state(node);
  SourceTerm term;
  term.written = node;
  term.in_difference = around.in_difference;
  term.lmn = children[kLmnSlot];
  term.uvw = children[kUvwSlot];
  term.shape = children.size() > kShapeSlot ? children[kShapeSlot] : -1;
  term.n_source = lmn.rank == 2 ? lmn[0] : 0;
  term.n_minus = static_cast<int>(state.integer("n_minus"));
  term.smears = uvw.rank == 2;
  term.smear_time = term.smears && state.boolean("smear_time");
  term.smear_frequency = term.smears && state.boolean("smear_frequency");
  if (term.smear_time) term.time_width_s = width_of(state, "time_width_s");
  if (term.smear_frequency) term.freq_width_hz = width_of(state, "freq_width_hz");
  term.negative = negative;
  Product product;
  product.sight.lmn = term.lmn;
  product.factors.push_back(Factor{children[kBrightnessSlot]});
  for (std::size_t i = kFirstJonesSlot; i < children.size(); ++i)
    product.factors.insert((i - kFirstJonesSlot) % 2 == 0 ? product.factors.begin() : product.factors.end(),
                           Factor{children[i]});
  if (!fits(reading_, product, term.n_source)) return false;
  if (term.shape >= 0 && nodes_.dims(term.shape).rank != lmn.rank)
    return refuse(term.shape, "it is not one shape for each source");
  found_.add(term, product.factors);
  return true;
}

/// The terms of a matrix whose elements have different phases, or are sums.
bool TermReader::read_elements(int node, bool negative, const Around& around) {
  const std::span<const int> children = nodes_.children(node);
  const SourceTerms::Mark start = found_.mark();
  places_.clear();
  for (int e = 0; e < 4; ++e) {
    const int child = children[around.adjoint ? kTransposed[e] : e];
    if (nodes_.is_zero(child)) continue;
    if (!nodes_.has_term(child)) return refuse(child, "it is an element without a phase of a source, and not zero");
    Around inside = around;
    inside.element = e;
    if (!read_terms(child, negative, inside)) return false;
  }
  join_elements(reading_, start, places_);
  return true;
}

}  // namespace rimetree::rewrite
