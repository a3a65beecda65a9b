// MatrixMultiply: A B C ..., from left to right
//
// Children: one or more factors of any unit: scalars [], matrices [n,m], vectors [n] (a row on the left of a matrix, a
// column on its right, the scalar product of two vectors), or stacks of matrices [source,n,m], which are multiplied
// matrix by matrix. Next to a stack, [source] is a stack of scalars, one for each matrix.
// State: none. Result: dimensions by the rules of matrix multiplication; complex if any child is.
// Flags: a cell is flagged where any element of any factor is. Derivative: exact.
// MeqTrees: MatrixMultiply (stacks are added here). Smirnov 2011, A&A 527, A106, section 1.
#include <algorithm>

#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

/// One matrix of a factor, or of the product so far. A vector is its `rows` (or columns) numbers in either place.
struct MatrixFactor {
  int rank = 0;
  std::int32_t rows = 1, columns = 1;
  std::int32_t stack = -1;  ///< length of the stack, -1: not a stack

  MatrixFactor() = default;
  MatrixFactor(const TensorShape& dims, bool stacked) {
    const bool in_stack = dims.rank == 3 || (dims.rank == 1 && stacked);
    if (in_stack) stack = dims[0];
    rank = dims.rank - (in_stack ? 1 : 0);
    if (rank >= 1) rows = dims[dims.rank - rank];
    if (rank == 2) columns = dims[dims.rank - 1];
  }
  std::size_t elements() const { return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns); }
  /// Where the elements of matrix s begin.
  std::size_t first(std::size_t s) const { return stack >= 0 ? s * elements() : 0; }
  /// The length that a factor on the right must have.
  std::int32_t inner() const { return rank == 2 ? columns : rows; }

  friend MatrixFactor operator*(const MatrixFactor& a, const MatrixFactor& b) {
    MatrixFactor product = a.rank == 0 ? b : a;
    product.stack = a.stack > b.stack ? a.stack : b.stack;
    if (a.rank == 0 || b.rank == 0) return product;
    product.rank = a.rank + b.rank - 2;
    const std::int32_t rows = a.rank == 2 ? a.rows : 1, columns = b.rank == 2 ? b.columns : 1;
    product.rows = product.rank == 1 && a.rank == 1 ? columns : rows;
    product.columns = product.rank == 2 ? columns : 1;
    return product;
  }
};

struct MatrixMultiplyBody {
  /// Elements of a product that need no memory of their own.
  static constexpr std::size_t kSmall = 4;

  std::size_t matrices;
  std::size_t elements;  ///< of one matrix of the result
  std::size_t room;      ///< elements of the largest product on the way
  bool stacked;

  std::size_t items() const { return matrices; }
  template <class In, class Out>
  void item(const In& in, std::size_t s, Out out) const {
    using N = typename In::Number;
    if (room > kSmall) {
      std::vector<N> large(2 * room);
      return products(in, s, out, large.data(), large.data() + room);
    }
    N small[2 * kSmall];
    products(in, s, out, small, small + kSmall);
  }

 private:
  template <class In, class Out, class N>
  void products(const In& in, std::size_t s, Out out, N* current, N* next) const {
    MatrixFactor product(in.dims(0), stacked);
    for (std::size_t e = 0; e < product.elements(); ++e) current[e] = in(0, product.first(s) + e);
    for (std::size_t i = 1; i < in.n_children(); ++i) {
      const MatrixFactor factor(in.dims(i), stacked);
      const std::size_t first = factor.first(s);
      multiply(
          product, current, factor, [&in, i, first](std::size_t e) { return in(i, first + e); }, next);
      product = product * factor;
      N* const done = next;
      next = current;
      current = done;
    }
    for (std::size_t e = 0; e < elements; ++e) out[e] = current[e];
  }

