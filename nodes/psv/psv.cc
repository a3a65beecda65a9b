// PSV: visibilities of many sources on one baseline, in one pass.
//
//   V_pq = sum_s [... J2_sp (J1_sp B_s J1_sq^H) J2_sq^H ...] exp(+2 pi i nu/c (u l + v m + w (n - n_minus)))
//          * smearing * shape
//
// Children: lmn [S,3]; brightness [S,2,2] or [S] (Jy); uvw [3] (m), or [2,3] with rates (m/s), which turns smearing on;
//           shape [S,3] or [S,6] (radians), or with the number of a profile [S,4] or [S,7] (optional); then pairs J_p,
//           J_q^H, each [S] or [S,2,2], or [] or [2,2] if all sources have the same, the innermost pair first.
// State: n_minus, smear_time, smear_frequency, time_width_s, freq_width_hz. Result: [2,2] in the unit of the
// brightness. Flags: the default rule. Derivative: exact; with respect to what brightness and Jones terms depend on by
// the kernels that give the value, else by dual numbers through the scalar body (body.h). Smirnov 2011 (A&A 527, A106)
// eq. 14; conventions in runtime/math/conventions.h. MeqTrees: PSVTensor.
#include <vector>

#include "nodes/psv/batch.h"
#include "nodes/psv/expected.h"
#include "nodes/psv/operands.h"
#include "nodes/psv/pull_back.h"
#include "nodes/psv/reference.h"
#include "nodes/psv/repeated_terms.h"
#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/error.h"
#include "runtime/core/node/node.h"
#include "runtime/core/node/review.h"
#include "runtime/math/directions.h"

namespace rimetree {

namespace {
using psv::kBrightness, psv::kFirstJones, psv::kLmn, psv::kShape, psv::kUvw;
}  // namespace

class Psv final : public Node, public psv::HasLayout, public MethodChoice, public Reviewer {
 public:
  explicit Psv(const State& state) : Node(state) {
    layout_.n_minus = static_cast<int>(state.integer("n_minus"));
    layout_.smear_time = state.boolean("smear_time");
    layout_.smear_frequency = state.boolean("smear_frequency");
    layout_.widths = SmearingWidths(state);
  }

  static NodeClass info() {
    return {
        .name = "PSV",
        .algebra = Algebra::source_sum,
        .summary = "Visibilities of many sources on one baseline, in one pass: the monolithic node.",
        .formula = "sum_s [.. J_sp B_s J_sq^H ..] exp(+2 pi i nu/c (u l + v m + w (n - n_minus))) smearing shape",
        .result = "[2,2], unit of the brightness",
        .reference = "Smirnov 2011, A&A 527, A106, eq. 14; conventions: docs/conventions.md. MeqTrees: PSVTensor",
        .children = {{.label = "lmn",
                      .shape = "[S,3] or [3]",
                      .unit = "dimensionless",
                      .doc = "direction cosines",
                      .is_real = true},
                     {.label = "brightness",
                      .shape = "[S,2,2] or [S]; of one source also [2,2] or []",
                      .unit = "Jy",
                      .doc = "brightness matrices XX XY YX YY, or unpolarised fluxes"},
                     {.label = "uvw",
                      .shape = "[3] or [2,3]",
                      .unit = "m, m/s",
                      .doc = "baseline as in the Measurement Set; a second row holds its rates and turns smearing on",
                      .is_real = true},
                     {.label = "shape",
                      .shape = "[S,3], [S,4], [S,6] or [S,7]; of one source also a row",
                      .unit = "rad",
                      .doc = "major and minor axis and position angle in the (l, m) plane; or six numbers, the "
                             "components of both axes along u, v and w; zeros for points. One number more says what "
                             "profile it is, and what its axes are: " +
                             all_profiles() + "; without it all are of the first one",
                      .optional = true,
                      .is_real = true},
                     {.label = "jones",
                      .shape = "[S], [S,2,2], [] or [2,2]",
                      .unit = "dimensionless",
                      .doc =
                          "pairs J_p, J_q^H (as ConjTranspose gives it), the innermost pair first; one without "
                          "sources is the same for all of them (outside of all others, J_p @ PSV @ J_q^H costs less)",
                      .repeated = true}},
        .state = {{.name = "n_minus",
                   .type = StateType::integer,
                   .default_value = std::int64_t{1},
                   .doc = "1: phase zero at the phase centre, 0: no fringe stopping",
                   .limits = {.least = 0, .most = 1}},
                  {.name = "smear_time",
                   .type = StateType::boolean,
                   .default_value = true,
                   .doc = "time smearing over the cell's width, where uvw has rates"},
                  {.name = "smear_frequency",
                   .type = StateType::boolean,
                   .default_value = true,
                   .doc = "bandwidth smearing over the channel's width, where uvw has rates"},
                  SmearingWidths::time_field(),
                  SmearingWidths::freq_field()}};
  }

  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    layout_of(children);
    return {2, 2};
  }
  void bind(std::span<const TensorShape* const> children) override { layout_ = layout_of(children); }
  const psv::ChildLayout& layout() const override { return layout_; }

