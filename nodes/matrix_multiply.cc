// MatrixMultiply: A B C ..., from left to right
//
// Children: one or more factors of any unit: scalars [], matrices [n,m], vectors [n] (a row on the left of a matrix, a
// column on its right, the scalar product of two vectors), or stacks of matrices [source,n,m], which are multiplied
// matrix by matrix. Next to a stack, [source] is a stack of scalars, one for each matrix.
// State: none. Result: dimensions by the rules of matrix multiplication; complex if any child is.
// Flags: an element is flagged where any element of a factor is that has a part in it: what is multiplied with a number
// that is 0 by how the tree is written has none. Elements in which nothing has a part are flagged where anything is,
// and so are all of factors of more than 64 elements. Derivative: exact. MeqTrees: MatrixMultiply (stacks are added
// here). Smirnov 2011, A&A 527, A106, section 1.
#include <algorithm>
#include <map>

#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/values/flag_rules.h"

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

/// Which elements of which factors have a part in a number; none: it is 0 by how the tree is written.
struct Parts {
  std::map<std::size_t, ZeroElements> of_factor;

  friend Parts operator*(const Parts& a, const Parts& b) {
    if (a.of_factor.empty() || b.of_factor.empty()) return {};
    Parts product = a;
    return product += b;
  }
  Parts& operator+=(const Parts& other) {
    for (const auto& [factor, elements] : other.of_factor) of_factor[factor] |= elements;
    return *this;
  }
};

/// Whether a number is 0 by how the tree is written.
struct MaybeZero {
  bool zero = false;
  friend MaybeZero operator*(MaybeZero a, MaybeZero b) { return {a.zero || b.zero}; }
  MaybeZero& operator+=(MaybeZero other) {
    zero = zero && other.zero;
    return *this;
  }
};

/// The factors of an evaluation as what the body multiplies, to learn which of their elements meet.
template <class N>
struct Pattern {
  using Number = N;
  std::span<const Result* const> factors;

  std::size_t n_children() const { return factors.size(); }
  const TensorShape& dims(std::size_t i) const { return factors[i]->value.dims(); }
  N operator()(std::size_t i, std::size_t e) const {
    const bool zero = (factors[i]->zeros >> e & 1) != 0;
    if constexpr (std::is_same_v<N, MaybeZero>) {
      return {zero};
    } else {
      return zero ? N{} : N{{{i, ZeroElements{1} << e}}};
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

  ZeroElements zero_elements(const Evaluation& evaluation) const override {
    ZeroElements zeros = 0;
    const auto factors = evaluation.children();
    const bool any = std::any_of(factors.begin(), factors.end(), [](const Result* one) { return one->zeros != 0; });
    if (!any || !is_small(evaluation)) return zeros;
    const std::vector<MaybeZero> product = pattern<MaybeZero>(evaluation);
    for (std::size_t e = 0; e < product.size(); ++e) zeros |= ZeroElements{product[e].zero} << e;
    return zeros;
  }

  void combine_flags(Evaluation& evaluation) const override {
    const auto of_elements = [](const Result* factor) { return factor->flags.planes() > 1; };
    const auto factors = evaluation.children();
    if (!is_small(evaluation) || std::none_of(factors.begin(), factors.end(), of_elements)) return;
    const std::vector<Parts> product = pattern<Parts>(evaluation);
    const auto reads_all = [&](const Parts& one) {
      for (std::size_t i = 0; i < factors.size(); ++i) {
        const auto own = one.of_factor.find(i);
        const ZeroElements all = first_elements(factors[i]->value.dims().size());
        if (factors[i]->flags.planes() > 1 && (own == one.of_factor.end() || own->second != all)) return false;
      }
      return true;
    };
    if (std::all_of(product.begin(), product.end(), reads_all)) return;  // the default rule gives the same
    Flags flags(evaluation.pool, product.size(), flag_cells(evaluation));
    for (std::size_t e = 0; e < product.size(); ++e)
      for (std::size_t i = 0; i < evaluation.children().size(); ++i) {
        const Result& factor = evaluation.child(i);
        const auto own = product[e].of_factor.find(i);
        const bool of_none = product[e].of_factor.empty();
        for (std::size_t k = 0; k < factor.flags.planes(); ++k)
          if (of_none || factor.flags.planes() == 1 ||
              (own != product[e].of_factor.end() && (own->second >> k & 1) != 0))
            merge_flags(flags, e, factor.flags, k, 1);
      }
    evaluation.set_flags(std::move(flags));
  }

 private:
  using Factor = MatrixFactor;

  /// Whether of all elements it can be told if they are 0 by how the tree is written.
  bool is_small(const Evaluation& evaluation) const {
    const auto small = [](const Result* factor) { return factor->value.dims().size() <= 64; };
    const auto factors = evaluation.children();
    return dims().size() <= 64 && std::all_of(factors.begin(), factors.end(), small);
  }
  template <class N>
  std::vector<N> pattern(const Evaluation& evaluation) const {
    const MatrixMultiplyBody own = body();
    std::vector<N> product(dims().size());
    for (std::size_t s = 0; s < own.matrices; ++s)
      own.item(Pattern<N>{evaluation.children()}, s, product.begin() + static_cast<std::ptrdiff_t>(s * own.elements));
    return product;
  }

  static bool is_stacked(std::span<const TensorShape* const> children) {
    return std::any_of(children.begin(), children.end(), [](const auto* dims) { return dims->rank == 3; });
  }

  std::size_t largest_ = 0;  // elements of the largest product on the way
  bool stacked_ = false;
};

RIMETREE_REGISTER_NODE(MatrixMultiply);

}  // namespace rimetree
