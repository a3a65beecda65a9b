// PSV: visibilities of many sources on one baseline, in one pass.
//
//   V_pq = sum_s [... J2_sp (J1_sp B_s J1_sq^H) J2_sq^H ...] exp(+2 pi i nu/c (u l + v m + w (n - n_minus)))
//          * smearing * shape
//
// Children: lmn [S,3]; brightness [S,2,2] or [S] (Jy); uvw [3] (m), or [2,3] with rates (m/s), which turns smearing on;
//           shape [S,3] (radians; optional); then pairs J_p, J_q^H, each [S] or [S,2,2], the innermost pair first.
// State: n_minus, smear_time, smear_frequency. Result: [2,2] in the unit of the brightness.
// Flags: the default rule. Derivative: exact, by dual numbers through the scalar body (body.h).
// Smirnov 2011 (A&A 527, A106) eq. 14; conventions in runtime/math/conventions.h. MeqTrees: PSVTensor.
#include <cstdio>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include "nodes/psv/device_solve.h"
#include "nodes/psv/jones_operands.h"
#include "nodes/psv/operands.h"
#include "nodes/psv/packed_skies.h"
#include "nodes/psv/reference.h"
#include "nodes/psv/solve_group.h"
#include "nodes/psv/verify.h"
#include "runtime/error.h"
#include "runtime/node.h"
#include "runtime/plugin_api.h"
#include "runtime/stopwatch.h"

namespace rimetree {

namespace {

enum Slot : std::size_t { kLmn, kBrightness, kUvw, kShape, kFirstJones };

/// Beyond this part of the total flux the product of sincs is worth a warning.
constexpr double kSmearingErrorToWarnOf = 1e-3;

}  // namespace

class Psv final : public Node {
 public:
  explicit Psv(const State& state)
      : Node(state),
        n_minus_(static_cast<int>(state.integer("n_minus"))),
        smear_time_(state.boolean("smear_time")),
        smear_frequency_(state.boolean("smear_frequency")) {
    if (n_minus_ != 0 && n_minus_ != 1) throw StateError("state field \"n_minus\" must be 0 or 1");
  }

  static NodeClass info() {
    return {
        .name = "PSV",
        .summary = "Visibilities of many sources on one baseline, in one pass: the monolithic node.",
        .formula = "sum_s [.. J_sp B_s J_sq^H ..] exp(+2 pi i nu/c (u l + v m + w (n - n_minus))) smearing shape",
        .result = "[2,2], unit of the brightness",
        .reference = "Smirnov 2011, A&A 527, A106, eq. 14; conventions: docs/conventions.md. MeqTrees: PSVTensor",
        .children = {{.label = "lmn", .shape = "[S,3]", .unit = "", .doc = "direction cosines l, m, n"},
                     {.label = "brightness",
                      .shape = "[S,2,2] or [S]",
                      .unit = "Jy",
                      .doc = "brightness matrices XX XY YX YY, or unpolarised fluxes"},
                     {.label = "uvw",
                      .shape = "[3] or [2,3]",
                      .unit = "m, m/s",
                      .doc = "baseline as in the Measurement Set; a second row holds its rates and turns smearing on"},
                     {.label = "shape",
                      .shape = "[S,3]",
                      .unit = "rad",
                      .doc = "Gaussian major and minor axis (FWHM) and position angle; zeros for points",
                      .optional = true},
                     {.label = "jones",
                      .shape = "[S] or [S,2,2]",
                      .unit = "",
                      .doc = "pairs J_p, J_q^H (as ConjTranspose gives it), the innermost pair first",
                      .repeated = true}},
        .state = {{.name = "n_minus",
                   .type = StateType::integer,
                   .default_value = std::int64_t{1},
                   .doc = "1: phase zero at the phase centre, 0: no fringe stopping"},
                  {.name = "smear_time",
                   .type = StateType::boolean,
                   .default_value = true,
                   .doc = "time smearing over the cell's width, where uvw has rates"},
                  {.name = "smear_frequency",
                   .type = StateType::boolean,
                   .default_value = true,
                   .doc = "bandwidth smearing over the channel's width, where uvw has rates"}}};
  }

  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    layout_ = {};
    const TensorShape& lmn = *children[kLmn];
    if (lmn.rank == 0 || lmn.rank > 2 || lmn[lmn.rank - 1] != 3)
      throw ShapeError("child \"lmn\" has dimensions " + to_string(lmn) + "; expected [S,3] for S sources");
    layout_.n_source = lmn.rank == 2 ? lmn[0] : 1;
    layout_.brightness_elements = psv::elements_per_source(*children[kBrightness], layout_.n_source, "brightness");
    const TensorShape& uvw = *children[kUvw];
    layout_.has_rates = uvw == TensorShape{2, 3};
    if (!layout_.has_rates && !(uvw == TensorShape{3}))
      throw ShapeError("child \"uvw\" has dimensions " + to_string(uvw) + "; expected [3], or [2,3] with rates");
    if (children[kShape] != nullptr && (children[kShape]->size() != static_cast<std::size_t>(3 * layout_.n_source)))
      throw ShapeError("child \"shape\" has dimensions " + to_string(*children[kShape]) + "; expected [" +
                       std::to_string(layout_.n_source) + ",3]");
    for (std::size_t i = kFirstJones; i < children.size(); ++i)
      layout_.jones_elements.push_back(psv::elements_per_source(*children[i], layout_.n_source, "jones"));
    if (layout_.jones_elements.size() % 2 != 0)
      throw ShapeError("Jones terms come in pairs J_p, J_q^H, but there are " +
                       std::to_string(layout_.jones_elements.size()));
    return {2, 2};
  }

