// Constant: a number or an array of numbers that does not depend on anything.
//
// Children: none.
// State: value (array, real or complex; any unit); cells_rank (integer, default 0): how many of the trailing axes of
// the array are axes of the cells, in the order time, freq, instead of dimensions of the tensor. Result: the array
// without its trailing cell axes; unit of the value. Flags: none. Derivative: none; a solvable number is a Parm.
// MeqTrees: Constant (its vells= is cells_rank here).
#include <algorithm>

#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/error.h"
#include "runtime/core/node/node.h"

namespace rimetree {

class Constant final : public Node {
 public:
  explicit Constant(const State& state) : Node(state), cells_rank_(static_cast<int>(state.integer("cells_rank"))) {
    const int rank = static_cast<int>(value().shape.size());
    if (const auto given = state.integer("cells_rank"); given < 0 || given > 2 || given > rank)
      throw StateError("state field \"cells_rank\" is " + std::to_string(state.integer("cells_rank")) +
                       ", but must be 0, 1 (time) or 2 (time, freq) and not more than the rank of the value, " +
                       std::to_string(rank));
    for (int axis = 0; axis < cells_rank_; ++axis)
      cells_.extent[axis] = static_cast<std::int32_t>(value().shape[rank - cells_rank_ + axis]);
  }

  static NodeClass info() {
    return {.name = "Constant",
            .algebra = Algebra::constant,
            .summary = "A number or an array of numbers.",
            .result = "dimensions of the value without its cell axes; unit of the value; complex if the value is",
            .reference = "MeqTrees Constant",
            .state = {
                {.name = "value",
                 .type = StateType::array,
                 .unit = "any",
                 .doc = "number or array, real or complex",
                 .per_node = true},
                {.name = "cells_rank",
                 .type = StateType::integer,
                 .default_value = std::int64_t{0},
                 .doc = "how many trailing axes of the value are axes of the cells, in the order time, freq: with 1 "
                        "an array [2,3,T] is a [2,3] tensor for each of T times; an axis of length 1 does not vary"}}};
  }

  TensorShape result_dims(std::span<const TensorShape* const>) const override {
    TensorShape dims;
    for (std::size_t i = 0; i + cells_rank_ < value().shape.size(); ++i)
      dims.append(static_cast<std::int64_t>(value().shape[i]));
    return dims;
  }
  ZeroElements zero_elements(const Evaluation&) const override {
    const std::size_t elements = std::min<std::size_t>(dims().size(), 64), cells = cells_.size();
    const std::size_t numbers = cells * (value().type == NumberType::real ? 1 : 2);
    ZeroElements zeros = 0;
    for (std::size_t e = 0; e < elements && numbers > 0; ++e) {
      const double* const own = value().data.data() + e * numbers;
      if (std::all_of(own, own + numbers, [](double number) { return number == 0; })) zeros |= ZeroElements{1} << e;
    }
    return zeros;
  }
  // Given on cells, it must be checked against the cells of each request.
  NodeTraits own_traits() const override {
    NodeTraits traits{.is_function = true};
    if (value().type == NumberType::real) traits.numbers = ResultNumbers::real;
    for (const Axis axis : {Axis::time, Axis::frequency})
      if (cells_[axis] != 1) traits.varies_along |= set_of(axis);
    if (traits.varies_along != kNoAxes) traits.depends_on = kDomain;
    return traits;
  }

 protected:
  void evaluate(Evaluation& evaluation) const override {
    const CellShape& wanted = evaluation.cells().shape();
    for (const Axis axis : {Axis::time, Axis::frequency})
      if (cells_[axis] != 1 && cells_[axis] != wanted[axis])
        throw ShapeError("the value is given on cells " + to_string(cells_) + ", but the request has cells " +
                         to_string(wanted));
    if (value().size() > 0) return evaluation.set({value().data.storage(), value().type, dims(), cells_});
    evaluation.set(evaluation.make(value().type, cells_));
  }

 private:
  const StateArray& value() const { return state().array("value"); }

  int cells_rank_;
  CellShape cells_;
};

RIMETREE_REGISTER_NODE(Constant);

}  // namespace rimetree
