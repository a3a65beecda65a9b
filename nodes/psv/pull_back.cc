#include "nodes/psv/pull_back.h"

#include <map>
#include <tuple>

#include "nodes/psv/adjoint/jones_targets.h"
#include "nodes/psv/adjoint/sky_adjoints.h"
#include "nodes/psv/device/adjoint_solve.h"
#include "nodes/psv/group_rows.h"
#include "nodes/psv/jones_operands.h"
#include "nodes/psv/planner/solve.h"
#include "nodes/psv/reference.h"

namespace rimetree::psv {
using namespace adjoint;
using namespace device;
using namespace pipeline;
using namespace planner;
namespace {

/// On the devices of the context, or where there are none, or their memory is too small, on the host.
SourceAdjoints pull_back_anywhere(BatchContext& context, const Node& node, const Summed& of,
                                  const ResultAdjoints& adjoints, SourceWish wish) {
  if (!context.devices.empty()) try {
      DeviceAdjoints done = pull_back_on_devices(of, adjoints, wish, machine_of(context));
      if (!done.report.empty()) context.notes.add("psv-device-adjoint", "PSV: " + done.report);
      return std::move(done.sums);
    } catch (const memory::OutOfMemory& error) {
      context.warnings.add("psv-device-memory",
                           "node \"" + node.name() + "\" is differentiated on the host: " + error.what());
    }
  return pull_back_rows(of, adjoints, wish, context.threads, context.cancellation);
}

void pull_back_group(BatchContext& context, const ChildLayout& layout, const std::vector<PullBack*>& group) {
  const PullBack& first = *group.front();
  const Evaluation& evaluation = first.inputs;
  const Sky<double> sky = sky_with_tangent(layout, first);
  const Channels channels = channels_of(evaluation.cells());
  const std::size_t n_channel = channels.frequency_hz.size();
  GroupRows<const Complex<double>> group_rows;
  const std::size_t plane = first.adjoint.cells_per_element();
  JonesOperands jones_operands(layout);
  JonesCollector collector(layout);
  for (const PullBack* pull : group) {
    if (!layout.jones_elements.empty()) jones_operands.add(pull->inputs.children().subspan(kFirstJones));
    collector.add(*pull);
    group_rows.add(layout, pull->inputs, n_time(layout, evaluation), pull->adjoint.complex(), n_channel);
  }
  JonesTerms jones = jones_operands.terms();
  jones.targets = collector.targets();
  // Rows on which nothing depends (flagged ones, say) are left out, be their coordinates NaN.
  group_rows.keep_if([&](const Complex<double>* row) {
    for (std::size_t e = 0; e < 4; ++e)
      for (std::size_t f = 0; f < n_channel; ++f)
        if (!(row[e * plane + f] == Complex<double>())) return true;
    return false;
  });
  if (jones.targets.any() || matrices_vary(sky, jones)) group_rows.order_by_time();
  const SourceWish wish = wish_of(first);
  const Rows& rows = group_rows.finish(layout);
  const ResultAdjoints adjoints{group_rows.output.data(), static_cast<std::ptrdiff_t>(plane)};
  const auto owner = static_cast<std::uint64_t>(evaluation.node.index());
  const Summed of{sky, channels, rows, jones, owner, context.devices.empty() ? SkyVersion{} : version_of(sky)};
  const SourceAdjoints found = pull_back_anywhere(context, evaluation.node, of, adjoints, wish);
  add_to_children(layout, sky, found, first);
  collector.add_to_children(found);
}

}  // namespace

std::vector<PullBack*> pull_back_groups(BatchContext& context, const ChildLayout& layout,
                                        std::span<PullBack* const> batch) {
  std::map<std::tuple<const Result*, const Result*, const Result*, std::int32_t>, std::vector<PullBack*>> index;
  std::vector<std::vector<PullBack*>*> groups;  // in the order of the batch
  std::vector<PullBack*> others;
  for (PullBack* pull : batch) {
    if (!has_kernel(*pull)) {
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
  if (!others.empty() && !context.devices.empty())
    context.notes.add("psv-host-adjoint",
                      "PSV: derivatives are computed on the host where the sky varies in time, directions or shapes "
                      "along channels, or (u, v, w) depend on unknowns");
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
        for_each_element(contribution(problem, s, t, f), [&](int e, const Complex<T>& z) {
          tape.seed(z.re.number, adjoint[static_cast<std::size_t>(e) * plane].re);
          tape.seed(z.im.number, adjoint[static_cast<std::size_t>(e) * plane].im);
        });
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
