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
#include <algorithm>
#include <set>
#include <vector>

#include "nodes/psv/compare.h"
#include "nodes/psv/expected.h"
#include "nodes/psv/folded_terms.h"
#include "nodes/psv/general/devices.h"
#include "nodes/psv/linear_sums.h"
#include "nodes/psv/operands.h"
#include "nodes/psv/packed_skies.h"
#include "nodes/psv/pull_back.h"
#include "nodes/psv/reference.h"
#include "nodes/psv/repeated_terms.h"
#include "nodes/psv/slices.h"
#include "nodes/psv/verify_results.h"
#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/error.h"
#include "runtime/core/node/node.h"
#include "runtime/core/node/review.h"
#include "runtime/math/directions.h"

namespace rimetree {

namespace {
using psv::kBrightness, psv::kFirstJones, psv::kLmn, psv::kShape, psv::kUvw;
}  // namespace

class Psv final : public Node, public MethodChoice, public Reviewer {
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
  const psv::ChildLayout& layout() const { return layout_; }

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
  std::unique_ptr<BatchKernel> make_kernel() const override;
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

/// The baselines of a batch, by the kernels where they can, the others one by one.
class PsvKernel final : public BatchKernel {
 public:
  explicit PsvKernel(psv::ChildLayout layout) : layout_(std::move(layout)) {}

  void evaluate(BatchContext& context, std::span<Evaluation* const> batch) override {
    if (!layout_.has_common_jones) return evaluate_stacks(context, layout_, batch, skies_);
    bring_inputs_to_host(context, batch);
    psv::RepeatedTerms repeated;
    evaluate_stacks(context, layout_, repeated.add(layout_, batch), skies_);
    repeated.finish();
  }
  /// Each Jones term has a matrix for each source.
  void evaluate_stacks(BatchContext& context, const psv::ChildLayout& layout, std::span<Evaluation* const> batch,
                       psv::PackedSkies& skies) {
    if (psv::fold_terms(context, layout, batch, [&](psv::FoldedTerms& folded) {
          evaluate_stacks(context, folded.layout(), folded.evaluations(), folded.skies());
        }))
      return;
    std::vector<psv::ForwardSum> sums;
    std::vector<Evaluation*> with_kernels, general;
    for (Evaluation* evaluation : batch) {
      const auto own = psv::linear_sums(*evaluation);
      if (own) sums.insert(sums.end(), own->begin(), own->end());
      (own ? with_kernels : general).push_back(evaluation);
    }
    bring_inputs_to_host(context, with_kernels);
    evaluate_sums(context, layout, std::move(sums), skies);
    if (context.devices.empty()) general = evaluate_slices(context, general);
    if (general.empty()) return;
    const std::vector<Evaluation*> on_host = psv::general::evaluate_on_devices(context, layout_, general);
    bring_inputs_to_host(context, on_host);
    if (!on_host.empty()) BatchKernel::evaluate(context, on_host);
    verify_results(context, layout_, general, nullptr, 0);
  }

  // With Jones terms all planes are summed anyway.
  std::vector<std::size_t> tangent_slots() const override {
    return layout_.jones_elements.empty() ? std::vector<std::size_t>{kBrightness} : std::vector<std::size_t>();
  }
  bool adds_to_originals() const override { return true; }
  void pull_back(BatchContext& context, std::span<PullBack* const> batch) override {
    if (!layout_.has_common_jones) return pull_back_stacks(context, batch);
    psv::RepeatedTerms repeated;
    pull_back_stacks(context, repeated.add(layout_, batch));
    repeated.finish();
  }
  void pull_back_stacks(BatchContext& context, std::span<PullBack* const> batch) {
    std::vector<PullBack*> general = psv::pull_back_groups(context, layout_, batch, skies_);
    if (!general.empty()) BatchKernel::pull_back(context, general);
  }
  bool compares() const override { return true; }
  bool compare(BatchContext& context, std::span<Comparison> batch, double slope, ResidualSums& sums) override {
    std::vector<const psv::ChildLayout*> layouts;
    bool any_common = false;
    for (const PullBack* term : batch.front().terms) {
      const auto* node = dynamic_cast<const Psv*>(&term->inputs.node);
      if (node == nullptr || context.devices.empty()) return false;
      layouts.push_back(&node->layout());
      any_common |= node->layout().has_common_jones;
    }
    if (!any_common) return psv::compare_batch(context, layouts, batch, slope, sums, skies_, compared_);
    psv::RepeatedTerms repeated;
    std::vector<Comparison> seen(batch.begin(), batch.end());
    for (Comparison& comparison : seen)
      for (std::size_t term = 0; term < comparison.terms.size(); ++term)
        comparison.terms[term] = repeated.add(*layouts[term], *comparison.terms[term]);
    const bool done = psv::compare_batch(context, layouts, seen, slope, sums, skies_, compared_);
    if (done) repeated.finish();
    return done;
  }