  DependencySet own_dependencies() const override { return kDomain; }
  std::vector<Axis> own_axes() const override { return {Axis::frequency}; }

  void evaluate_batch(BatchContext& context, std::span<Evaluation* const> batch) const override {
    // Baselines that see the same sky form one sum; others (a sky that varies in time, derivatives) go one by one.
    std::map<std::tuple<const Result*, const Result*, const Result*, std::int32_t>, std::vector<Evaluation*>> groups;
    std::vector<Evaluation*> general;
    for (Evaluation* evaluation : batch) {
      const Result* shape = evaluation->has_child(kShape) ? &evaluation->child(kShape) : nullptr;
      if (is_fast(*evaluation))
        groups[{&evaluation->child(kLmn), &evaluation->child(kBrightness), shape, n_time(*evaluation)}].push_back(
            evaluation);
      else
        general.push_back(evaluation);
    }
    for (const auto& [sky, evaluations] : groups) {
      try {
        evaluate_group(context, evaluations);
      } catch (const Cancelled&) {
        throw;
      } catch (const memory::OutOfMemory&) {
        throw;
      } catch (const std::exception& error) {
        for (Evaluation* evaluation : evaluations) fail(*evaluation, error.what());
      }
    }
    if (general.empty()) return;
    Node::evaluate_batch(context, general);
    verify(context, general, nullptr, 0);
  }

  Description describe(const Request& request, std::span<const CellShape> children, std::size_t n_node,
                       std::span<const std::unique_ptr<DeviceContext>> devices) const override;

 protected:
  /// The general path: one cell at a time through the scalar body, whatever varies along whatever axis.
  void evaluate(Evaluation& evaluation) const override {
    evaluation.set(general<double>(evaluation, nullptr));
    for (const ParameterId& parameter : evaluation.parameters())
      evaluation.add(parameter, general<Dual<double>>(evaluation, &parameter));
  }

 private:
  /// Time cells of the result: those of the children, or all of the request where time smearing needs their widths.
  std::int32_t n_time(const Evaluation& evaluation) const {
    CellShape cells;
    for (const Result* child : evaluation.children())
      if (child != nullptr) cells = broadcast(cells, child->value.cells());
    if (cells.extent[2] != 1 || cells.extent[3] != 1) throw ShapeError("PSV knows the time and freq axes only");
    if (layout_.has_rates && smear_time_ && evaluation.cells().has(Axis::time))
      return evaluation.cells().shape()[Axis::time];
    return cells[Axis::time];
  }