 public:
  template <class N, class Element>
  static void multiply(const MatrixFactor& a, const N* a_values, const MatrixFactor& b, const Element& b_value,
                       N* out) {
    if (a.rank == 0) {
      for (std::size_t e = 0; e < b.elements(); ++e) out[e] = a_values[0] * b_value(e);
      return;
    }
    if (b.rank == 0) {
      const N scale = b_value(0);
      for (std::size_t e = 0; e < a.elements(); ++e) out[e] = a_values[e] * scale;
      return;
    }
    const auto inner = static_cast<std::size_t>(a.inner());
    const std::size_t rows = a.rank == 2 ? static_cast<std::size_t>(a.rows) : 1;
    const std::size_t columns = static_cast<std::size_t>(b.columns);
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j) {
        N sum = a_values[i * inner] * b_value(j);  // no dimension is 0
        for (std::size_t k = 1; k < inner; ++k) sum += a_values[i * inner + k] * b_value(k * columns + j);
        out[i * columns + j] = sum;
      }
  }
};

class MatrixMultiply final : public CellNode<MatrixMultiply> {
 public:
  using CellNode::CellNode;
  static constexpr Numbers kNumbers = Numbers::same;

  static NodeClass info() {
    return {.name = "MatrixMultiply",
            .algebra = Algebra::matrix_product,
            .summary = "Matrix product of its children from left to right.",
            .formula = "A B C ...",
            .result = "dimensions by the rules of matrix multiplication, product of the units; complex if any child is",
            .reference = "MeqTrees MatrixMultiply; Smirnov 2011, A&A 527, A106, section 1",
            .children = {{.label = "factor",
                          .shape = "[], [n], [n,m] or [source,n,m]",
                          .unit = "any",
                          .doc = "scalars multiply everything; vectors [n] are rows on the left and columns on the "
                                 "right of matrices, two of them give their scalar product; stacks [source,n,m] are "
                                 "multiplied matrix by matrix, and next to a stack [source] is one scalar per matrix",
                          .repeated = true}},
            .minimum_children = 1};
  }

  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    const bool stacked = is_stacked(children);
    Factor product(*children[0], stacked);
    for (std::size_t i = 1; i < children.size(); ++i) {
      const Factor factor(*children[i], stacked);
      const auto refuse = [&](const std::string& why) {
        throw ShapeError("factor " + std::to_string(i + 1) + " has dimensions " + to_string(*children[i]) + ", but " +
                         why);
      };
      if (product.rank > 0 && factor.rank > 0 && product.inner() != factor.rows)
        refuse("the product of those before it needs " + std::to_string(product.inner()) + " rows on its right");
      if (product.stack >= 0 && factor.stack >= 0 && product.stack != factor.stack)
        refuse("those before it are stacks of length " + std::to_string(product.stack));
      product = product * factor;
    }
    TensorShape dims;
    if (stacked) dims.append(product.stack);
    if (product.rank >= 1) dims.append(product.rows);
    if (product.rank >= 2) dims.append(product.columns);
    return dims;
  }

  void bind(std::span<const TensorShape* const> children) override {
    stacked_ = is_stacked(children);
    Factor product(*children[0], stacked_);
    largest_ = product.elements();
    for (std::size_t i = 1; i < children.size(); ++i) {
      product = product * Factor(*children[i], stacked_);
      largest_ = std::max(largest_, product.elements());
    }
  }

  MatrixMultiplyBody body() const {
    const std::size_t matrices = dims().rank == 0 || !stacked_ ? 1 : static_cast<std::size_t>(dims()[0]);
    return {matrices, matrices == 0 ? 0 : dims().size() / matrices, largest_, stacked_};
  }

 private:
  using Factor = MatrixFactor;

  static bool is_stacked(std::span<const TensorShape* const> children) {
    return std::any_of(children.begin(), children.end(), [](const auto* dims) { return dims->rank == 3; });
  }

  std::size_t largest_ = 0;  // elements of the largest product on the way
  bool stacked_ = false;
};

RIMETREE_REGISTER_NODE(MatrixMultiply);

}  // namespace rimetree
