#include "runtime/rewrite/source_terms.h"

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

/// Whether what is below a node is still a part of a sum of products.
bool is_transparent(Algebra algebra) {
  switch (algebra) {
    case Algebra::identity:
    case Algebra::sum:
    case Algebra::difference:
    case Algebra::negation:
    case Algebra::product:
    case Algebra::quotient:
    case Algebra::conjugate:
    case Algebra::transpose:
    case Algebra::conjugate_transpose:
    case Algebra::matrix_product:
    case Algebra::reduction:
    case Algebra::composition:
    case Algebra::selection:
    case Algebra::real_part:
    case Algebra::imaginary_part:
      return true;
    default:
      return false;
  }
}

bool is_part(Algebra algebra) { return algebra == Algebra::real_part || algebra == Algebra::imaginary_part; }

bool is_sum(Algebra algebra) {
  return algebra == Algebra::sum || algebra == Algebra::difference || algebra == Algebra::reduction;
}

}  // namespace

TermReader::TermReader(const Forest& forest, const std::vector<bool>& refused,
                       std::span<const std::pair<int, LeftOut>> leaving_out)
    : forest_(forest), refused_(refused), is_real_(forest) {
  if (!leaving_out.empty()) leaves_out_.assign(forest.size(), {});
  for (const auto& [node, left_out] : leaving_out) {
    leaves_out_[node].flagged |= left_out.flagged;
    leaves_out_[node].missing |= left_out.missing;
  }
  std::vector<bool> is_direction(forest.size());
  for (const int node : forest.order()) {
    any_ = any_ || algebra(node) == Algebra::phase || algebra(node) == Algebra::source_sum;
    if (algebra(node) != Algebra::phase) continue;
    const auto lmn = static_cast<std::size_t>(forest.children(node)[0]);
    n_direction_ += !is_direction[lmn];
    is_direction[lmn] = true;
  }
  if (!any_) return;
  n_reader_.assign(forest.size(), 0);
  varies_.assign(forest.size(), kNoAxes);
  for (const int node : forest.order()) {
    AxisSet varies = forest.node(node).traits().varies_along;
    for (const int child : forest.children(node))
      if (child >= 0) {
        ++n_reader_[child];
        varies |= varies_[child];
      }
    varies_[node] = varies;
  }
  std::vector<bool> is_counted(forest.size());
  for (const int node : forest.order()) {
    if (algebra(node) != Algebra::phase && algebra(node) != Algebra::taper) continue;
    const int place = forest.children(node)[0];
    if (!may_vary_in_time(place) || is_counted[place]) continue;
    is_counted[place] = true;
    const TensorShape& dims = forest.node(place).dims();
    n_moving_ += dims.rank == 2 ? static_cast<std::size_t>(dims[0]) : 1;
  }
  has_term_.assign(forest.size(), 0);
  for (const int node : forest.order()) {
    switch (algebra(node)) {
      case Algebra::phase:
        has_term_[node] = kPhase;
        break;
      case Algebra::smearing:
      case Algebra::taper:
        has_term_[node] = kLoss;
        break;
      case Algebra::source_sum:
        // What others read as well is evaluated in any case. Stacks stay apart, as they may be known while others vary.
        if (n_term(node) == 1 && n_reader_[node] == 1) has_term_[node] = kPhase;
        break;
      default:
        if (!is_transparent(algebra(node))) break;
        for (const int child : forest.children(node))
          if (child >= 0) has_term_[node] |= has_term_[child];
        if (has_term_[node] != 0 && is_part(algebra(node))) has_term_[node] = kPart;
    }
  }
}

void TermReader::read(std::span<const int> roots) {
  needed_.assign(forest_.size(), 0);
  uses_.assign(forest_.size(), {});
  for (const int root : roots) needed_[root] = 1;
  const std::vector<int>& order = forest_.order();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const int node = *it;
    if (!needed_[node]) continue;
    if (has_term_[node] && !refused_[node] && read_sum(node)) {
      need(sums_.back());
      continue;
    }
    for (const int child : forest_.children(node))
      if (child >= 0) needed_[child] = 1;
  }
}

void TermReader::forget_since(const Mark& mark) {
  terms_.resize(mark.terms);
  factors_.resize(mark.factors);
  matrices_.resize(mark.matrices);
}

/// f(factor) of each that is a node.
template <class F>
void TermReader::for_each_factor(const SourceTerm& term, const F& f) const {
  for (const Factor& factor : factors(term)) {
    if (factor.matrix < 0) {
      f(factor);
      continue;
    }
    for (const ProductMatrix::Element& element : matrix(factor).elements)
      for (const Factor& one : factors(element)) f(one);
  }
}