  bool is_fast(const Evaluation& evaluation) const {
    const auto constant = [](const Result& child, bool in_frequency) {
      const CellShape& cells = child.value.cells();
      return cells[Axis::time] == 1 && (!in_frequency || cells[Axis::frequency] == 1);
    };
    return evaluation.parameters().empty() && evaluation.cells().has(Axis::frequency) &&
           constant(evaluation.child(kLmn), true) && constant(evaluation.child(kBrightness), false) &&
           (!evaluation.has_child(kShape) || constant(evaluation.child(kShape), true)) &&
           evaluation.child(kUvw).value.cells()[Axis::frequency] == 1 && !evaluation.child(kUvw).value.is_complex();
  }

  void evaluate_group(BatchContext& context, const std::vector<Evaluation*>& group) const;
  template <class T>
  Vells general(const Evaluation& evaluation, const ParameterId* parameter) const;
  template <class T>
  psv::SkyOperands<T> sky_operands(const Evaluation& evaluation, const ParameterId* parameter) const;
  template <class T>
  psv::BaselineOperands<T> baseline_operands(const Evaluation& evaluation, const ParameterId* parameter) const;
  template <class T>
  psv::Problem<T> problem(const Evaluation& evaluation, const psv::SkyOperands<T>& sky,
                          const psv::BaselineOperands<T>& baseline) const;
  void verify(BatchContext& context, std::span<Evaluation* const> done, const psv::SkyOperands<double>* shared,
              double total_flux) const;

  int n_minus_;
  bool smear_time_, smear_frequency_;
  mutable psv::PackedSkies skies_;   // of batches that this node is the first of
  mutable psv::ChildLayout layout_;  // set by result_dims, which the forest calls once, before any evaluation
};

template <class T>
psv::SkyOperands<T> Psv::sky_operands(const Evaluation& evaluation, const ParameterId* parameter) const {
  psv::SkyOperands<T> sky;
  sky.lmn = {evaluation.child(kLmn), parameter, false};
  sky.brightness = {evaluation.child(kBrightness), parameter, true};
  sky.has_shape = evaluation.has_child(kShape);
  if (sky.has_shape) sky.shape = {evaluation.child(kShape), parameter, false};
  return sky;
}

template <class T>
psv::BaselineOperands<T> Psv::baseline_operands(const Evaluation& evaluation, const ParameterId* parameter) const {
  psv::BaselineOperands<T> baseline;
  baseline.uvw = {evaluation.child(kUvw), parameter, false};
  for (std::size_t k = 0; k < layout_.jones_elements.size(); ++k)
    baseline.jones.emplace_back(evaluation.child(kFirstJones + k), parameter, true);
  baseline.pairs = psv::jones_pairs(layout_, baseline.jones.data());
  return baseline;
}

template <class T>
psv::Problem<T> Psv::problem(const Evaluation& evaluation, const psv::SkyOperands<T>& sky,
                             const psv::BaselineOperands<T>& baseline) const {
  const Cells& cells = evaluation.cells();
  const AxisGrid& frequency = cells.require(Axis::frequency);
  psv::Problem<T> problem = psv::problem_of(layout_, sky, baseline);
  problem.n_time = n_time(evaluation);
  problem.n_channel = static_cast<std::ptrdiff_t>(frequency.centre.size());
  problem.n_minus = n_minus_;
  problem.frequency_hz = frequency.centre.data();
  problem.width_hz = frequency.width.data();
  problem.exposure_s = cells.has(Axis::time) ? cells.axis(Axis::time).width.data() : nullptr;
  problem.smear_time = smear_time_;
  problem.smear_frequency = smear_frequency_;
  return problem;
}

