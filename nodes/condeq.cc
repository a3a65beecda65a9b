// Condeq: the difference that a Solver makes small
//   data - model
//
// Children: data and model, scalars or tensors of equal dimensions, of the same unit; weight (optional), real, scalar
// or of the dimensions of the result: 1/sigma^2, with sigma the standard deviation of the datum, for complex data that
// of its real and of its imaginary part each. State: weight_factor (default 1; multiplies weights, or is the weight
// where there is no such child). Result: dimensions and unit of data and model; complex if any of the two is. The
// weight does not enter: it goes along with the result (Result::weight) to ChiSquare, and Solver looks at that child.
// Flags: per element, flagged where any child is. Derivative: exact, by dual numbers: those of the data less those of
// the model. Along an axis on which neither data, model, weight nor flags vary a Condeq is one equation, however many
// cells the request has. A complex difference counts as two real equations. MeqTrees: Condeq (there model - data).
#include <algorithm>
#include <cmath>

#include "runtime/cell/cell_node.h"
#include "runtime/core/cells/cell_loop.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

struct CondeqBody {
  std::size_t elements;

  template <class In, class Out>
  void cell(const In& in, Out out) const {
    for (std::size_t e = 0; e < elements; ++e)
      out[e] = in(0, in.dims(0).is_scalar() ? 0 : e) - in(1, in.dims(1).is_scalar() ? 0 : e);
  }
};

class Condeq final : public CellNode<Condeq> {
 public:
  using CellNode::CellNode;
  static constexpr Numbers kNumbers = Numbers::same;

  static NodeClass info() {
    return {.name = "Condeq",
            .algebra = Algebra::residual,
            .summary =
                "Condition equation: data minus model, which a Solver makes small. It counts once for each "
                "cell on which data, model, weight or flags vary.",
            .formula = "data - model",
            .result = "dimensions and unit of data and model; complex if any of the two is",
            .reference = "MeqTrees Condeq (there model - data)",
            .children = {{.label = "data", .shape = "scalar or tensor", .unit = "any", .doc = "what was observed"},
                         {.label = "model",
                          .shape = "scalar or tensor",
                          .unit = "that of data",
                          .doc = "what should equal it; dimensions as data, or one of the two a scalar"},
                         {.label = "weight",
                          .shape = "scalar or tensor",
                          .unit = "1/(unit of data)^2",
                          .doc = "1/sigma^2 of the real and of the imaginary part each; data whose weight is not "
                                 "positive and finite are left out and counted",
                          .optional = true}},
            .state = {{.name = "weight_factor",
                       .type = StateType::real,
                       .default_value = 1.0,
                       .unit = "",
                       .doc = "multiplies the weights; without them, the weight of all data",
                       .per_node = true,
                       .limits = {.least = 0, .most = 1e300, .without_least = true}}}};
  }

  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    const TensorShape &data = *children[0], &model = *children[1];
    if (!data.is_scalar() && !model.is_scalar() && !(data == model))
      throw ShapeError("data have dimensions " + to_string(data) + ", but the model " + to_string(model));
    const TensorShape dims = data.is_scalar() ? model : data;
    if (children.size() > 2 && children[2] != nullptr && !children[2]->is_scalar() && !(*children[2] == dims))
      throw ShapeError("the weight has dimensions " + to_string(*children[2]) + ", expected [] or " + to_string(dims));
    return dims;
  }

  CondeqBody body() const { return {dims().size()}; }

  std::optional<DevicePlan> plan_on_device(const Evaluation& evaluation) const override {
    check_weight(evaluation);
    return CellNode::plan_on_device(evaluation);
  }
  void complete(Evaluation& evaluation) const override {
    combine_flags(evaluation);
    evaluation.result.weight = weights(evaluation);
  }
  void combine_flags(Evaluation& evaluation) const override {
    bool any = false;
    for (const Result* child : evaluation.children()) any = any || (child != nullptr && !child->flags.empty());
    if (!any) return;
    Flags flags(evaluation.pool, dims().size(), flag_cells(evaluation));
    for (const Result* child : evaluation.children())
      for (std::size_t e = 0; child != nullptr && e < dims().size(); ++e)
        merge_flags(flags, e, child->flags, child->flags.planes() > 1 ? e : 0, 1);
    evaluation.set_flags(std::move(flags));
  }

 protected:
  void evaluate(Evaluation& evaluation) const override {
    check_weight(evaluation);
    CellNode::evaluate(evaluation);
  }

 private:
  static void check_weight(const Evaluation& evaluation) {
    if (!evaluation.has_child(2)) return;
    if (evaluation.child(2).value.is_complex()) throw ShapeError("weights must be real, but are complex");
    if (!evaluation.child(2).derivatives.empty())
      throw Error("the weight depends on a solvable parameter; give that Parm solvable=False");
  }
  /// The weights times weight_factor, and 0 where the datum is not finite; empty if all are 1.
  Vells weights(const Evaluation& evaluation) const {
    const Vells& data = evaluation.child(0).value;
    const double factor = state().real("weight_factor");
    const double* numbers = data.is_complex() ? &data.complex()->re : data.real();
    const bool finite = std::all_of(numbers, numbers + data.size() * (data.is_complex() ? 2 : 1),
                                    [](double x) { return std::isfinite(x); });
    const Vells* given = evaluation.has_child(2) ? &evaluation.child(2).value : nullptr;
    if (finite && factor == 1) return given == nullptr ? Vells() : *given;
    CellShape cells = given == nullptr ? CellShape() : given->cells();
    const bool scalar = (given == nullptr || given->dims().is_scalar()) && (finite || data.dims().is_scalar());
    if (!finite) cells = broadcast(cells, data.cells());
    Vells result(evaluation.pool, NumberType::real, scalar ? TensorShape() : dims(), cells);
    const auto data_stride = broadcast_strides(data.cells());
    const auto given_stride = broadcast_strides(given == nullptr ? CellShape() : given->cells());
    std::size_t i = 0;
    for (std::size_t e = 0; e < result.dims().size(); ++e)
      rimetree::for_each_cell(cells, [&](const std::array<int, kAxes>& cell) {
        const auto at = [&](const Vells& values, const auto& stride) {
          return values.at(values.dims().is_scalar() ? 0 : e, offset_of(cell, stride));
        };
        const double weight = given == nullptr ? factor : factor * at(*given, given_stride).re;
        const Complex<double> datum = finite ? Complex<double>() : at(data, data_stride);
        result.real()[i++] = std::isfinite(datum.re) && std::isfinite(datum.im) ? weight : 0;
      });
    return result;
  }
};

RIMETREE_REGISTER_NODE(Condeq);

}  // namespace rimetree
