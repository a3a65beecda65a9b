// What a matrix that is written element by element becomes: Matrix22(gx_p XX gx_q^*, gx_p XY gy_q^*, ...) is
// diag(gx_p, gy_p) [[XX, XY], [YX, YY]] diag(gx_q, gy_q)^H. So antennas have terms of their own, and what is between
// them is the same on all baselines.
#include <algorithm>

#include "runtime/rewrite/source_sums.h"

namespace rimetree::rewrite {

namespace {

using Numbers = std::vector<Factor>;
/// By element: what has not found its place yet. And whether an element is there at all.
struct Open {
  std::array<Numbers, 4> numbers;
  std::array<bool, 4> is_there = {};
};

bool holds(const Numbers& numbers, const Factor& one) {
  return std::find(numbers.begin(), numbers.end(), one) != numbers.end();
}

/// Whether all elements of some have a factor; `count` of them are there.
bool all_have(const Open& open, std::initializer_list<int> elements, const Factor& one, int& count) {
  count = 0;
  for (const int e : elements) {
    if (!open.is_there[e]) continue;
    if (!holds(open.numbers[e], one)) return false;
    ++count;
  }
  return true;
}

void take_from(Open& open, std::initializer_list<int> elements, const Factor& one) {
  for (const int e : elements) {
    const auto at = std::find(open.numbers[e].begin(), open.numbers[e].end(), one);
    if (open.is_there[e]) open.numbers[e].erase(at);
  }
}

/// Takes out what the elements of a row, or of a column, have in common.
Numbers taken_from(Open& open, int a, int b, const auto& is_wanted) {
  Numbers taken;
  const int of = open.is_there[a] ? a : b;
  const Numbers all = open.numbers[of];
  for (const Factor& one : all) {
    int count = 0;
    if (!is_wanted(one) || !all_have(open, {a, b}, one, count) || count == 0) continue;
    take_from(open, {a, b}, one);
    taken.push_back(one);
  }
  return taken;
}

}  // namespace

SourceSums::Piece SourceSums::piece_of(const Factor& factor) {
  return {part_of(factor), found_.uses(factor.node, direction_), read_.may_vary_in_time(factor.node),
          looks_like_brightness(forest_, factor.node)};
}

/// A 2x2 matrix of four numbers, or a stack of them if some are of all sources. -1: the number `otherwise`.
SourceSums::Part SourceSums::matrix_of(std::array<Part, 4> elements, const std::array<double, 4>& otherwise) {
  int n_source = 0;
  for (const Part& part : elements) n_source = std::max(n_source, part.n_source);
  std::array<int, 4> nodes = {};
  for (std::size_t e = 0; e < 4; ++e) {
    const TensorShape dims = n_source > 0 ? TensorShape{n_source} : TensorShape{};
    if (elements[e].node < 0)
      nodes[e] = nodes_.constant(otherwise[e], dims);
    else if (elements[e].n_source == n_source)
      nodes[e] = elements[e].node;
    else
      nodes[e] = nodes_.product(elements[e].node, nodes_.constant(1, dims));
  }
  if (n_source == 0) return {nodes_.stack(nodes, {2, 2}), 2};
  const int by_source = nodes_.transpose(nodes_.stack(nodes, {4, n_source}));
  return {nodes_.stack(std::array{by_source}, {n_source, 2, 2}), 3, n_source};
}

/// The numbers of two rows, or columns, in pairs: diagonal matrices. What is conjugated is so as a whole: then an
/// antenna has one matrix on both sides of a baseline.
void SourceSums::add_diagonals(const std::vector<Factor>& first, const std::vector<Factor>& second,
                               std::vector<Piece>& pieces) {
  for (std::size_t k = 0; k < std::max(first.size(), second.size()); ++k) {
    const auto is_adjoint = [k](const std::vector<Factor>& all) { return k >= all.size() || all[k].adjoint; };
    const bool is_adjoint_pair = is_adjoint(first) && is_adjoint(second);
    Piece piece{{-1, 2}, ~std::uint32_t{0}, false, false};
    const auto part_in = [&](const std::vector<Factor>& all) {
      if (k >= all.size()) return Part{};
      Factor factor = all[k];
      factor.adjoint = factor.adjoint != is_adjoint_pair;
      const Piece own = piece_of(factor);
      piece.uses = std::min(piece.uses, own.uses);
      piece.varies = piece.varies || own.varies;
      return own.part;
    };
    const Part xx = part_in(first), yy = part_in(second);
    piece.part = matrix_of({xx, Part{}, Part{}, yy}, {1, 0, 0, 1});
    if (is_adjoint_pair) piece.part = adjoint(piece.part);
    pieces.push_back(piece);
  }
}

/// What is between the antennas' terms; nothing if that is the identity.
void SourceSums::add_middle(const ProductMatrix& matrix, const std::array<std::vector<Factor>, 4>& numbers,
                            std::uint32_t uses, std::vector<Piece>& pieces) {
  Piece piece{{-1, 2}, uses, false, false};
  std::array<Part, 4> parts = {};
  std::array<double, 4> otherwise = {};
  bool is_identity = true;
  for (std::size_t e = 0; e < 4; ++e) {
    const ProductMatrix::Element& element = matrix.elements[e];
    is_identity = is_identity && element.is_zero == (e == 1 || e == 2) && !element.negative && numbers[e].empty();
    otherwise[e] = element.is_zero ? 0 : element.negative ? -1 : 1;
    Part& part = parts[e];
    for (const Factor& factor : numbers[e]) {
      const Piece own = piece_of(factor);
      piece.uses = std::min(piece.uses, own.uses);
      piece.varies = piece.varies || own.varies;
      part.node = part.node < 0 ? own.part.node : nodes_.product(part.node, own.part.node);
      part.n_source = std::max(part.n_source, own.part.n_source);
    }
    if (element.negative && part.node >= 0) part.node = nodes_.negative(part.node);
  }
  if (is_identity) return;
  piece.part = matrix_of(parts, otherwise);
  pieces.push_back(piece);
}

/// A matrix of products as factors, from left to right. What most sums have and does not vary in time is the source's,
/// and stays in the middle; the rest are terms of the rows, of the columns, or of both where all elements have it.
void SourceSums::add_pieces(const ProductMatrix& matrix, std::vector<Piece>& pieces) {
  Open open;
  std::array<Numbers, 4> middle;
  std::uint32_t most = 0;
  const auto each = [&](const auto& f) {
    for (std::size_t e = 0; e < 4; ++e)
      for (const Factor& factor : found_.factors(matrix.elements[e])) f(e, factor);
  };
  each([&](std::size_t, const Factor& factor) {
    if (!read_.may_vary_in_time(factor.node)) most = std::max(most, found_.uses(factor.node, direction_));
  });
  each([&](std::size_t e, const Factor& factor) {
    const bool of_source = !read_.may_vary_in_time(factor.node) && found_.uses(factor.node, direction_) >= most;
    (of_source ? middle : open.numbers)[e].push_back(factor);
  });
  for (std::size_t e = 0; e < 4; ++e) open.is_there[e] = !matrix.elements[e].is_zero;
  std::vector<Piece> right;
  const auto any =
      static_cast<std::size_t>(std::find(open.is_there.begin(), open.is_there.end(), true) - open.is_there.begin());
  const Numbers candidates = any < 4 ? open.numbers[any] : Numbers();
  for (const Factor& one : candidates) {
    int count = 0;
    if (!all_have(open, {0, 1, 2, 3}, one, count) || count < 2) continue;
    take_from(open, {0, 1, 2, 3}, one);
    (one.adjoint ? right : pieces).push_back(piece_of(one));
  }
  // On a diagonal rows are columns: then what is conjugated belongs to the right.
  const bool either = !open.is_there[1] && !open.is_there[2];
  const auto of_rows = [either](const Factor& one) { return !either || !one.adjoint; };
  const auto of_columns = [](const Factor&) { return true; };
  const Numbers row_0 = taken_from(open, 0, 1, of_rows), row_1 = taken_from(open, 2, 3, of_rows);
  const Numbers column_0 = taken_from(open, 0, 2, of_columns), column_1 = taken_from(open, 1, 3, of_columns);
  add_diagonals(row_0, row_1, pieces);
  for (std::size_t e = 0; e < 4; ++e) middle[e].insert(middle[e].end(), open.numbers[e].begin(), open.numbers[e].end());
  add_middle(matrix, middle, most, pieces);
  add_diagonals(column_0, column_1, pieces);
  pieces.insert(pieces.end(), right.begin(), right.end());
}

}  // namespace rimetree::rewrite