 private:
  std::vector<Evaluation*> evaluate_slices(BatchContext& context, std::vector<Evaluation*> batch);
  static void bring_inputs_to_host(BatchContext& context, std::span<Evaluation* const> evaluations);
  void evaluate_sums(BatchContext& context, const psv::ChildLayout& layout, std::vector<psv::ForwardSum> sums,
                     psv::PackedSkies& skies);
  /// evaluate(evaluations of the group); what is wrong is wrong with each of them.
  template <class F>
  static void evaluate_or_fail(const std::vector<psv::ForwardSum>& group, const F& evaluate);

  psv::ChildLayout layout_;
  psv::PackedSkies skies_;
  psv::ComparedRowsCache compared_{psv::kMostComparedBytes};
};

std::unique_ptr<BatchKernel> Psv::make_kernel() const { return std::make_unique<PsvKernel>(layout_); }

/// What the host reads, by as few copies as possible.
void PsvKernel::bring_inputs_to_host(BatchContext& context, std::span<Evaluation* const> evaluations) {
  if (context.devices.empty()) return;
  std::vector<const Vells*> inputs;
  for (const Evaluation* evaluation : evaluations) {
    const auto own = evaluation->child_values();
    inputs.insert(inputs.end(), own.begin(), own.end());
  }
  bring_to_host(inputs);
}

/// Slice by slice, as far as that is worth while. Gives the others.
std::vector<Evaluation*> PsvKernel::evaluate_slices(BatchContext& context, std::vector<Evaluation*> batch) {
  for (const psv::Slicing slicing : psv::kSlicings) {
    psv::Slices slices(layout_, slicing);
    batch = slices.take(std::span<Evaluation* const>(batch));
    if (slices.count() > 0)
      context.notes.add("psv-slices", "PSV: " + slicing.name() + " after the other, as " +
                                          psv::general::obstacle_to_kernels(*slices.first()));
    for (std::int32_t slice = 0; slice < slices.count(); ++slice) {
      evaluate_stacks(context, layout_, slices.evaluations_in(slice), skies_);
      slices.finish();
    }
  }
  return batch;
}

void PsvKernel::evaluate_sums(BatchContext& context, const psv::ChildLayout& layout, std::vector<psv::ForwardSum> sums,
                              psv::PackedSkies& skies) {
  const auto derivatives =
      std::stable_partition(sums.begin(), sums.end(), [](const auto& sum) { return sum.derivative == nullptr; });
  std::vector<psv::ForwardSum> others(derivatives, sums.end());
  sums.erase(derivatives, sums.end());
  // Values first: derivatives that are made with them are none of the others.
  for (const std::vector<psv::ForwardSum>& group : psv::sums_of_one_sky(layout, sums))
    evaluate_or_fail(group, [&](std::span<Evaluation* const> evaluations) {
      const std::vector<ParameterId> unknowns = psv::shared_unknowns(context, layout, group);
      std::set<ParameterId> made;
      const auto [total_flux, with_slopes] =
          psv::evaluate_group(context, layout, group, skies, unknowns.empty() ? nullptr : &unknowns.front());
      for (std::size_t i = 0; i < unknowns.size() && with_slopes; ++i)
        if (i == 0 || psv::evaluate_slopes(context, layout, group, unknowns[i], skies)) made.insert(unknowns[i]);
      const std::set<const Evaluation*> own(evaluations.begin(), evaluations.end());
      std::erase_if(others, [&](const psv::ForwardSum& sum) {
        return sum.slot >= kFirstJones && made.contains(sum.derivative->parameter) && own.contains(sum.evaluation);
      });
      const auto operands = psv::sky_operands<double>(*evaluations.front(), {});
      verify_results(context, layout, evaluations, &operands, layout.jones_elements.empty() ? total_flux : 0);
    });
  for (const std::vector<psv::ForwardSum>& group : psv::sums_of_one_sky(layout, others))
    evaluate_or_fail(group, [&](std::span<Evaluation* const>) { evaluate_group(context, layout, group, skies); });
}

template <class F>
void PsvKernel::evaluate_or_fail(const std::vector<psv::ForwardSum>& group, const F& evaluate) {
  std::vector<Evaluation*> evaluations;
  for (const psv::ForwardSum& sum : group) evaluations.push_back(sum.evaluation);
  try {
    evaluate(std::span<Evaluation* const>(evaluations));
  } catch (const Cancelled&) {
    throw;
  } catch (const memory::OutOfMemory&) {
    throw;
  } catch (const std::exception& error) {
    for (Evaluation* evaluation : evaluations) evaluation->fail(error.what());
  }
}

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