/// What a sum is made from is read; what is between is not, unless others need it.
void TermReader::need(const SourceSum& sum) {
  for (const int node : sum.rest) needed_[node] = 1;
  for (const SourceTerm& term : terms(sum)) {
    for (const int node : {term.lmn, term.shape, term.uvw, term.minus_uvw})
      if (node >= 0) needed_[node] = 1;
    for_each_factor(term, [&](const Factor& factor) {
      needed_[factor.node] = 1;
      Uses& first = uses_[factor.node];
      if (first.lmn < 0) first.lmn = term.lmn;
      Uses& own = first.lmn == term.lmn ? first : more_uses_[key_of(factor.node, term.lmn)];
      own.count += own.last != sum.root;
      own.last = sum.root;
    });
  }
}

bool TermReader::refuse(int node, const char* reason) {
  obstacle_.node = node;
  obstacle_.reason = reason;
  return false;
}

bool TermReader::read_sum(int root) {
  const TensorShape& dims = forest_.node(root).dims();
  const bool is_matrix = dims == TensorShape{2, 2};
  const Algebra kind = algebra(root);
  const bool by_element = kind == Algebra::composition;
  const bool sums = is_sum(kind) || (by_element && holds_sum(root));
  if (!is_matrix && !(dims.is_scalar() && sums)) return false;
  const bool alone = kind == Algebra::product || kind == Algebra::matrix_product || by_element;
  if (!sums && (!alone || n_direction_ > kMostAlone)) return false;
  SourceSum sum;
  sum.root = root;
  sum.is_reduction = kind == Algebra::reduction;
  const Mark start = mark();
  sum.first_term = static_cast<std::uint32_t>(start.terms);
  obstacle_ = {root, -1, ""};
  by_element_ = any_leaves_out_flagged_ = any_zero_ = false;
  if (kind == Algebra::sum) {
    read_parts(root, sum);
  } else if (!(sums ? read_terms(root, false, {}) : read_term(root, false, {}))) {
    forget_since(start);
  }
  // One node that sums sources, and what is no source: there is nothing to take together.
  if (terms_.size() == sum.first_term + 1 && terms_.back().written >= 0) {
    forget_since(start);
    return false;
  }
  if (sums && obstacle_.node >= 0) obstacles_.push_back(obstacle_);
  sum.n_term = static_cast<std::uint32_t>(terms_.size()) - sum.first_term;
  sum.by_element = by_element_;
  sum.leaves_out_flagged = any_leaves_out_flagged_;
  sum.holds_zero = any_zero_;
  if (sum.n_term == 0) return false;
  sums_.push_back(std::move(sum));
  return true;
}

/// The terms of a sum of which some may be no terms. Python's sum() begins with zero.
void TermReader::read_parts(int node, SourceSum& sum) {
  for (const int child : forest_.children(node)) {
    if (leaves_out(child)) continue;
    const bool alike = forest_.node(child).dims() == forest_.node(node).dims();
    if (alike && has_term_[child] && !refused_[child]) {
      if (algebra(child) == Algebra::sum) {
        read_parts(child, sum);
        continue;
      }
      const Mark start = mark();
      if (read_terms(child, false, {})) continue;
      forget_since(start);
    } else {
      const bool by_itself = algebra(child) == Algebra::source_sum;
      refuse(child, !alike      ? "its dimensions are not those of the sum"
                    : by_itself ? "it sums several sources, or is read by others, and is taken by itself"
                                : "it holds no phase of a source");
    }
    sum.rest.push_back(child);
  }
}