  /// The general path reads values where they are.
  NodeTraits own_traits() const override {
    return {.depends_on = kDomain,
            .varies_along = set_of(Axis::frequency),
            .mixed_axes = kNoAxes,
            .is_function = true,
            .reads_no_values = true};
  }
  Capabilities capabilities() const override { return {.method = this, .reviewer = this}; }
  void review(const Review& review) const override {
    const Result* lmn = review.constant(kLmn);
    if (lmn == nullptr || lmn->value.is_complex() || review.good_directions.contains(lmn)) return;
    const std::string mistake = first_mistake_in_directions(
        lmn->value.real(), static_cast<std::size_t>(layout_.n_source), lmn->value.cells_per_element());
    if (!mistake.empty()) throw Error(mistake);
    review.good_directions.insert(lmn);
  }
  std::unique_ptr<BatchKernel> make_kernel() const override { return psv::make_batch_kernel(layout_); }
  Description describe(const ExpectedBatch& batch) const override { return psv::expected(layout_, batch); }

 protected:
  /// The general path: one cell at a time through the scalar body, whatever varies along whatever axis.
  void evaluate(Evaluation& evaluation) const override {
    evaluation.set(general<double>(evaluation, nullptr));
    for (const ParameterId& parameter : evaluation.parameters())
      evaluation.add(parameter, general<Dual<double>>(evaluation, &parameter));
  }
  void pull_back(PullBack& pull) const override { psv::pull_back_general(layout_, pull); }
  bool evaluate_moved(const Evaluation& evaluation, long double step, MovedValues& values) const override {
    psv::RepeatedTerms repeated;
    psv::evaluate_moved(layout_, repeated.see(layout_, evaluation), step, values);
    return true;
  }

 private:
  template <class T>
  Vells general(const Evaluation& evaluation, const ParameterId* parameter) const;
  static int shape_columns_of(const TensorShape& dims, int n_source) {
    for (const int columns : {3, 4, 6, 7})
      if (dims.size() == static_cast<std::size_t>(columns * n_source) && dims[dims.rank - 1] == columns) return columns;
    const std::string s = std::to_string(n_source);
    throw ShapeError("child \"shape\" has dimensions " + to_string(dims) + "; expected [" + s + ",3], [" + s +
                     ",4], [" + s + ",6] or [" + s + ",7]");
  }
  psv::ChildLayout layout_of(std::span<const TensorShape* const> children) const {
    psv::ChildLayout layout = layout_;  // what the state says
    layout.jones_elements.clear();
    layout.has_common_jones = false;
    const TensorShape& lmn = *children[kLmn];
    layout.n_source = lmn.rank == 2 ? lmn[0] : 1;
    layout.brightness_elements = psv::elements_per_source(*children[kBrightness], layout.n_source, "brightness");
    layout.has_rates = *children[kUvw] == TensorShape{2, 3};
    layout.shape_columns = children[kShape] == nullptr ? 0 : shape_columns_of(*children[kShape], layout.n_source);
    for (std::size_t i = kFirstJones; i < children.size(); ++i) {
      const bool common = psv::is_common(*children[i], layout.n_source);
      layout.has_common_jones |= common;
      layout.jones_elements.push_back(common ? static_cast<int>(children[i]->size())
                                             : psv::elements_per_source(*children[i], layout.n_source, "jones"));
    }
    if (layout.jones_elements.size() % 2 != 0)
      throw ShapeError("Jones terms come in pairs J_p, J_q^H, but there are " +
                       std::to_string(layout.jones_elements.size()));
    return layout;
  }

  psv::ChildLayout layout_;
};

template <class T>
Vells Psv::general(const Evaluation& evaluation, const ParameterId* parameter) const {
  const auto sky = psv::sky_operands<T>(evaluation, {.parameter = parameter});
  const auto baseline = psv::baseline_operands<T>(layout_, evaluation, {.parameter = parameter});
  const psv::Problem<T> problem = psv::problem_of(layout_, evaluation, sky, baseline);
  CellShape shape;
  shape[Axis::time] = static_cast<std::int32_t>(problem.n_time);
  shape[Axis::frequency] = static_cast<std::int32_t>(problem.n_channel);
  Vells target = evaluation.make(NumberType::complex, shape);
  if constexpr (std::is_same_v<T, double>) {
    psv::evaluate_reference(problem, target.complex());
  } else {
    std::vector<Complex<T>> dual(target.size());
    psv::evaluate_reference(problem, dual.data());
    for (std::size_t i = 0; i < dual.size(); ++i) target.complex()[i] = {dual[i].re.d, dual[i].im.d};
  }
  return target;
}

RIMETREE_REGISTER_NODE(Psv);

}  // namespace rimetree
