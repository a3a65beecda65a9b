#include "nodes/psv/general/devices.h"

#include <unordered_map>

#include "nodes/psv/general/cell_problem.h"
#include "runtime/core/fingerprint.h"
#include "runtime/core/node/node.h"
#include "runtime/device/cell_launch.h"
#include "runtime/device/device_batch.h"

namespace rimetree::psv::general {

namespace {

GeneralBody body_of(const ChildLayout& layout) {
  GeneralBody body{layout};
  body.n_jones = static_cast<std::int32_t>(layout.jones_elements.size() / 2);
  for (std::size_t i = 0; i < layout.jones_elements.size(); ++i)
    if (layout.jones_elements[i] == 4) body.jones_are_matrices |= std::uint64_t{1} << i;
  return body;
}

class GeneralPath final : public DevicePath {
 public:
  GeneralPath(const ChildLayout& layout, bool has_time) : layout_(layout), body_(body_of(layout)) {
    body_.has_exposure = has_time;
  }

  std::optional<DevicePlan> plan_on_device(const Evaluation& evaluation) const override {
    if (layout_.jones_elements.size() > GeneralBody::kMostJones) return {};
    DevicePlan plan(evaluation);
    plan.type = NumberType::complex;
    plan.is_complex = true;
    plan.cells[Axis::time] = n_time(layout_, evaluation);
    plan.cells[Axis::frequency] = static_cast<std::int32_t>(evaluation.cells().require(Axis::frequency).centre.size());
    plan.n_thread = plan.cells.size();
    plan.wants_time = body_.has_exposure && layout_.has_rates && layout_.smear_time;
    plan.wants_frequency = true;
    return plan;
  }
  bool can_run(const memory::Device& device, const DevicePlan& plan) const override {
    return plan.variant() == program_variant(true, true) ? has_launcher<ProgramJob<GeneralProgram<true>>>(device)
                                                         : has_launcher<ProgramJob<GeneralProgram<false>>>(device);
  }
  void launch(memory::Queue& queue, const CellJob& job, int variant) const override {
    const auto launch_one = [&]<bool kDerivatives>(GeneralProgram<kDerivatives> program) {
      launch_program<Complex<double>>(queue, program, job);
    };
    variant == program_variant(true, true) ? launch_one(GeneralProgram<true>{body_})
                                           : launch_one(GeneralProgram<false>{body_});
  }

 private:
  const ChildLayout& layout_;
  GeneralBody body_;
};

/// Evaluates on one device; gives those for which there is no room.
std::vector<Evaluation*> evaluate_on_one(DeviceContext& device, const GeneralPath& path,
                                         std::span<Evaluation* const> batch, std::span<const DevicePlan> plans,
                                         std::string& why) {
  // Small results of one slot go together: rows change with each time-slot group, a sky does not.
  std::unordered_map<int, std::uint64_t> slot_of;
  for (const Evaluation* evaluation : batch)
    for (std::size_t slot = 0; slot < evaluation->children().size(); ++slot)
      if (evaluation->has_child(slot)) slot_of.emplace(evaluation->child(slot).node, slot);
  const std::uint64_t owner =
      mix(mix(0, std::string_view("general PSV")), static_cast<std::uint64_t>(batch.front()->node.index()));
  return evaluate_as_fits(device, {&path, batch, plans, owner, [&](int node) { return mix(owner, slot_of.at(node)); }},
                          why);
}

}  // namespace

std::string obstacle_to_kernels(std::span<const CellShape> children) {
  const auto varies = [&](std::size_t slot, Axis axis) { return slot < children.size() && children[slot][axis] > 1; };
  std::string what;
  const auto note = [&](bool is_so, const char* text) {
    if (is_so) what += (what.empty() ? "" : ", ") + std::string(text);
  };
  note(varies(kLmn, Axis::time), "directions vary in time");
  note(varies(kLmn, Axis::frequency), "directions vary along channels");
  note(varies(kBrightness, Axis::time), "the brightness varies in time");
  note(varies(kShape, Axis::time), "shapes vary in time");
  note(varies(kShape, Axis::frequency), "shapes vary along channels");
  note(varies(kUvw, Axis::frequency), "(u, v, w) vary along channels");
  return what;
}

std::string obstacle_to_kernels(const Evaluation& evaluation) {
  std::vector<CellShape> children;
  for (const Result* child : evaluation.children())
    children.push_back(child == nullptr ? CellShape{} : child->value.cells());
  std::string what = obstacle_to_kernels(children);
  const auto note = [&](const char* text) { what += (what.empty() ? "" : ", ") + std::string(text); };
  const auto moves = [&](Slot slot) {
    return evaluation.has_child(slot) && !evaluation.child(slot).derivatives.empty();
  };
  if (moves(kLmn)) note("directions depend on unknowns");
  if (moves(kUvw)) note("(u, v, w) depend on unknowns");
  if (moves(kShape)) note("shapes depend on unknowns");
  return what;
}

std::vector<Evaluation*> evaluate_on_devices(BatchContext& context, const ChildLayout& layout,
                                             std::span<Evaluation* const> batch) {
  std::vector<Evaluation*> left, taken;
  std::vector<DevicePlan> plans;
  const Evaluation& first = *batch.front();
  const GeneralPath path(layout, first.cells().has(Axis::time));
  for (Evaluation* evaluation : batch) try {
      const auto plan = context.devices.empty() ? std::nullopt : path.plan_on_device(*evaluation);
      plan ? taken.push_back(evaluation) : left.push_back(evaluation);
      if (plan) plans.push_back(*plan);
    } catch (const std::exception&) {
      left.push_back(evaluation);  // the host will say what is wrong
    }
  // Where somebody reads results on a device they are on one, so that they need not go from device to device.
  const std::size_t n_device = context.feeds_devices ? 1 : context.devices.size(), n = taken.size();
  std::string why, where;
  std::size_t n_done = 0;
  for (std::size_t d = 0; d < n_device && n > 0; ++d) {
    const std::size_t begin = n * d / n_device, count = n * (d + 1) / n_device - begin;
    if (count == 0) continue;
    DeviceContext& device = *context.devices[d];
    if (!path.can_run(device.device(), plans[begin])) {
      left.insert(left.end(), taken.begin() + static_cast<std::ptrdiff_t>(begin),
                  taken.begin() + static_cast<std::ptrdiff_t>(begin + count));
      continue;
    }
    const auto no_room = evaluate_on_one(device, path, std::span(taken).subspan(begin, count),
                                         std::span(plans).subspan(begin, count), why);
    left.insert(left.end(), no_room.begin(), no_room.end());
    n_done += count - no_room.size();
    if (count > no_room.size()) where += (where.empty() ? "" : ", ") + device.device().name();
  }
  const std::string reason = "cell by cell, as " + obstacle_to_kernels(first);
  if (n_done > 0) context.notes.add("psv-general-device", "PSV: on " + where + ", " + reason);
  if (!left.empty()) context.notes.add("psv-general", "PSV: on the host, " + reason);
  if (!why.empty() && !left.empty())
    context.warnings.add("psv-device-memory",
                         "node \"" + left.front()->node.name() + "\" is evaluated on the host: " + why);
  return left;
}

}  // namespace rimetree::psv::general
