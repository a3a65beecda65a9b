// Classes of a plugin that say what they are in algebra, and one that computes the same and does not: for the tests of
// those who read trees as formulae (tests/runtime/solve).
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

/// The product of 2x2 matrices from left to right.
struct TestPluginProductBody {
  template <class In, class Out>
  void cell(const In& in, Out out) const {
    using N = typename In::Number;
    N product[4];
    for (std::size_t e = 0; e < 4; ++e) product[e] = in(0, e);
    for (std::size_t factor = 1; factor < in.n_children(); ++factor)
      for (std::size_t row = 0; row < 4; row += 2) {
        const N left = product[row], right = product[row + 1];
        for (std::size_t column = 0; column < 2; ++column)
          product[row + column] = left * in(factor, column) + right * in(factor, 2 + column);
      }
    for (std::size_t e = 0; e < 4; ++e) out[e] = product[e];
  }
};

template <class Derived>
class TestPluginAnyProduct : public CellNode<Derived> {
 public:
  using CellNode<Derived>::CellNode;
  static constexpr Numbers kNumbers = Numbers::same;
  static NodeClass described(const char* name, Algebra algebra) {
    return {.name = name,
            .algebra = algebra,
            .summary = "Product of 2x2 matrices.",
            .result = "[2,2]",
            .reference = "none",
            .children = {{.label = "factor", .shape = "[2,2]", .unit = "any", .doc = "a matrix", .repeated = true}},
            .minimum_children = 1};
  }
  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    for (const TensorShape* child : children)
      if (!(*child == TensorShape{2, 2})) throw ShapeError("a factor is no 2x2 matrix");
    return {2, 2};
  }
  TestPluginProductBody body() const { return {}; }
};

class TestPluginProduct final : public TestPluginAnyProduct<TestPluginProduct> {
 public:
  using TestPluginAnyProduct::TestPluginAnyProduct;
  static NodeClass info() { return described("TestPluginProduct", Algebra::matrix_product); }
};
RIMETREE_REGISTER_NODE(TestPluginProduct);

class TestPluginSilentProduct final : public TestPluginAnyProduct<TestPluginSilentProduct> {
 public:
  using TestPluginAnyProduct::TestPluginAnyProduct;
  static NodeClass info() { return described("TestPluginSilentProduct", Algebra::none); }
};
RIMETREE_REGISTER_NODE(TestPluginSilentProduct);

struct TestPluginGainBody {
  template <class In, class Out>
  void cell(const In& in, Out out) const {
    for (std::size_t i = 0; i < 4; ++i) out[i] = in(i);
  }
};

/// A Jones matrix of four scalars.
class TestPluginGain final : public CellNode<TestPluginGain> {
 public:
  using CellNode::CellNode;
  static constexpr Numbers kNumbers = Numbers::same;
  static NodeClass info() {
    return {.name = "TestPluginGain",
            .algebra = Algebra::composition,
            .summary = "A Jones matrix.",
            .result = "[2,2]",
            .reference = "none",
            .children = {{.label = "xx", .shape = "[]", .doc = "an element"},
                         {.label = "xy", .shape = "[]", .doc = "an element"},
                         {.label = "yx", .shape = "[]", .doc = "an element"},
                         {.label = "yy", .shape = "[]", .doc = "an element"}}};
  }
  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    for (const TensorShape* child : children)
      if (!child->is_scalar()) throw ShapeError("an element is no scalar");
    return {2, 2};
  }
  TestPluginGainBody body() const { return {}; }
};
RIMETREE_REGISTER_NODE(TestPluginGain);

}  // namespace rimetree

RIMETREE_PLUGIN("algebra");
