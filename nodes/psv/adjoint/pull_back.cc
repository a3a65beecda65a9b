#include "nodes/psv/adjoint/pull_back.h"

#include <map>
#include <tuple>

#include "nodes/psv/adjoint/adjoint.h"
#include "nodes/psv/device/adjoint_solve.h"
#include "nodes/psv/group_rows.h"
#include "nodes/psv/jones_operands.h"
#include "nodes/psv/reference.h"

namespace rimetree::psv {
namespace {

bool is_fast(const ChildLayout& layout, const PullBack& pull) {
  const Evaluation& evaluation = pull.inputs;
  const auto varies = [&](std::size_t slot) { return evaluation.child(slot).value.cells()[Axis::frequency] > 1; };
  for (std::size_t k = 0; k < layout.jones_elements.size(); ++k)
    if (pull.child(kFirstJones + k) != nullptr || varies(kFirstJones + k) || varies(kBrightness)) return false;
  return pull.child(kUvw) == nullptr && is_constant_in_time(evaluation) && !evaluation.child(kLmn).value.is_complex();
}

/// Derivatives with respect to l, m and n, n - n_minus being a function of the three.
void add_positions(const ChildLayout& layout, const Sky<double>& sky, const SourceAdjoints& found, const double* lmn,
                   double* adjoint) {
  for (std::size_t k = 0; k < sky.n_source; ++k) {
    const std::size_t s = sky.order[k];
    for (std::size_t i = 0; i < 3; ++i) {
      Dual<double> x[3] = {lmn[3 * s], lmn[3 * s + 1], lmn[3 * s + 2]};
      x[i].d = 1;
      const double slope = n_offset(x[0], x[1], x[2], layout.n_minus).d;
      adjoint[3 * s + i] += found.positions[3 * k + 2] * slope + (i < 2 ? found.positions[3 * k + i] : 0);
    }
  }
}

/// From derivatives with respect to a source's weight in each plane (see plane_weight in sky.cc) to those with respect
/// to the brightness matrix. Those of Hermitian planes hold for changes that keep it Hermitian: there are no others.
void add_plane(Plane plane, double a, Complex<double>* b) {
  switch (plane) {
    case Plane::kI:
      b[0].re += 0.5 * a, b[3].re += 0.5 * a;
      return;
    case Plane::kQ:
      b[0].re += 0.5 * a, b[3].re -= 0.5 * a;
      return;
    case Plane::kU:
      b[1].re += a;
      return;
    case Plane::kV:
      b[1].im += a;
      return;
    default: {
      const int i = static_cast<int>(plane) - static_cast<int>(Plane::kXxRe);
      (i % 2 == 0 ? b[i / 2].re : b[i / 2].im) += a;
    }
  }
}

void add_brightness(const ChildLayout& layout, const Sky<double>& sky, const SourceAdjoints& found, Vells& adjoint) {
  const std::size_t n_channel = sky.n_weight_channel, n_plane = sky.planes.size();
  for (std::size_t k = 0; k < sky.n_source; ++k)
    for (std::size_t f = 0; f < n_channel; ++f) {
      Complex<double> b[4];
      for (std::size_t p = 0; p < n_plane; ++p)
        add_plane(sky.planes[p], found.weights[(k * n_channel + f) * n_plane + p], b);
      const auto n_element = static_cast<std::size_t>(layout.brightness_elements);
      if (n_element == 1) b[0] += b[3];  // a scalar is both XX and YY
      for (std::size_t e = 0; e < n_element; ++e) {
        const std::size_t at = (sky.order[k] * n_element + e) * n_channel + f;
        if (adjoint.is_complex())
          adjoint.complex()[at] += b[e];
        else
          adjoint.real()[at] += b[e].re;
      }
    }
}

void add_shapes(const Sky<double>& sky, const SourceAdjoints& found, double* adjoint) {
  for (std::size_t k = sky.n_point; k < sky.n_source; ++k)
    for (std::size_t i = 0; i < 3; ++i) adjoint[3 * sky.order[k] + i] += found.shapes[3 * (k - sky.n_point) + i];
}

SkyInput sky_input(const ChildLayout& layout, const Evaluation& evaluation, const SkyOperands<double>& operands) {
  SkyInput input;
  input.n_source = layout.n_source;
  input.n_channel = static_cast<std::ptrdiff_t>(evaluation.cells().axis(Axis::frequency).centre.size());
  input.n_minus = layout.n_minus;
  const Problem<double> views = problem_of(layout, operands, {});
  input.l = views.l, input.m = views.m, input.n = views.n;
  std::copy(views.brightness, views.brightness + 4, input.brightness);
  input.brightness_varies = evaluation.child(kBrightness).value.cells()[Axis::frequency] > 1;
  input.major = views.major, input.minor = views.minor, input.position_angle = views.position_angle;
  input.with_jones = !layout.jones_elements.empty();
  return input;
}

/// What a sum is over.
struct Summed {
  const Sky<double>& sky;
  const Channels& channels;
  const Rows& rows;
  const JonesTerms& jones;
};

/// On the devices of the context, or where their memory is too small on the host.
SourceAdjoints pull_back_anywhere(BatchContext& context, const Node& node, const Summed& of,
                                  const ResultAdjoints& adjoints, SourceWish wish) {
  if (!context.devices.empty()) try {
      const Output none;
      const DeviceProblem problem{.sky = of.sky,
                                  .channels = of.channels,
                                  .rows = of.rows,
                                  .jones = of.jones,
                                  .output = none,
                                  .owner = static_cast<std::uint64_t>(node.index()),
                                  .version = version_of(of.sky)};
      DeviceAdjoints done =
          pull_back_on_devices(problem, adjoints, wish, context.devices, context.threads, context.cancellation);
      if (!done.report.empty()) context.notes.add("psv-device-adjoint", "PSV: " + done.report);
      return std::move(done.sums);
    } catch (const memory::OutOfMemory& error) {
      context.warnings.add("psv-device-memory",
                           "node \"" + node.name() + "\" is differentiated on the host: " + error.what());
    }
  return pull_back_rows(of.sky, of.channels, of.rows, of.jones, adjoints, wish, context.threads, context.cancellation);
}

void pull_back_group(BatchContext& context, const ChildLayout& layout, const std::vector<PullBack*>& group) {
  const PullBack& first = *group.front();
  const Evaluation& evaluation = first.inputs;
  const auto operands = sky_operands<double>(evaluation, {});
  SkyInput input = sky_input(layout, evaluation, operands);
  Operand<double> tangent;
  if (const Vells* known = first.tangent(kBrightness); first.child(kBrightness) != nullptr && known != nullptr) {
    tangent = Operand<double>(*known);
    set_brightness(tangent, layout.brightness_elements, input.brightness_tangent);
  }
  const Sky<double> sky = pack_sky<double>(input);
  const AxisGrid& frequency = evaluation.cells().axis(Axis::frequency);
  const std::size_t n_channel = frequency.centre.size();
  const Channels channels = analyse_channels(frequency.centre.data(), frequency.width.data(), n_channel);

  GroupRows<const Complex<double>> group_rows;
  const std::size_t plane = first.adjoint.cells_per_element();
  JonesOperands jones_operands(layout);
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (input.with_jones) jones_operands.add(group[i]->inputs.children().subspan(kFirstJones));
    group_rows.add(group[i]->inputs.child(kUvw).value, layout.has_rates ? 6 : 3, static_cast<std::int32_t>(i),
                   n_time(layout, evaluation), evaluation.cells(), group[i]->adjoint.complex(), n_channel);
  }
  const JonesTerms jones = jones_operands.terms();
  // Rows on which nothing depends (flagged ones, say) are left out, be their coordinates NaN.
  group_rows.keep_if([&](const Complex<double>* row) {
    for (std::size_t e = 0; e < 4; ++e)
      for (std::size_t f = 0; f < n_channel; ++f)
        if (!(row[e * plane + f] == Complex<double>())) return true;
    return false;
  });
  const SourceWish wish{first.child(kBrightness) != nullptr, first.child(kLmn) != nullptr,
                        evaluation.has_child(kShape) && first.child(kShape) != nullptr};
  const Rows& rows = group_rows.finish(layout.smear_time, layout.smear_frequency);
  const ResultAdjoints adjoints{group_rows.output.data(), static_cast<std::ptrdiff_t>(plane)};
  const SourceAdjoints found =
      pull_back_anywhere(context, evaluation.node, {sky, channels, rows, jones}, adjoints, wish);
  if (wish.positions) add_positions(layout, sky, found, evaluation.child(kLmn).value.real(), first.child(kLmn)->real());
  if (wish.weights) add_brightness(layout, sky, found, *first.child(kBrightness));
  if (wish.shapes) add_shapes(sky, found, first.child(kShape)->real());
}

}  // namespace

