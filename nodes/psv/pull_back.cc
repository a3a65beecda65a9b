#include "nodes/psv/pull_back.h"

#include "nodes/psv/adjoint/sky_adjoints.h"
#include "nodes/psv/adjoint/uv_adjoint.h"
#include "nodes/psv/brightness_terms.h"
#include "nodes/psv/bundle.h"
#include "nodes/psv/device/adjoint_solve.h"
#include "nodes/psv/planner/solve.h"
#include "nodes/psv/reference.h"
#include "nodes/psv/slices.h"

namespace rimetree::psv {
using namespace adjoint;
using namespace device;
using namespace pipeline;
using namespace planner;
namespace {

SourceAdjoints pull_back_by_matrix(BatchContext& context, const Summed& of, const Reverse& way,
                                   const ResultAdjoints& adjoints, SourceWish wish) {
  context.notes.add("psv-matrix-adjoint",
                    "PSV: derivatives by the matrix product over sources (" + about_text(way.seconds) + ")");
  return pull_back_by_sides(of, *way.sides, adjoints, wish, context.threads, context.cancellation);
}

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
  Reverse way = plan_reverse(of, wish, context.threads);
  if (way.sides) return pull_back_by_matrix(context, of, way, adjoints, wish);
  if (way.uv_grid) {
    context.notes.add("psv-uv-grid-adjoint", "PSV: derivatives by the uv grid (" + about_text(way.seconds) + ")");
    return pull_back_by_uv_grid(of, *way.uv_grid, adjoints, context.threads, context.cancellation);
  }
  context.notes.add("psv-direct-adjoint", "PSV: derivatives row by row (" + about_text(way.seconds) + ")");
  return pull_back_rows(of, adjoints, wish, context.threads, context.cancellation);
}

/// By the matrix product on the host, which reads what terms are the conjugate transposes of. Gives whether it could.
bool pull_back_by_matrix(BatchContext& context, const ChildLayout& layout, PackedSkies& skies,
                         std::span<const LinearSum> group, GroupRows<const Complex<double>>& rows,
                         std::ptrdiff_t plane) {
  if (layout.jones_elements.empty() || !context.devices.empty()) return false;
  LinearSum sum = group.front();
  sum.reads_originals = true;
  Bundle bundle(context, layout, skies, sum);
  for (const LinearSum& one : group) {
    sum = one;
    sum.reads_originals = true;
    bundle.add(sum);
  }
  const Summed of = bundle.over(rows);
  const Reverse way = plan_reverse(of, bundle.wish(), context.threads);
  if (!way.sides) return false;
  const ResultAdjoints adjoints{rows.output.data(), plane};
  bundle.add_to_children(pull_back_by_matrix(context, of, way, adjoints, bundle.wish()));
  return true;
}

void pull_back_group(BatchContext& context, const ChildLayout& layout, PackedSkies& skies,
                     const std::vector<LinearSum>& group) {
  const PullBack& first = *group.front().pull;
  const std::size_t n_channel = first.inputs.cells().axis(Axis::frequency).centre.size(),
                    plane = first.adjoint.cells_per_element();
  GroupRows<const Complex<double>> rows;
  for (const LinearSum& sum : group)
    rows.add(layout, *sum.inputs, n_time(layout, *sum.inputs), sum.pull->adjoint.complex(), n_channel);
  // Rows on which nothing depends (flagged ones, say) are left out, be their coordinates NaN.
  rows.keep_if([&](const Complex<double>* row) {
    for (std::size_t e = 0; e < 4; ++e)
      for (std::size_t f = 0; f < n_channel; ++f)
        if (!(row[e * plane + f] == Complex<double>())) return true;
    return false;
  });
  if (pull_back_by_matrix(context, layout, skies, group, rows, static_cast<std::ptrdiff_t>(plane))) return;
  Bundle bundle(context, layout, skies, group.front());
  for (const LinearSum& sum : group) bundle.add(sum);
  const Summed of = bundle.over(rows);
  const ResultAdjoints adjoints{rows.output.data(), static_cast<std::ptrdiff_t>(plane)};
  bundle.add_to_children(pull_back_anywhere(context, first.inputs.node, of, adjoints, bundle.wish()));
}

}  // namespace

/// Slice by slice, as far as that is worth while. Gives the others.
static std::vector<PullBack*> pull_back_slices(BatchContext& context, const ChildLayout& layout,
                                               std::vector<PullBack*> batch, PackedSkies& skies) {
  for (const Slicing slicing : kSlicings) {
    Slices slices(layout, slicing);
    batch = slices.take(std::span<PullBack* const>(batch));
    for (std::int32_t slice = 0; slice < slices.count(); ++slice) {
      pull_back_groups(context, layout, slices.pulls_in(slice), skies);
      slices.finish();
    }
  }
  return batch;
}

std::vector<PullBack*> pull_back_groups(BatchContext& context, const ChildLayout& layout,
                                        std::span<PullBack* const> batch, PackedSkies& skies) {
  std::vector<LinearSum> sums;
  std::vector<PullBack*> others;
  for (PullBack* pull : batch)
    if (has_kernel(*pull))
      sums.push_back(in_reverse(layout, *pull));
    else
      others.push_back(pull);
  for (const auto& group : groups_by(sums, [&](const LinearSum& sum) { return sky_key(layout, sum); }))
    pull_back_group(context, layout, skies, group);
  BrightnessTerms terms(layout);
  others = terms.take(context, std::span<PullBack* const>(others));
  if (!terms.pulls().empty()) pull_back_groups(context, terms.layout(), terms.pulls(), terms.skies());
  if (context.devices.empty()) others = pull_back_slices(context, layout, std::move(others), skies);
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
