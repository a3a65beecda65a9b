// Selector: elements of a tensor
//
// Child: x, any dimensions and unit.
// State: index (list of integers, counted from 0): one for each dimension of the child, -1 takes all of that dimension;
// or a single integer, which counts elements row-major. multi (default false): index lists elements, counted row-major,
// that become a vector.
// Result: a scalar, or a tensor of the dimensions that are taken whole, or with multi a vector; unit and type of the
// child. Flags: they stay with their element. Derivative: exact. MeqTrees: Selector.
#include <algorithm>

#include "runtime/cell/cell_node.h"
#include "runtime/core/plugin_api.h"

namespace rimetree {

struct SelectorBody {
  static constexpr std::size_t kFew = 8;

  std::size_t elements;
  const std::int64_t* index;  ///< on the host
  std::int64_t few[kFew];     ///< the same, if there are so few: only then does the body go to a device
  std::size_t n_index;
  bool multi;

  template <class In, class Out>
  RT_HD void cell(const In& in, Out out) const {
    const std::int64_t* numbers = In::kOnHost ? index : few;
    for (std::size_t e = 0; e < elements; ++e) out[e] = in(0, source_of(e, in.dims(0), numbers));
  }
  /// The child's element that becomes element e.
  RT_HD std::size_t source_of(std::size_t e, const TensorShape& from, const std::int64_t* numbers) const {
    if (multi || (n_index == 1 && from.rank != 1)) return static_cast<std::size_t>(numbers[e]);
    std::size_t source = 0, step = 1;
    for (int i = from.rank - 1; i >= 0; --i) {
      const auto extent = static_cast<std::size_t>(from[i]);
      std::size_t k = static_cast<std::size_t>(numbers[i]);
      if (numbers[i] == -1) {
        k = e % extent;
        e /= extent;
      }
      source += k * step;
      step *= extent;
    }
    return source;
  }
};

class Selector final : public CellNode<Selector> {
 public:
  explicit Selector(const State& state)
      : CellNode(state), index_(state.integers("index")), multi_(state.boolean("multi")) {
    if (index_.empty()) throw StateError("state field \"index\" is empty");
  }
  static constexpr Numbers kNumbers = Numbers::same;

  static NodeClass info() {
    return {
        .name = "Selector",
        .algebra = Algebra::selection,
        .summary = "An element, a slice, or a list of elements of a tensor.",
        .formula = "x[index]",
        .result = "scalar, tensor of the dimensions taken whole, or with multi a vector; unit and type of the child",
        .reference = "MeqTrees Selector",
        .children = {{.label = "x", .shape = "any", .unit = "any", .doc = "tensor from which is selected"}},
        .state = {{.name = "index",
                   .type = StateType::array,
                   .doc = "one integer per dimension, from 0, where -1 takes the whole dimension; or one integer "
                          "that counts elements row-major; with multi a list of such"},
                  {.name = "multi",
                   .type = StateType::boolean,
                   .default_value = false,
                   .doc = "whether index is a list of elements that become a vector"}}};
  }

  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    const TensorShape& from = *children[0];
    const bool flat = multi_ || (index_.size() == 1 && from.rank != 1);
    if (!flat && static_cast<int>(index_.size()) != from.rank)
      throw ShapeError("state field \"index\" has " + std::to_string(index_.size()) +
                       " numbers, but the child has dimensions " + to_string(from));
    TensorShape dims;
    for (std::size_t i = 0; i < index_.size(); ++i) {
      const auto extent = flat ? static_cast<std::int64_t>(from.size()) : from[static_cast<int>(i)];
      if (index_[i] >= extent || index_[i] < (flat ? 0 : -1))
        throw ShapeError("state field \"index\" holds " + std::to_string(index_[i]) +
                         ", but the child has dimensions " + to_string(from));
      if (!flat && index_[i] == -1) dims.append(from[static_cast<int>(i)]);
    }
    if (multi_) dims.append(static_cast<std::int32_t>(index_.size()));
    return dims;
  }

  SelectorBody body() const {
    SelectorBody body{dims().size(), index_.data(), {}, index_.size(), multi_};
    if (fits_device()) std::copy(index_.begin(), index_.end(), body.few);
    return body;
  }

  void combine_flags(Evaluation& evaluation) const override {
    const Flags& of_child = evaluation.child(0).flags;
    if (of_child.planes() < 2) return;  // the default rule gives the same
    Flags flags(evaluation.pool, dims().size(), of_child.cells());
    for (std::size_t e = 0; e < dims().size(); ++e)
      merge_flags(flags, e, of_child, body().source_of(e, evaluation.child(0).value.dims(), index_.data()), 1);
    evaluation.set_flags(std::move(flags));
  }

 protected:
  bool fits_device() const override { return index_.size() <= SelectorBody::kFew; }

 private:
  std::vector<std::int64_t> index_;
  bool multi_;
};

RIMETREE_REGISTER_NODE(Selector);

}  // namespace rimetree