/// Reads a node as a sum of terms, all of it.
bool TermReader::read_terms(int node, bool negative, const Around& around) {
  if (!has_term_[node]) return refuse(node, "it holds no phase of a source");
  if (refused_[node]) return refuse(node, "its data are flagged element by element, or missing");
  const std::span<const int> children = forest_.children(node);
  const auto read_all = [&](bool alternate) {
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (leaves_out(children[i])) continue;
      if (!(forest_.node(children[i]).dims() == forest_.node(node).dims()))
        return refuse(children[i], "its dimensions are not those of the sum");
      if (!read_terms(children[i], negative != (alternate && i == 1), around)) return false;
    }
    return true;
  };
  switch (algebra(node)) {
    case Algebra::identity:
      return read_terms(children[0], negative, around);
    case Algebra::negation:
      return read_terms(children[0], !negative, around);
    case Algebra::sum:
      return read_all(false);
    case Algebra::difference: {
      const bool was_in_difference = std::exchange(in_difference_, true);
      const bool good = read_all(true);
      in_difference_ = was_in_difference;
      return good;
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
  const bool is_element = around.element >= 0 || (around.outer != nullptr && around.outer->element >= 0);
  if (algebra(obstacle_.root) != Algebra::reduction && !is_element)
    return refuse(node, "it is a sum of its own, over a stack");
  const State& state = forest_.node(node).state();
  const std::span<const int> children = forest_.children(node);
  const TensorShape& dims = forest_.node(children[0]).dims();
  if (around.stack > 0) return refuse(node, "it is a sum within a stack");
  if (!state.text_list("reduction_axes").empty()) return refuse(node, "it sums over cells");
  if (state.integer("tensor_axis") != 0 || (dims.rank != 3 && dims.rank != 1))
    return refuse(node, "it is no sum over the first dimension of a stack");
  for (const int child : children) {
    Around inner = around;
    inner.stack = dims[0];
    const bool is_list = algebra(child) == Algebra::composition;
    const std::vector<int> one{child};
    for (const int part : is_list ? forest_.children(child) : one) {
      const TensorShape& own = forest_.node(part).dims();
      if (is_list) inner.stack = 0;
      if (is_list && !(own == forest_.node(node).dims())) return refuse(part, "it is no element of a stack of terms");
      if (!read_terms(part, negative, inner)) return false;
    }
  }
  return true;
}

bool TermReader::read_term(int node, bool negative, const Around& around) {
  Product product = std::move(spare_);
  product.clear();
  product.negative = negative;
  product.takes_parts = (has_term_[node] & kPhase) == 0;
  bool good = read_factors(node, around.adjoint, product);
  const bool too_long = good && is_too_long(product, around);
  if (good && around.outer != nullptr) good = put_into(*around.outer, product);
  if (around.element >= 0) {
    product.element = around.element;
    product.n_left = around.outer->nested_at;
    product.n_right = around.outer->factors.size() - product.n_left;
  }
  if (good && product.nested < 0) {
    good = emit(product, around.stack);
  } else if (good) {
    const bool is_term = is_sum(algebra(obstacle_.root)) || algebra(obstacle_.root) == Algebra::composition;
    const Around inside{&product, product.nested_adjoint, around.stack};
    if (!is_term || too_long)
      good = refuse(is_term ? product.nested : -1, "it is a long sum within a product, and is taken by itself");
    else if (algebra(product.nested) == Algebra::composition)
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
  if (product.nested < 0 || n_term(product.nested) <= kMostMultipliedOut) return false;
  const bool of_whole = around.element >= 0 && algebra(obstacle_.root) == Algebra::composition;
  return !(around.outer == nullptr ? product.is_bare() : of_whole && around.outer->is_bare());
}

/// A node that sums sources, of one source.
bool TermReader::read_source_sum(int node, bool negative, const Around& around) {
  if (around.outer != nullptr || around.stack > 0) return refuse(node, "it sums sources within a product or a stack");
  const std::span<const int> children = forest_.children(node);
  for (const int child : children)
    if (child >= 0 && is_refused(child)) return refuse(child, "its data are flagged element by element, or missing");
  const TensorShape& lmn = forest_.node(children[kLmnSlot]).dims();
  const TensorShape& uvw = forest_.node(children[kUvwSlot]).dims();
  const State& state = forest_.node(node).state();
  SourceTerm term;
  term.written = node;
  term.in_difference = in_difference_;
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
  product.lmn = term.lmn;
  product.factors.push_back(Factor{children[kBrightnessSlot]});
  for (std::size_t i = kFirstJonesSlot; i < children.size(); ++i)
    product.factors.insert((i - kFirstJonesSlot) % 2 == 0 ? product.factors.begin() : product.factors.end(),
                           Factor{children[i]});
  if (!fits(product, term.n_source)) return false;
  if (term.shape >= 0 && forest_.node(term.shape).dims().rank != lmn.rank)
    return refuse(term.shape, "it is not one shape for each source");
  add(term, product);
  return true;
}

int TermReader::n_term(int node) const {
  const std::span<const int> children = forest_.children(node);
  if (algebra(node) == Algebra::source_sum) {
    const TensorShape& lmn = forest_.node(children[kLmnSlot]).dims();
    return lmn.rank == 2 ? lmn[0] : 1;
  }
  if (algebra(node) == Algebra::reduction) {
    const TensorShape& dims = forest_.node(children[0]).dims();
    return dims.rank > 0 ? dims[0] : 1;
  }
  const bool by_element = algebra(node) == Algebra::composition;
  if (!is_sum(algebra(node)) && !by_element) return 1;
  int n = 0;
  for (const int child : children) n = by_element ? std::max(n, n_term(child)) : n + n_term(child);
  return n;
}

/// Whether there is a sum with phases in a node, of whatever that is made.
bool TermReader::holds_sum(int node) const {
  if (!has_term_[node] || algebra(node) == Algebra::source_sum) return false;
  const std::span<const int> children = forest_.children(node);
  return is_sum(algebra(node)) ||
         (is_transparent(algebra(node)) &&
          std::any_of(children.begin(), children.end(), [this](int child) { return holds_sum(child); }));
}

}  // namespace rimetree::rewrite
