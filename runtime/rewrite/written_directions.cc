// Directions in phases that are written by hand: what stands beside u, v and w.
#include <cmath>

#include "runtime/rewrite/written_phases.h"

namespace rimetree::rewrite {

/// l, m, n - n_minus as they are written in one place, or one made of what stands beside u, v and w.
int WrittenPhases::lmn_of(const Columns& columns, int stack, int& n_minus) {
  const int written = direction(columns, n_minus);
  if (written >= 0) return written;
  n_minus = 0;
  std::vector<int> numbers;
  for (const Column& column : columns) numbers.push_back(coordinate(column, stack));
  if (stack == 0) return nodes_.stack(numbers, {3});
  return nodes_.transpose(nodes_.stack(numbers, {3, stack}));
}

/// The node whose elements l, m and n the coordinates are, with n or n - 1 beside w; -1: there is none.
int WrittenPhases::direction(const Columns& columns, int& n_minus) {
  const auto only = [&](const Column& column) -> std::pair<int, int> {
    if (column.monomials.empty()) return {-1, -1};
    const Monomial& one = *column.monomials.front();
    if (one.coefficient.re != 1 || one.source.size() != 1) return {-1, -1};
    return component(one.source[0].node, one.source[0].element);
  };
  const int lmn = only(columns[0]).first;
  if (lmn < 0 || columns[0].monomials.size() != 1 || columns[1].monomials.size() != 1) return -1;
  const TensorShape& dims = forest_.node(lmn).dims();
  if (dims.rank == 0 || dims[dims.rank - 1] != 3 || columns[2].monomials.empty()) return -1;
  if (only(columns[0]) != std::pair(lmn, 0) || only(columns[1]) != std::pair(lmn, 1)) return -1;
  const auto& third = columns[2].monomials;
  if (only(columns[2]) == std::pair(lmn, 2)) {
    n_minus = static_cast<int>(third.size()) - 1;
    const int whole = third.size() == 1 ? unit_of_offset(lmn) : -1;
    if (whole >= 0) return n_minus = 1, whole;
    const bool minus_one = third.size() == 2 && third[1]->source.empty() && third[1]->coefficient.re == -1;
    return third.size() == 1 || (minus_one && is_unit(lmn)) ? lmn : -1;
  }
  n_minus = 1;
  if (!is_unit(lmn)) return -1;
  if (third.size() != 1 || third[0]->coefficient.re != 1 || third[0]->source.size() != 1) return -1;
  const Atom& offset = third[0]->source[0];
  const std::span<const int> children = forest_.children(offset.node);
  const bool is_sum = algebra(offset.node) == Algebra::sum, is_difference = algebra(offset.node) == Algebra::difference;
  if (offset.element != -1 || children.size() != 2 || !(is_sum || is_difference)) return -1;
  for (const int i : {0, 1})
    if ((is_sum || i == 0) && component(children[i], -1) == std::pair(lmn, 2) &&
        is_real(children[1 - i], is_sum ? -1 : 1))
      return lmn;
  return -1;
}

/// Of a vector l, m, n - 1, or of rows of these, the directions l, m, n from which [0, 0, 1] is subtracted; -1: it is
/// none.
int WrittenPhases::unit_of_offset(int node) {
  if (algebra(node) != Algebra::difference) return -1;
  const int lmn = forest_.children(node)[0], centre = forest_.children(node)[1];
  if (algebra(centre) != Algebra::constant || !(forest_.node(lmn).dims() == forest_.node(node).dims())) return -1;
  const StateArray& value = forest_.node(centre).state().array("value");
  if (value.type != NumberType::real || value.size() != forest_.node(lmn).dims().size()) return -1;
  for (std::size_t i = 0; i < value.size(); ++i)
    if (value.data[i] != (i % 3 == 2 ? 1 : 0)) return -1;
  if (!is_unit(lmn)) return -1;
  reader().note(centre);
  return lmn;
}

/// Whether l^2 + m^2 + n^2 is one to rounding: then n - 1 is what follows from l and m.
bool WrittenPhases::is_unit(int lmn) {
  while (algebra(lmn) == Algebra::selection || algebra(lmn) == Algebra::identity) lmn = forest_.children(lmn)[0];
  if (algebra(lmn) == Algebra::direction) return true;
  if (algebra(lmn) != Algebra::constant) return false;
  const StateArray& value = forest_.node(lmn).state().array("value");
  if (value.type != NumberType::real || value.shape.back() != 3) return false;
  for (std::size_t i = 0; i + 2 < value.size(); i += 3) {
    const double l = value.data[i], m = value.data[i + 1], n = value.data[i + 2];
    if (!(std::abs(l * l + m * m + n * n - 1) <= kRounding) || n < 0) return false;
  }
  reader().note(lmn);
  return true;
}

/// Of which node l, m or n is which component: of [3], or of [source,3] for all sources.
std::pair<int, int> WrittenPhases::component(int node, int element) const {
  const std::pair<int, int> none{-1, -1};
  if (element >= 0) return forest_.node(node).dims() == TensorShape{3} ? std::pair(node, element) : none;
  if (element < -1) return {node, Atom{node, element}.column()};
  if (algebra(node) != Algebra::selection || forest_.node(node).state().boolean("multi")) return none;
  const int child = forest_.children(node)[0];
  const std::vector<std::int64_t> index = forest_.node(node).state().integers("index");
  const TensorShape& dims = forest_.node(child).dims();
  if (dims == TensorShape{3} && index.size() == 1) return {child, static_cast<int>(index[0])};
  return dims.rank == 2 && index.size() == 2 && index[0] == -1 ? std::pair(child, static_cast<int>(index[1])) : none;
}

/// The sum of what stands beside one of u, v, w: a number, or one for each source.
int WrittenPhases::coordinate(const Column& column, int stack) {
  const TensorShape dims = stack > 0 ? TensorShape{stack} : TensorShape{};
  int total = -1;
  for (const Monomial* one : column.monomials) {
    int product = -1;
    bool is_stack = stack == 0;
    for (const Atom& atom : one->source) {
      is_stack = is_stack || atom.column() >= 0 || (atom.element < 0 && forest_.node(atom.node).dims().rank == 1);
      product = product < 0 ? node_of(atom) : nodes_.product(product, node_of(atom));
    }
    const double factor = one->coefficient.re;
    if (product < 0)
      product = nodes_.constant(factor, dims);
    else if (factor != 1 || !is_stack)
      product = nodes_.product(product, nodes_.constant(factor, is_stack ? TensorShape{} : dims));
    total = total < 0 ? product : nodes_.total(total, product);
  }
  return total < 0 ? nodes_.constant(0, dims) : total;
}

int WrittenPhases::node_of(const Atom& atom) {
  if (atom.column() >= 0) return nodes_.column(atom.node, atom.column());
  if (atom.element < 0) return atom.node;
  return atom.written >= 0 ? atom.written : nodes_.selected(atom.node, atom.element);
}

}  // namespace rimetree::rewrite
