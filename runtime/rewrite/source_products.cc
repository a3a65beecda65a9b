// What a term of a sum over sources is a product of.
#include <algorithm>
#include <map>

#include "runtime/rewrite/source_terms.h"

namespace rimetree::rewrite {

namespace {

/// How many nodes below a factor are asked whether they are coordinates.
constexpr int kMostBelowFactor = 64;

/// So many sources that vary in time are a sum of their own.
constexpr std::size_t kFewestMoving = 16;

}  // namespace

bool looks_like_brightness(const Forest& forest, int node) {
  while (forest.node(node).algebra() == Algebra::selection || forest.node(node).algebra() == Algebra::identity)
    node = forest.children(node)[0];
  return forest.node(node).algebra() == Algebra::brightness;
}

void TermReader::Product::clear() {
  factors.clear();
  phases.clear();
  lmn = n_minus = taper = nested = -1;
  smearing = {-1, -1};
  part = Algebra::none;
  element = -1;
  nested_at = n_left = n_right = 0;
  negative = nested_adjoint = takes_parts = false;
}

/// Puts a product in the place of the sum in another one.
bool TermReader::put_into(const Product& outer, Product& product) {
  const auto at = static_cast<std::ptrdiff_t>(outer.nested_at);
  product.factors.insert(product.factors.begin(), outer.factors.begin(), outer.factors.begin() + at);
  product.factors.insert(product.factors.end(), outer.factors.begin() + at, outer.factors.end());
  product.nested_at += outer.nested_at;
  product.element = outer.element;
  product.n_left = outer.n_left;
  product.n_right = outer.n_right;
  return take_place(outer, product);
}

/// Phases, smearing and taper of a product that is a part of another one.
bool TermReader::take_place(const Product& from, Product& product) {
  product.phases.insert(product.phases.end(), from.phases.begin(), from.phases.end());
  if (from.lmn >= 0 && product.lmn >= 0 && from.lmn != product.lmn)
    return refuse(product.lmn, "a product has phases of two directions");
  if (from.n_minus >= 0 && product.n_minus >= 0 && from.n_minus != product.n_minus)
    return refuse(obstacle_.root, "a product has two values of n_minus");
  product.lmn = std::max(product.lmn, from.lmn);
  product.n_minus = std::max(product.n_minus, from.n_minus);
  if (product.taper >= 0 && from.taper >= 0) return refuse(from.taper, "a product has two factors of this kind");
  product.taper = std::max(product.taper, from.taper);
  const bool any_part = from.part != Algebra::none || product.part != Algebra::none;
  if (any_part && !from.phases.empty() && product.phases.size() > from.phases.size())
    return refuse(obstacle_.root, "a product has a phase beside the real part of another one");
  if (from.part != Algebra::none) product.part = from.part;
  return take_smearing(from.smearing, product);
}

/// Whether a factor must be read as it is written. What a conjugate transpose is of is read itself.
bool TermReader::is_refused(int node) const {
  return refused_[node] || (algebra(node) == Algebra::conjugate_transpose && refused_[forest_.children(node)[0]]);
}

bool TermReader::read_factors(int node, bool adjoint, Product& product) {
  const std::span<const int> children = forest_.children(node);
  if (is_refused(node)) return refuse(node, "its data are flagged element by element, or missing");
  const bool is_number = has_term_[node] == 0 || (has_term_[node] == kPart && !product.takes_parts);
  if (is_number) {
    // A number's conjugate is the number: so a station's gain is one factor, wherever it stands.
    if (is_of_one_term(node)) return read_product(node, adjoint, product);
    if (algebra(node) == Algebra::conjugate_transpose && !refused_[children[0]] && is_of_one_term(children[0]))
      return read_product(children[0], !adjoint, product);
    const bool is_conjugate = algebra(node) == Algebra::conjugate || algebra(node) == Algebra::conjugate_transpose;
    if (is_conjugate && forest_.node(node).dims().is_scalar() && !refused_[children[0]])
      product.factors.push_back({children[0], !adjoint, false});
    else
      product.factors.push_back({node, adjoint, false});
    return true;
  }
  switch (algebra(node)) {
    case Algebra::phase:
      return read_phase(node, adjoint, product);
    case Algebra::smearing:
      return read_smearing(node, product);
    case Algebra::real_part:
    case Algebra::imaginary_part:
      return read_part(node, product);
    case Algebra::taper:
      if (product.taper >= 0) return refuse(node, "a product has two factors of this kind");
      product.taper = node;
      return true;
    case Algebra::identity:
      return read_factors(children[0], adjoint, product);
    case Algebra::negation:
      product.negative = !product.negative;
      return read_factors(children[0], adjoint, product);
    case Algebra::conjugate:
    case Algebra::transpose:
    case Algebra::conjugate_transpose:
      return read_adjoint(node, adjoint, product);
    case Algebra::product:
    case Algebra::matrix_product:
      return read_product(node, adjoint, product);
    case Algebra::quotient:
      return read_quotient(node, adjoint, product);
    case Algebra::composition:
      return read_matrix(node, adjoint, product);
    case Algebra::selection:
      return read_selection(node, adjoint, product);
    case Algebra::sum:
    case Algebra::difference:
    case Algebra::reduction:
      if (product.nested >= 0) return refuse(node, "it is a sum in a product with another sum");
      product.nested = node;
      product.nested_at = product.factors.size();
      product.nested_adjoint = adjoint;
      return true;
    default:
      return refuse(node, "it is no factor of a sum over sources");
  }
}

/// A conjugate transpose, by one node or by two.
bool TermReader::read_adjoint(int node, bool adjoint, Product& product) {
  const int child = forest_.children(node)[0];
  const Algebra own = algebra(node), below = algebra(child);
  const bool is_matrix = forest_.node(node).dims().rank > 1;
  const auto conjugates = [this](int one) {  // a transpose, as well
    const std::vector<StateSpec>& fields = forest_.node(one).node_class().state;
    const auto is_it = [](const StateSpec& field) { return field.name == "conj"; };
    return std::any_of(fields.begin(), fields.end(), is_it) && forest_.node(one).state().boolean("conj");
  };
  const bool is_whole = own == Algebra::conjugate_transpose || (own == Algebra::conjugate && !is_matrix) ||
                        (own == Algebra::transpose && conjugates(node));
  if (is_whole) return read_factors(child, !adjoint, product);
  if (own == Algebra::transpose && !is_matrix) return read_factors(child, adjoint, product);
  const bool is_pair = (own == Algebra::conjugate && below == Algebra::transpose && !conjugates(child)) ||
                       (own == Algebra::transpose && below == Algebra::conjugate);
  if (!is_pair || refused_[child]) return refuse(node, "it conjugates or transposes a matrix, but does not do both");
  return read_factors(forest_.children(child)[0], !adjoint, product);
}

/// Whether a product without phases is better read as its factors, which other sums, or other terms, have as well: it
/// is read less often than something in it that is no brightness, as in (J_p B J_q^H) K or in J_p = P_p E_ps, where P_p
/// is that of all sources; or once.
bool TermReader::is_of_one_term(int node) const {
  const bool elementwise = algebra(node) == Algebra::product;
  if (!elementwise && algebra(node) != Algebra::matrix_product) return false;
  int matrices = 0;
  bool any_shared = false, any_read_more = false;
  for (const int child : forest_.children(node)) {
    const TensorShape& dims = forest_.node(child).dims();
    if (!dims.is_scalar() && !(dims == TensorShape{2, 2})) return false;
    matrices += !dims.is_scalar();
    any_shared = any_shared || n_reader_[child] > 1;
    any_read_more = any_read_more || (!looks_like_brightness(forest_, child) && n_reader_[child] > n_reader_[node]);
  }
  return ((any_shared && n_reader_[node] == 1) || any_read_more) && (!elementwise || matrices < 2);
}

bool TermReader::read_product(int node, bool adjoint, Product& product) {
  const std::span<const int> children = forest_.children(node);
  const int rank = forest_.node(node).dims().rank;
  const bool elementwise = algebra(node) == Algebra::product;
  int matrices = 0;
  for (const int child : children) {
    const int own = forest_.node(child).dims().rank;
    matrices += own >= 2;
    if (!elementwise && own == 1 && rank != 3) return refuse(node, "it multiplies vectors");
  }
  if (elementwise && matrices > 1) return refuse(node, "it multiplies matrices element by element");
  for (std::size_t i = 0; i < children.size(); ++i)
    if (!read_factors(children[adjoint ? children.size() - 1 - i : i], adjoint, product)) return false;
  return true;
}

/// Numbers divide, one for all elements or one for each source; or phases, whose inverses are their conjugates.
bool TermReader::read_quotient(int node, bool adjoint, Product& product) {
  const std::span<const int> children = forest_.children(node);
  const int divisor = children[1];
  if (has_term_[divisor] && algebra(divisor) != Algebra::phase) return refuse(node, "it divides by a term of a source");
  if (refused_[divisor]) return refuse(divisor, "its data are flagged element by element, or missing");
  if (forest_.node(divisor).dims().rank > 1) return refuse(node, "it divides by a matrix, element by element");
  if (has_term_[divisor]) return read_phase(divisor, !adjoint, product) && read_factors(children[0], adjoint, product);
  product.factors.push_back({divisor, adjoint, true});
  return read_factors(children[0], adjoint, product);
}

bool TermReader::read_phase(int node, bool adjoint, Product& product) {
  note_left_out(node);
  product.phases.push_back({forest_.children(node)[1], adjoint});
  return take_direction(node, product);
}

/// The direction of a phase or of its smearing, which is one for all factors.
bool TermReader::take_direction(int node, Product& product) {
  const int lmn = forest_.children(node)[0];
  const auto n_minus = static_cast<int>(forest_.node(node).state().integer("n_minus"));
  if (product.lmn >= 0 && product.lmn != lmn) return refuse(node, "a product has phases of two directions");
  if (product.n_minus >= 0 && product.n_minus != n_minus) return refuse(node, "a product has two values of n_minus");
  product.lmn = lmn;
  product.n_minus = n_minus;
  return true;
}

bool TermReader::emit(const Product& product, int stack) {
  if (product.phases.empty())
    return refuse(product.smears() ? std::max(product.smearing[0], product.smearing[1]) : product.taper,
                  "without a phase");
  if (!fits(product, stack) || varies_with_baseline(product) || !has_real_factors(product)) return false;
  SourceTerm term;
  term.lmn = product.lmn;
  term.n_source = stack;
  term.n_minus = product.n_minus;
  term.negative = product.negative;
  term.part = product.part;
  if (product.taper >= 0) term.shape = forest_.children(product.taper)[0];
  set_smearing(product, term);
  if (!set_baseline(product, term)) return false;
  for (const int node : {term.lmn, term.shape, term.uvw, term.minus_uvw})
    if (node >= 0 && refused_[node]) return refuse(node, "its data are flagged element by element, or missing");
  add(term, product);
  if (product.element >= 0) places_.push_back({product.element, product.n_left, product.n_right});
  return true;
}

void TermReader::add(SourceTerm& term, const Product& product) {
  term.first = static_cast<std::uint32_t>(factors_.size());
  term.count = static_cast<std::uint32_t>(product.factors.size());
  factors_.insert(factors_.end(), product.factors.begin(), product.factors.end());
  terms_.push_back(term);
}

/// Whether all factors are of a source, or of the sources of a stack.
bool TermReader::fits(const Product& product, int stack) {
  const int rank = stack > 0 ? 2 : 1;
  const auto is_place = [&](int node) {
    const TensorShape& dims = forest_.node(node).dims();
    return dims.rank == rank && (stack == 0 || dims[0] == stack);
  };
  if (!is_place(product.lmn)) return refuse(product.lmn, "it is not one direction for each source");
  const int shape = product.taper >= 0 ? forest_.children(product.taper)[0] : -1;
  if (shape >= 0 && !is_place(shape)) return refuse(shape, "it is not one shape for each source");
  // One node that sums few sources at one time after the other takes longer than what is written.
  if (n_moving_ < kFewestMoving) {
    if (may_vary_in_time(product.lmn)) return refuse(product.lmn, "it is a direction that varies in time");
    if (shape >= 0 && may_vary_in_time(shape)) return refuse(shape, "it is a shape that varies in time");
  }
  for (const Factor& factor : product.factors) {
    if (factor.matrix >= 0) continue;
    const TensorShape& dims = forest_.node(factor.node).dims();
    const bool stacked = dims.rank == 1 || dims.rank == 3;
    const bool is_matrix = dims.rank < 2 || (dims[dims.rank - 1] == 2 && dims[dims.rank - 2] == 2);
    if (dims.rank > 3 || !is_matrix || (stacked && (stack == 0 || dims[0] != stack)))
      return refuse(factor.node, "it is neither a number nor a 2x2 matrix for each source");
  }
  return true;
}

/// Whether a factor is made of the baseline's coordinates, cell by cell. As a Jones term it would be written to memory
/// for each source, cell and baseline, which takes longer than what is written.
bool TermReader::varies_with_baseline(const Product& product) {
  const auto is_coordinate = [&](int node) {
    return std::any_of(product.phases.begin(), product.phases.end(),
                       [node](const Product::Phase& phase) { return phase.uvw == node; });
  };
  for (const Factor& factor : product.factors) {
    if (factor.matrix >= 0 || !may_vary(factor.node, Axis::time) || !may_vary(factor.node, Axis::frequency)) continue;
    std::vector<int> open{factor.node};
    for (int left = kMostBelowFactor; left > 0 && !open.empty(); --left) {
      const int node = open.back();
      open.pop_back();
      if (is_coordinate(node))
        return !refuse(factor.node, "it is made of the baseline's coordinates and varies in time and frequency");
      for (const int child : forest_.children(node))
        if (child >= 0 && may_vary_in_time(child)) open.push_back(child);
    }
  }
  return false;
}

/// Adds coordinates of stations, in order, and how often each counts.
void TermReader::add_coordinates(int node, int times, Coordinates& all) {
  const std::span<const int> children = forest_.children(node);
  switch (algebra(node)) {
    case Algebra::identity:
      return add_coordinates(children[0], times, all);
    case Algebra::negation:
      return add_coordinates(children[0], -times, all);
    case Algebra::difference:
      add_coordinates(children[0], times, all);
      return add_coordinates(children[1], -times, all);
    default:
      break;
  }
  const auto is_it = [this, node](const auto& one) { return one.first == node || are_one_place(one.first, node); };
  const auto known = std::find_if(all.begin(), all.end(), is_it);
  if (known == all.end())
    all.emplace_back(node, times);
  else if ((known->second += times) == 0)
    all.erase(known);
}

/// Whether two nodes are the coordinates of one station, but one with rates, the other without. Their states have to be
/// looked at again when they change.
bool TermReader::are_one_place(int a, int b) {
  const Node &first = forest_.node(a), &second = forest_.node(b);
  if (first.algebra() != Algebra::coordinates || &first.node_class() != &second.node_class()) return false;
  if (!std::ranges::equal(forest_.children(a), forest_.children(b))) return false;
  const auto [known, is_new] = one_place_.try_emplace(key_of(std::min(a, b), std::max(a, b)), false);
  if (!is_new) return known->second;
  std::map<std::string, StateValue> states[] = {first.state().values(), second.state().values()};
  for (auto& state : states) state.erase("include_deriv");
  known->second = states[0] == states[1];
  if (known->second) read_states_.insert(read_states_.end(), {a, b});
  return known->second;
}

/// 1 if coordinates are those of the phases' baseline, -1 if they are those of the baseline turned round, else 0.
int TermReader::sign_of_baseline(const Product& product, int other) {
  for (const int sign : {1, -1}) {
    Coordinates difference;
    for (const auto& phase : product.phases) add_coordinates(phase.uvw, phase.negative ? -1 : 1, difference);
    add_coordinates(other, -sign, difference);
    if (difference.empty()) return sign;
  }
  return 0;
}

/// The phases of a term, its smearing and its shape must be of one baseline; the latter do not ask which way it goes.
bool TermReader::set_baseline(const Product& product, SourceTerm& term) {
  const auto coordinates = [this](int node) { return node >= 0 ? forest_.children(node)[1] : -1; };
  const int in_time = coordinates(product.smearing[0]), in_frequency = coordinates(product.smearing[1]);
  const int smeared = in_time >= 0 ? in_time : in_frequency;
  const int tapered = product.taper >= 0 ? forest_.children(product.taper)[1] : -1;
  const auto& phases = product.phases;
  if (phases.size() > 2) return refuse(phases.back().uvw, "phases of more than two stations");
  const int single = phases.size() == 1 && !phases[0].negative ? phases[0].uvw : -1;
  const int whole = smeared >= 0 ? smeared : single >= 0 ? single : tapered;
  bool is_turned = false;
  for (const int other : {in_time, in_frequency, tapered}) {
    if (other < 0 || other == single) continue;
    const int sign = sign_of_baseline(product, other);
    if (sign == 0) return refuse(other, "it is not the baseline of the phases");
    if (other == whole) is_turned = sign < 0;
  }
  if (whole >= 0) {
    (is_turned ? term.minus_uvw : term.uvw) = whole;
    return true;
  }
  for (const auto& phase : phases) {
    int& end = phase.negative ? term.minus_uvw : term.uvw;
    if (end >= 0) return refuse(phase.uvw, "phases of stations that are added");
    end = phase.uvw;
  }
  // Coordinates with rates and without cannot be subtracted.
  if (term.uvw >= 0 && term.minus_uvw >= 0 && !(forest_.node(term.uvw).dims() == forest_.node(term.minus_uvw).dims()))
    return refuse(term.minus_uvw, "its coordinates have other dimensions than those that it is subtracted from");
  return true;
}

}  // namespace rimetree::rewrite
