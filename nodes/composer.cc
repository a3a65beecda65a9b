// Composer: children's elements one after the other, as one tensor
//
// Children: one or more, any dimensions, of one unit.
// State: dims (list of integers): dimensions of the result, row-major; [0] stacks children of equal dimensions along a
// new first dimension; the default, an empty list, gives a vector of all elements.
// Result: the tensor, unit of the children; complex if any child is.
// Flags: they stay with their element. Derivative: exact. MeqTrees: Composer.
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

struct ComposerBody {
  std::size_t n_item;  ///< of one child alone, whose elements stay where they are; or 1

  std::size_t items() const { return n_item; }
  template <class In, class Out>
  void item(const In& in, std::size_t s, Out out) const {
    if (n_item > 1) {
      *out = in(0, s);
      return;
    }
    for (std::size_t child = 0; child < in.n_children(); ++child) {
      const std::size_t elements = in.dims(child).size();
      for (std::size_t e = 0; e < elements; ++e) *out++ = in(child, e);
    }
  }
};

class Composer final : public CellNode<Composer> {
 public:
  explicit Composer(const State& state) : CellNode(state), wanted_(state.integers("dims")) {}
  static constexpr Numbers kNumbers = Numbers::same;

  static NodeClass info() {
    return {.name = "Composer",
            .algebra = Algebra::composition,
            .summary = "One tensor of the elements of several children.",
            .result = "dimensions as the state says, unit of the children; complex if any child is",
            .reference = "MeqTrees Composer",
            .children = {{.label = "x",
                          .shape = "any",
                          .unit = "any",
                          .doc = "whose elements, row-major, come after those of the child before",
                          .repeated = true}},
            .state = {{.name = "dims",
                       .type = StateType::array,
                       .default_value = StateArray{{0}, NumberType::real, {}},
                       .doc = "dimensions of the result; [0]: children of equal dimensions are stacked along a new "
                              "first dimension; empty: a vector of all elements"}},
            .minimum_children = 1};
  }

  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    std::size_t elements = 0;
    for (const TensorShape* child : children) elements += child->size();
    if (wanted_.empty()) return {static_cast<std::int32_t>(elements)};
    TensorShape dims;
    if (wanted_.size() == 1 && wanted_[0] == 0) {
      dims.append(static_cast<std::int64_t>(children.size()));
      for (int i = 0; i < children[0]->rank; ++i) dims.append((*children[0])[i]);
      for (const TensorShape* child : children)
        if (!(*child == *children[0]))
          throw ShapeError("children have dimensions " + to_string(*children[0]) + " and " + to_string(*child) +
                           "; to be stacked (dims=[0]) they must be equal");
      return dims;
    }
    for (const std::int64_t extent : wanted_) dims.append(extent);
    if (dims.size() != elements)
      throw ShapeError("state field \"dims\" is " + to_string(dims) + ", but the children have " +
                       std::to_string(elements) + " elements together");
    return dims;
  }

  void bind(std::span<const TensorShape* const> children) override { has_one_child_ = children.size() == 1; }
  ComposerBody body() const { return {has_one_child_ && dims().size() > 1 ? dims().size() : 1}; }

  ZeroElements zero_elements(const Evaluation& evaluation) const override {
    ZeroElements zeros = 0;
    std::size_t first = 0;
    for (const Result* child : evaluation.children()) {
      if (first < 64) zeros |= child->zeros << first;
      first += child->value.dims().size();
    }
    return zeros;
  }

  void combine_flags(Evaluation& evaluation) const override {
    Flags flags;
    std::size_t first = 0;
    for (const Result* child : evaluation.children()) {
      const std::size_t elements = child->value.dims().size();
      if (!child->flags.empty() && flags.empty()) flags = Flags(evaluation.pool, dims().size(), flag_cells(evaluation));
      if (!child->flags.empty())
        for (std::size_t e = 0; e < elements; ++e) merge_flags(flags, first + e, child->flags, e, 1);
      first += elements;
    }
    evaluation.set_flags(std::move(flags));
  }

 private:
  std::vector<std::int64_t> wanted_;
  bool has_one_child_ = false;
};

RIMETREE_REGISTER_NODE(Composer);

}  // namespace rimetree
