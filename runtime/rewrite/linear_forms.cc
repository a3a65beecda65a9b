#include "runtime/rewrite/linear_forms.h"

#include <algorithm>
#include <iterator>

namespace rimetree::rewrite {

namespace {

/// A phase of a source has four products and few factors each; longer expressions are none that somebody has written.
constexpr int kMostNodes = 200, kMostLeaves = 24;

bool adds(Algebra algebra) { return algebra == Algebra::sum || algebra == Algebra::difference; }

/// Whether elements of a node are what its formula makes of elements of its children, or of numbers.
bool is_arithmetic(Algebra algebra) {
  switch (algebra) {
    case Algebra::identity:
    case Algebra::negation:
    case Algebra::sum:
    case Algebra::difference:
    case Algebra::product:
    case Algebra::quotient:
    case Algebra::complex_number:
    case Algebra::composition:
      return true;
    default:
      return false;
  }
}

void multiply_numbers(const Monomial& other, int sign, Monomial& monomial) {
  for (const auto& [node, power] : other.numbers) {
    const auto at = std::lower_bound(monomial.numbers.begin(), monomial.numbers.end(), std::pair(node, INT32_MIN));
    if (at == monomial.numbers.end() || at->first != node)
      monomial.numbers.insert(at, {node, sign * power});
    else if ((at->second += sign * power) == 0)
      monomial.numbers.erase(at);
  }
}

Monomial product(const Monomial& a, const Monomial& b) {
  Monomial result = a;
  result.coefficient = a.coefficient * b.coefficient;
  result.frequency += b.frequency;
  multiply_numbers(b, 1, result);
  result.baseline.insert(result.baseline.end(), b.baseline.begin(), b.baseline.end());
  result.source.insert(result.source.end(), b.source.begin(), b.source.end());
  return result;
}

}  // namespace

Form product(const Form& a, const Form& b) {
  Form products;
  for (const Monomial& one : a)
    for (const Monomial& other : b) products.push_back(product(one, other));
  return products;
}

bool divide(Form& form, const Form& divisor) {
  if (divisor.size() != 1 || !divisor[0].baseline.empty() || !divisor[0].source.empty()) return false;
  for (Monomial& monomial : form) {
    monomial.coefficient = monomial.coefficient / divisor[0].coefficient;
    monomial.frequency -= divisor[0].frequency;
    multiply_numbers(divisor[0], -1, monomial);
  }
  return true;
}

FormReader::FormReader(const Forest& forest, const std::vector<bool>& refused)
    : forest_(forest),
      refused_(refused),
      axes_(forest.size()),
      kind_(forest.size(), kUnknown),
      is_baseline_(forest.size()),
      is_source_(forest.size()),
      is_noted_(forest.size()) {
  for (const int node : forest.order()) {
    AxisSet& axes = axes_[static_cast<std::size_t>(node)];
    axes = forest.node(node).traits().varies_along;
    for (const int child : forest.children(node))
      if (child >= 0) axes |= axes_[static_cast<std::size_t>(child)];
  }
}

bool FormReader::is_number(int node) const {
  const Node& own = forest_.node(node);
  return own.algebra() == Algebra::constant && own.dims().is_scalar() &&
         axes_[static_cast<std::size_t>(node)] == kNoAxes;
}

Complex<double> FormReader::value_of(int number) {
  const StateArray& value = forest_.node(number).state().array("value");
  note(number);
  return {value.data[0], value.type == NumberType::complex ? value.data[1] : 0.0};
}

void FormReader::note(int constant) {
  if (is_noted_[static_cast<std::size_t>(constant)]) return;
  is_noted_[static_cast<std::size_t>(constant)] = true;
  numbers_.push_back(constant);
}

bool FormReader::is_baseline(int leaf) const {
  const auto node = static_cast<std::size_t>(leaf);
  return is_baseline_[node] || (!is_source_[node] && (axes_[node] & set_of(Axis::time)) != 0);
}

bool FormReader::is_time(int node) const {
  const Node& own = forest_.node(node);
  const NodeTraits traits = own.traits();
  return forest_.children(node).empty() && own.algebra() == Algebra::none && own.dims().is_scalar() &&
         traits.is_function && traits.depends_on == kDomain && traits.varies_along == set_of(Axis::time);
}

/// Of a node that selects one element: which; else -1.
int FormReader::selected(int node) const {
  const Node& own = forest_.node(node);
  if (own.algebra() != Algebra::selection || !own.dims().is_scalar() || own.state().boolean("multi")) return -1;
  const TensorShape& from = forest_.node(forest_.children(node)[0]).dims();
  const std::vector<std::int64_t> index = own.state().integers("index");
  if (index.size() == 1) return static_cast<int>(index[0]);
  return from.rank == 2 && index.size() == 2 ? static_cast<int>(index[0] * from[1] + index[1]) : -1;
}

/// Of a node that selects one row of a matrix: which; else -1.
int FormReader::selected_row(int node) const {
  const Node& own = forest_.node(node);
  if (own.algebra() != Algebra::selection || own.dims().rank != 1 || own.state().boolean("multi")) return -1;
  if (forest_.node(forest_.children(node)[0]).dims().rank != 2) return -1;
  const std::vector<std::int64_t> index = own.state().integers("index");
  return index.size() == 1 || (index.size() == 2 && index[1] == -1) ? static_cast<int>(index[0]) : -1;
}

/// Whether a node's elements are sums of products of its children's: of vectors, or of rows and columns.
bool FormReader::is_dot_product(int node) const {
  const Node& own = forest_.node(node);
  const std::span<const int> children = forest_.children(node);
  const auto rank = [&](std::size_t i) { return forest_.node(children[i]).dims().rank; };
  if (own.algebra() == Algebra::reduction)
    return children.size() == 1 && rank(0) == 1 && own.state().integer("tensor_axis") == 0 &&
           own.state().text_list("reduction_axes").empty();
  const auto is_factor = [&](std::size_t i) { return rank(i) == 1 || rank(i) == 2; };
  return own.algebra() == Algebra::matrix_product && children.size() == 2 && is_factor(0) && is_factor(1);
}

/// Whether an expression goes on below a node.
bool FormReader::goes_on_below(int node) const {
  return selected(node) >= 0 || selected_row(node) >= 0 || is_arithmetic(forest_.node(node).algebra()) ||
         is_dot_product(node);
}

/// To what an expression belongs: a set of kinds.
std::uint8_t FormReader::kind(int node) {
  std::uint8_t& known = kind_[static_cast<std::size_t>(node)];
  if (known != kUnknown) return known;
  std::uint8_t kinds = 0;
  if (selected(node) >= 0) {
    kinds = kind(forest_.children(node)[0]);
  } else if (goes_on_below(node)) {
    for (const int child : forest_.children(node)) kinds |= kind(child);
    // Coordinates may have rates, or heights, that are constant.
    const bool is_vector = forest_.node(node).algebra() == Algebra::composition;
    if (is_vector && (kinds & (kBaseline | kOther)) == kBaseline) kinds = kBaseline;
  } else if (is_number(node)) {
    kinds = kNumber;
  } else {
    const bool varies = (axes_[static_cast<std::size_t>(node)] & set_of(Axis::frequency)) != 0;
    kinds = varies ? kOther : is_baseline(node) ? kBaseline : kSource;
  }
  return kind_[static_cast<std::size_t>(node)] = kinds;
}

bool FormReader::find_leaves(int node, std::vector<int>& leaves) {
  n_left_ = kMostNodes;
  std::vector<int> open{node};
  while (!open.empty()) {
    const int one = open.back();
    open.pop_back();
    if (--n_left_ < 0 || leaves.size() > kMostLeaves) return false;
    if (goes_on_below(one))
      open.insert(open.end(), forest_.children(one).begin(), forest_.children(one).end());
    else if (!is_number(one) && std::find(leaves.begin(), leaves.end(), one) == leaves.end())
      leaves.push_back(one);
  }
  return true;
}

bool FormReader::read(int node, Form& form) {
  n_left_ = kMostNodes;
  leaves_out_flagged_ = false;
  form.clear();
  return read(node, -1, -1, form);
}

bool FormReader::read(int node, int element, int written, Form& form) {
  if (--n_left_ < 0 || refused_[static_cast<std::size_t>(node)]) return false;
  const Algebra algebra = forest_.node(node).algebra();
  const std::span<const int> children = forest_.children(node);
  const int index = selected(node);
  if (element < 0 && index >= 0) return read(children[0], index, node, form);
  if (forest_.node(node).dims().is_scalar()) element = -1;
  if (const int row = element < 0 ? -1 : selected_row(node); row >= 0)
    return read(children[0], row * forest_.node(node).dims()[0] + element, -1, form);
  // What belongs together stays together: n - 1, -(l^2 + m^2) / (1 + n), or u_p - u_q; but 0.1 u + 0.2 v is of numbers
  // of a source.
  const bool is_dot = is_dot_product(node);
  const bool divides = algebra == Algebra::quotient && (kind(children[1]) & ~kNumber) != 0;
  const bool is_whole = adds(algebra) || algebra == Algebra::composition || is_dot || divides;
  const bool is_pure = is_whole && (kind(node) == kBaseline || (kind(node) & ~kNumber) == kSource);
  if (is_pure) return read_atom(node, element, written, form);
  if (is_dot) return read_dot_product(node, element, form);
  const auto read_child = [&](std::size_t i, double sign) {
    Form own;
    if (!read(children[i], element, -1, own) || form.size() + own.size() > kMostMonomials) return false;
    for (Monomial& monomial : own) {
      monomial.coefficient = sign * monomial.coefficient;
      form.push_back(std::move(monomial));
    }
    return true;
  };
  switch (algebra) {
    case Algebra::frequency:
      form.push_back({.frequency = 1});
      return true;
    case Algebra::identity:
      return read_child(0, 1);
    case Algebra::negation:
      return read_child(0, -1);
    case Algebra::sum:
      for (std::size_t i = 0; i < children.size(); ++i)
        if (!read_child(i, 1)) return false;
      return true;
    case Algebra::difference:
      return read_child(0, 1) && read_child(1, -1);
    case Algebra::product:
      return read_product(children, element, form);
    case Algebra::quotient:
      return read_quotient(children, element, form);
    case Algebra::complex_number: {
      const std::size_t begin = form.size();
      if (!read_child(1, 1)) return false;
      for (std::size_t i = begin; i < form.size(); ++i)
        form[i].coefficient = form[i].coefficient * Complex<double>(0, 1);
      return (is_number(children[0]) && abs(value_of(children[0])) == 0) || read_child(0, 1);
    }
    case Algebra::composition: {
      if (element < 0) return false;
      const int child = child_of_composition(node, element);
      return read(child, element, -1, form);
    }
    default:
      return read_atom(node, element, written, form);
  }
}

/// The child in which an element of a composition is, and which of its elements that is.
int FormReader::child_of_composition(int node, int& element) const {
  for (const int child : forest_.children(node)) {
    const TensorShape& dims = forest_.node(child).dims();
    const auto size = static_cast<int>(dims.size());
    if (element < size) return child;
    element -= size;
  }
  return forest_.children(node)[0];
}

bool FormReader::read_product(std::span<const int> children, int element, Form& form) {
  Form all{Monomial()};
  for (const int child : children) {
    Form own;
    if (!read(child, element, -1, own) || own.size() * all.size() > kMostMonomials) return false;
    all = product(all, own);
  }
  form.insert(form.end(), all.begin(), all.end());
  return true;
}

/// Of a row and a column. All elements of a vector are those of a stack of rows, one for each source.
bool FormReader::read_dot_product(int node, int element, Form& form) {
  const std::span<const int> children = forest_.children(node);
  const TensorShape& left = forest_.node(children[0]).dims();
  if (forest_.node(node).algebra() == Algebra::reduction) {
    leaves_out_flagged_ = true;
    for (int k = 0; k < left[0]; ++k)
      if (!read(children[0], k, -1, form) || form.size() > kMostMonomials) return false;
    return true;
  }
  const TensorShape& right = forest_.node(children[1]).dims();
  const bool is_stack = element < 0 && left.rank == 2 && right.rank == 1;
  if (element < -1 || (element < 0 && !is_stack && !forest_.node(node).dims().is_scalar())) return false;
  const int n_inner = left[left.rank - 1], n_column = right.rank == 2 ? right[1] : 1;
  const int row = element < 0 ? 0 : element / n_column, column = element < 0 ? 0 : element % n_column;
  for (int k = 0; k < n_inner; ++k) {
    const int of_left = is_stack ? Atom::element_of_column(k) : row * n_inner + k;
    Form first, second;
    if (!read(children[0], of_left, -1, first) || !read(children[1], k * n_column + column, -1, second)) return false;
    if (form.size() + first.size() * second.size() > kMostMonomials) return false;
    for (const Monomial& a : first)
      for (const Monomial& b : second) form.push_back(product(a, b));
  }
  return true;
}

/// Divided by numbers and frequencies: c / nu, say.
bool FormReader::read_quotient(std::span<const int> children, int element, Form& form) {
  Form dividend, divisor;
  if (!read(children[0], element, -1, dividend) || !read(children[1], element, -1, divisor)) return false;
  if (!divide(dividend, divisor)) return false;
  form.insert(form.end(), std::make_move_iterator(dividend.begin()), std::make_move_iterator(dividend.end()));
  return true;
}

bool FormReader::read_atom(int node, int element, int written, Form& form) {
  Monomial monomial;
  if (is_number(node)) {
    if (forest_.node(node).state().array("value").type == NumberType::complex)
      monomial.coefficient = value_of(node);
    else
      monomial.numbers.emplace_back(node, 1);
  } else if (kind(node) == kBaseline) {
    monomial.baseline.push_back({node, element, written});
  } else if ((kind(node) & ~kNumber) == kSource) {
    monomial.source.push_back({node, element, written});
  } else {
    return false;
  }
  form.push_back(std::move(monomial));
  return true;
}

}  // namespace rimetree::rewrite