template <class T>
Vells Psv::general(const Evaluation& evaluation, const ParameterId* parameter) const {
  const auto sky = sky_operands<T>(evaluation, parameter);
  const auto baseline = baseline_operands<T>(evaluation, parameter);
  const psv::Problem<T> problem = this->problem(evaluation, sky, baseline);
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

namespace {

/// Rows of a group of baselines, flattened: baseline by baseline, within that time by time.
struct GroupRows {
  std::vector<double> uvw[6], exposure_s;
  std::vector<std::int32_t> baseline, time;
  std::vector<Complex<double>*> output;
  psv::Rows rows;

  void add(const Vells& values, int n_components, std::int32_t index, std::int32_t n_time, const Cells& cells,
           Complex<double>* target, std::size_t n_channel) {
    const std::size_t plane = values.cells_per_element();
    for (std::int32_t t = 0; t < n_time; ++t) {
      const std::size_t cell = plane == 1 ? 0 : static_cast<std::size_t>(t);
      for (int i = 0; i < n_components; ++i)
        uvw[i].push_back(values.real()[static_cast<std::size_t>(i) * plane + cell]);
      if (cells.has(Axis::time) && n_components == 6) exposure_s.push_back(cells.axis(Axis::time).width[t]);
      baseline.push_back(index);
      time.push_back(t);
      output.push_back(target + static_cast<std::size_t>(t) * n_channel);
    }
  }
  const psv::Rows& finish(bool smear_time, bool smear_frequency) {
    const auto data = [](const std::vector<double>& values) { return values.empty() ? nullptr : values.data(); };
    rows = {output.size(), data(uvw[0]),     data(uvw[1]), data(uvw[2]),    data(uvw[3]),    data(uvw[4]),
            data(uvw[5]),  data(exposure_s), smear_time,   smear_frequency, baseline.data(), time.data()};
    return rows;
  }
};

void warn_of_large_cells(BatchContext& context, const Node& node, const psv::SmearingLimits& limits) {
  if (limits.error <= kSmearingErrorToWarnOf) return;
  char text[400];
  std::snprintf(text, sizeof text,
                "node \"%s\": cells are large for time and bandwidth smearing as a product of sincs: phases change by "
                "up to %.3g rad over an exposure and %.3g rad across a channel, and the visibilities of the farthest "
                "sources may be wrong by %.2g of the total flux; use shorter exposures or narrower channels",
                node.name().c_str(), limits.time_rad, limits.frequency_rad, limits.error);
  context.warnings.add("psv-large-cells", text);
}

}  // namespace

void Psv::evaluate_group(BatchContext& context, const std::vector<Evaluation*>& group) const {
  Stopwatch watch;
  const Evaluation& first = *group.front();
  const AxisGrid& frequency = first.cells().axis(Axis::frequency);
  const std::size_t n_channel = frequency.centre.size(), n_group = group.size();
  const std::int32_t n_times = n_time(first);

  const auto operands = sky_operands<double>(first, nullptr);
  psv::SkyInput input;
  input.n_source = layout_.n_source;
  input.n_channel = static_cast<std::ptrdiff_t>(n_channel);
  input.n_minus = n_minus_;
  const psv::Problem<double> views = psv::problem_of(layout_, operands, {});
  input.l = views.l, input.m = views.m, input.n = views.n;
  std::copy(views.brightness, views.brightness + 4, input.brightness);
  input.brightness_varies = first.child(kBrightness).value.cells()[Axis::frequency] > 1;
  input.major = views.major, input.minor = views.minor, input.position_angle = views.position_angle;
  input.with_jones = !layout_.jones_elements.empty();
  const auto packed = skies_.get(input, {first.child(kLmn).value.storage(), first.child(kBrightness).value.storage(),
                                         first.has_child(kShape) ? first.child(kShape).value.storage() : nullptr});
  const psv::Sky<double>& sky = packed->sky;
  const psv::Channels channels = psv::analyse_channels(frequency.centre.data(), frequency.width.data(), n_channel);
  context.split.unchanged_seconds += watch.lap();

  CellShape shape;
  shape[Axis::time] = n_times;
  shape[Axis::frequency] = static_cast<std::int32_t>(n_channel);
  GroupRows group_rows;
  std::vector<Vells> targets;
  psv::JonesOperands jones_operands(layout_);
  for (std::size_t i = 0; i < n_group; ++i) {
    const Evaluation& evaluation = *group[i];
    targets.push_back(evaluation.make(NumberType::complex, shape));
    group_rows.add(evaluation.child(kUvw).value, layout_.has_rates ? 6 : 3, static_cast<std::int32_t>(i), n_times,
                   evaluation.cells(), targets.back().complex(), n_channel);
    if (input.with_jones) jones_operands.add(evaluation.children().subspan(kFirstJones));
  }
  const psv::JonesTerms jones = jones_operands.terms();
  const psv::Rows& rows = group_rows.finish(smear_time_, smear_frequency_);
  warn_of_large_cells(context, *this, psv::largest_phase_change(sky.extent, channels, rows));

  const psv::Output output{group_rows.output.data(), static_cast<std::ptrdiff_t>(shape.size())};
  context.split.changed_seconds += watch.lap();
  psv::solve_group(context, first.node, {input, sky, channels, rows, jones, output}, packed->version,
                   tolerance_of(first.request));
  for (std::size_t i = 0; i < n_group; ++i) group[i]->set(std::move(targets[i]));
  verify(context, group, &operands, input.with_jones ? 0 : sky.total_flux);
}

/// Computes some of the visibilities just made again, in extended precision. `total_flux`: what errors are measured in;
/// 0: that of each visibility. The choice depends on the request alone.
void Psv::verify(BatchContext& context, std::span<Evaluation* const> done, const psv::SkyOperands<double>* shared,
                 double total_flux) const {
  const Request& request = done.front()->request;
  std::mt19937_64 random(request.data_id);
  for (int k = 0; k < request.verify; ++k) {
    const Evaluation& evaluation = *done[random() % done.size()];
    const Vells& value = evaluation.result.value;
    if (value.empty()) continue;  // failed
    const auto own = shared ? psv::SkyOperands<double>() : sky_operands<double>(evaluation, nullptr);
    const auto baseline = baseline_operands<double>(evaluation, nullptr);
    const psv::Problem<double> problem = this->problem(evaluation, shared ? *shared : own, baseline);
    const auto t = static_cast<std::ptrdiff_t>(random() % static_cast<std::uint64_t>(problem.n_time));
    const auto f = static_cast<std::ptrdiff_t>(random() % static_cast<std::uint64_t>(problem.n_channel));
    const psv::ExtendedVisibility expected = psv::extended_visibility(problem, t, f);
    const long double flux = total_flux > 0 ? total_flux : expected.flux;
    double error = 0;
    for (std::size_t e = 0; e < 4; ++e) {
      const Complex<double> got = value.at(e, static_cast<std::size_t>(t * problem.n_channel + f));
      const auto difference = std::abs(std::complex<long double>(got.re, got.im) - expected.value[e]);
      const auto relative = static_cast<double>(flux > 0 ? difference / flux : difference);
      if (!(relative <= error)) error = relative;
    }
    context.verification.add(
        error, evaluation.node.name() + " at time " + std::to_string(t) + ", channel " + std::to_string(f));
  }
}

Description Psv::describe(const Request& request, std::span<const CellShape> children, std::size_t n_node,
                          std::span<const std::unique_ptr<DeviceContext>> devices) const {
  if (!request.cells->has(Axis::frequency)) return {};
  const AxisGrid& frequency = request.cells->axis(Axis::frequency);
  const auto varies = [&](std::size_t slot) { return children[slot][Axis::frequency] > 1; };
  if (varies(kLmn) || varies(kUvw) || children[kLmn][Axis::time] > 1 || children[kBrightness][Axis::time] > 1)
    return {"PSV: cell by cell, since directions or brightness vary in time or frequency", 0};
  if (!devices.empty()) return {"PSV: " + psv::method_on_devices(devices, tolerance_of(request)), 0};
  psv::Outlook outlook;
  outlook.n_source = static_cast<std::size_t>(layout_.n_source);
  const bool all_times = layout_.has_rates && smear_time_;
  outlook.n_row =
      n_node * static_cast<std::size_t>(all_times ? request.cells->shape()[Axis::time] : children[kUvw][Axis::time]);
  outlook.n_pair = static_cast<int>(layout_.jones_elements.size() / 2);
  for (std::size_t slot = kFirstJones; slot < children.size(); ++slot) outlook.jones_vary |= varies(slot);
  outlook.spectra = varies(kBrightness);
  outlook.smearing = layout_.has_rates;
  outlook.tolerance = tolerance_of(request);
  const psv::Channels channels =
      psv::analyse_channels(frequency.centre.data(), frequency.width.data(), frequency.centre.size());
  const psv::Choice choice = psv::expected_choice(outlook, channels);
  return {"PSV: " + choice.reason, choice.seconds};
}

RIMETREE_REGISTER_NODE(Psv);

}  // namespace rimetree
