// Selector: elements of a tensor
//
// Child: x, any dimensions and unit.
// State: index (integers, counted from 0): one for each dimension of the child, -1 takes all of that dimension; or a
// single integer, which counts elements row-major; or a row [[i, j, ...]] for the first dimensions, of which the others
// are taken whole. multi (default false): index lists elements, counted row-major, that become a vector, or such rows,
// whose selections are stacked along a new first dimension.
// Result: a scalar, or a tensor of the dimensions that are taken whole, or with multi a list of either; unit and type
// of the child. Flags: they stay with their element. Derivative: exact. MeqTrees: Selector.
#include <algorithm>

#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

struct SelectorBody {
  std::size_t elements;
  const std::int64_t* index;
  std::size_t columns;    ///< indices of one selection, for the first dimensions; 0: each counts elements row-major
  std::size_t selection;  ///< elements of one selection
  bool alone;             ///< there is one index, which counts elements unless the child is a vector
  std::size_t n_item;     ///< entries of a stack of which the same elements are taken; or 1

  std::size_t items() const { return n_item; }
  template <class In, class Out>
  void item(const In& in, std::size_t s, Out out) const {
    const std::size_t n = elements / n_item;
    for (std::size_t e = 0; e < n; ++e) out[e] = in(0, source_of(s * n + e, in.dims(0), index));
  }
  /// The child's element that becomes element e.
  std::size_t source_of(std::size_t e, const TensorShape& from, const std::int64_t* numbers) const {
    if (columns == 0 || (alone && from.rank != 1)) return static_cast<std::size_t>(numbers[e]);
    const std::int64_t* row = numbers + e / selection * columns;
    e %= selection;
    std::size_t source = 0, step = 1;
    for (int i = from.rank - 1; i >= 0; --i) {
      const auto extent = static_cast<std::size_t>(from[i]);
      const std::int64_t number = static_cast<std::size_t>(i) < columns ? row[i] : -1;
      std::size_t k = static_cast<std::size_t>(number);
      if (number == -1) {
        k = e % extent;
        e /= extent;
      }
      source += k * step;
      step *= extent;
    }
    return source;
  }
};

class Selector final : public CellNode<Selector>, public ElementSelection {
 public:
  explicit Selector(const State& state)
      : CellNode(state), index_(state.integers("index")), multi_(state.boolean("multi")) {
    const std::vector<std::int64_t>& shape = state.array("index").shape;
    if (index_.empty()) throw StateError("state field \"index\" is empty");
    if (shape.size() > 2 || (shape.size() == 2 && shape[0] > 1 && !multi_))
      throw StateError(
          "state field \"index\" must be an integer, a list or one row of them; more rows need multi=True");
    in_rows_ = shape.size() == 2;
    columns_ = in_rows_ ? static_cast<std::size_t>(shape[1]) : multi_ ? 0 : index_.size();
  }
  static constexpr Numbers kNumbers = Numbers::same;

  static NodeClass info() {
    return {.name = "Selector",
            .algebra = Algebra::selection,
            .summary = "An element, a slice, or a list of elements of a tensor.",
            .formula = "x[index]",
            .result =
                "scalar or tensor of the dimensions taken whole, or with multi a list of them along a new first "
                "dimension; unit and type of the child",
            .reference = "MeqTrees Selector",
            .children = {{.label = "x", .shape = "any", .unit = "any", .doc = "tensor from which is selected"}},
            .state = {
                {.name = "index",
                 .type = StateType::array,
                 .doc = "one integer per dimension, from 0, where -1 takes the whole dimension; or one integer, which "
                        "counts elements row-major; or a row [[i, j, ...]] for the first dimensions, of which the "
                        "others are taken whole. With multi a list of elements counted row-major, or of such rows"},
                {.name = "multi",
                 .type = StateType::boolean,
                 .default_value = false,
                 .doc = "whether index is a list: of elements, which become a vector, or of rows, whose selections "
                        "are stacked along a new first dimension"}}};
  }

  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    const TensorShape& from = *children[0];
    const bool flat = columns_ == 0 || (alone() && from.rank != 1);
    if (!flat && (in_rows_ ? static_cast<int>(columns_) > from.rank : static_cast<int>(columns_) != from.rank))
      throw ShapeError("state field \"index\" has " + std::to_string(columns_) +
                       " numbers, but the child has dimensions " + to_string(from));
    TensorShape dims;
    if (multi_) dims.append(static_cast<std::int64_t>(flat ? index_.size() : index_.size() / columns_));
    for (std::size_t i = 0; i < index_.size(); ++i) {
      const std::size_t column = flat ? 0 : i % columns_;
      const auto extent = flat ? static_cast<std::int64_t>(from.size()) : from[static_cast<int>(column)];
      if (index_[i] >= extent || index_[i] < (flat ? 0 : -1))
        throw ShapeError("state field \"index\" holds " + std::to_string(index_[i]) +
                         ", but the child has dimensions " + to_string(from));
      if (flat) continue;
      if ((index_[i] == -1) != (index_[column] == -1))
        throw ShapeError("the rows of state field \"index\" take different dimensions whole");
      if (i < columns_ && index_[i] == -1) dims.append(from[static_cast<int>(i)]);
    }
    for (int i = static_cast<int>(columns_); !flat && i < from.rank; ++i) dims.append(from[i]);
    return dims;
  }

  SelectorBody body() const {
    const std::size_t selections = multi_ && columns_ > 0 ? index_.size() / columns_ : 1;
    const bool of_each_entry = !multi_ && columns_ > 0 && index_[0] == -1 && dims().size() > 0;
    return {.elements = dims().size(),
            .index = index_.data(),
            .columns = columns_,
            .selection = std::max<std::size_t>(1, dims().size() / selections),
            .alone = alone(),
            .n_item = of_each_entry ? static_cast<std::size_t>(dims()[0]) : 1};
  }

  Capabilities capabilities() const override {
    Capabilities own = CellNode::capabilities();
    own.selection = this;
    return own;
  }
  std::size_t selected_element(std::size_t element, const TensorShape& child) const override {
    return body().source_of(element, child, index_.data());
  }

  ZeroElements zero_elements(const Evaluation& evaluation) const override {
    const Result& child = evaluation.child(0);
    const std::size_t elements = child.zeros == 0 ? 0 : std::min<std::size_t>(dims().size(), 64);
    ZeroElements zeros = 0;
    for (std::size_t e = 0; e < elements; ++e)
      if (const std::size_t from = selected_element(e, child.value.dims()); from < 64)
        zeros |= (child.zeros >> from & 1) << e;
    return zeros;
  }

  void combine_flags(Evaluation& evaluation) const override {
    const Flags& of_child = evaluation.child(0).flags;
    if (of_child.planes() < 2) return;  // the default rule gives the same
    Flags flags(evaluation.pool, dims().size(), of_child.cells());
    for (std::size_t e = 0; e < dims().size(); ++e)
      merge_flags(flags, e, of_child, selected_element(e, evaluation.child(0).value.dims()), 1);
    evaluation.set_flags(std::move(flags));
  }

 private:
  bool alone() const { return !in_rows_ && !multi_ && index_.size() == 1; }

  std::vector<std::int64_t> index_;
  bool multi_;
  bool in_rows_ = false;     // index is [[i, j, ...], ...]
  std::size_t columns_ = 0;  // indices of one selection; 0: index lists elements counted row-major
};

RIMETREE_REGISTER_NODE(Selector);

}  // namespace rimetree