std::vector<PullBack*> pull_back_groups(BatchContext& context, const ChildLayout& layout,
                                        std::span<PullBack* const> batch) {
  std::map<std::tuple<const Result*, const Result*, const Result*, std::int32_t>, std::vector<PullBack*>> index;
  std::vector<std::vector<PullBack*>*> groups;  // in the order of the batch
  std::vector<PullBack*> others;
  for (PullBack* pull : batch) {
    if (!is_fast(layout, *pull)) {
      others.push_back(pull);
      continue;
    }
    const Evaluation& evaluation = pull->inputs;
    const Result* shape = evaluation.has_child(kShape) ? &evaluation.child(kShape) : nullptr;
    auto& group = index[{&evaluation.child(kLmn), &evaluation.child(kBrightness), shape, n_time(layout, evaluation)}];
    if (group.empty()) groups.push_back(&group);
    group.push_back(pull);
  }
  for (const auto* group : groups) pull_back_group(context, layout, *group);
  return others;
}

void pull_back_general(const ChildLayout& layout, PullBack& pull) {
  using T = Traced<double>;
  static thread_local Tape<double> tape;
  tape.clear();
  const Source source{.pull = &pull, .tape = &tape};
  const auto sky = sky_operands<T>(pull.inputs, source);
  const auto baseline = baseline_operands<T>(layout, pull.inputs, source);
  const Problem<T> problem = problem_of(layout, pull.inputs, sky, baseline);
  const std::size_t inputs = tape.size(), plane = pull.adjoint.cells_per_element();
  for (std::ptrdiff_t t = 0; t < problem.n_time; ++t)
    for (std::ptrdiff_t f = 0; f < problem.n_channel; ++f) {
      const Complex<double>* adjoint = pull.adjoint.complex() + t * problem.n_channel + f;
      bool any = false;
      for (std::size_t e = 0; e < 4; ++e) any = any || !(adjoint[e * plane] == Complex<double>());
      if (!any) continue;
      for (std::ptrdiff_t s = 0; s < problem.n_source; ++s) {
        const Jones<T> sum = contribution(problem, s, t, f);
        const Complex<T> element[4] = {sum.xx, sum.xy, sum.yx, sum.yy};
        for (std::size_t e = 0; e < 4; ++e) {
          tape.seed(element[e].re.number, adjoint[e * plane].re);
          tape.seed(element[e].im.number, adjoint[e * plane].im);
        }
        tape.sweep(inputs);
      }
    }
  tape.flush();
}

void evaluate_moved(const ChildLayout& layout, const Evaluation& evaluation, long double step, MovedValues& values) {
  const Source source{.parameter = &kDirection, .step = step};
  const auto sky = sky_operands<long double>(evaluation, source);
  const auto baseline = baseline_operands<long double>(layout, evaluation, source);
  const Problem<long double> problem = problem_of(layout, evaluation, sky, baseline);
  values.assign(static_cast<std::size_t>(4 * problem.n_time * problem.n_channel), {});
  evaluate_reference(problem, values.data());
}

}  // namespace rimetree::psv
