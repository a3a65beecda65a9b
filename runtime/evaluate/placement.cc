// The rule (PlacementRule): a batch runs on the device that has an input of which the host has no copy. If all inputs
// are on the host it goes to the first device if the results are many numbers, take no less memory than the inputs, and
// are asked for or read by a class that can read them there. On emulated devices size does not matter. The rule looks
// at shapes only, so that a run takes the same way each time. Derivatives count like values.
//
// Always on the host: nodes on the way of a reverse pass, reductions of flagged values, and classes without a body, or
// whose body cannot be recorded. Flags are made on the host too: they are small or
// not there. So is a Condeq's weight, for which it looks whether data are finite.
//
// Before the host evaluates a batch, what its nodes read is brought down together, neighbours in a block by one copy;
// nodes that only pass values on bring nothing down. Roots are on the host when an evaluation ends, with their
// derivatives.
#include "runtime/evaluate/placement.h"

#include <algorithm>

#include "runtime/core/node/node.h"
#include "runtime/device/recorded_job.h"

namespace rimetree {

namespace {

/// What each node of a batch would do on a device; false if the host has to do the batch, or is to say what is wrong.
bool plan_on_device(std::span<Evaluation* const> batch, std::vector<DevicePlan>& plans) {
  for (const Evaluation* evaluation : batch) try {
      const DevicePath* path = evaluation->node.device_path();
      const auto plan = path != nullptr ? path->plan_on_device(*evaluation) : std::nullopt;
      if (!plan) return false;
      plans.push_back(*plan);
    } catch (const std::exception&) {
      return false;
    }
  return true;
}

/// The arrays of the device that has an input of which the host has no copy; nullptr if there is no such input.
memory::ResidentArrays* where_inputs_are(std::span<Evaluation* const> batch) {
  for (const Evaluation* evaluation : batch)
    for (const Vells* values : evaluation->child_values())
      if (!values->is_on_host()) return &values->device()->block().arrays();
  return nullptr;
}

/// Inputs without a stamp are results of loops, and may change without anybody knowing.
bool are_known(std::span<Evaluation* const> batch) {
  for (const Evaluation* evaluation : batch)
    for (const Result* child : evaluation->children())
      if (child != nullptr && child->stamp == 0) return false;
  return true;
}

}  // namespace

void Placement::open(const DeviceChoice& choice) {
  devices_.clear();  // what they have goes before the new ones ask what is free
  devices_ = open_devices(choice);
  choice_ = choice;
}

PlacementRule Placement::rule(const DeviceContext& device) const {
  if (rule_) return *rule_;
  return device.device().is_emulated() ? PlacementRule{1, false} : PlacementRule{};
}

bool Placement::is_worth_a_launch(const DeviceContext& device, std::span<Evaluation* const> batch,
                                  std::span<const DevicePlan> plans) const {
  const PlacementRule limits = rule(device);
  std::size_t values = 0, result_bytes = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const std::size_t count = batch[i]->node.dims().size() * plans[i].cells.size() * (1 + plans[i].parameters.size());
    values += count;
    result_bytes += count * (plans[i].type == NumberType::complex ? sizeof(Complex<double>) : sizeof(double));
  }
  if (values < std::max<std::size_t>(limits.least_values, 1)) return false;
  if (!limits.weigh_bytes) return true;
  std::vector<const Vells*> inputs;
  for (const Evaluation* evaluation : batch) {
    const auto own = evaluation->child_values();
    inputs.insert(inputs.end(), own.begin(), own.end());
  }
  std::sort(inputs.begin(), inputs.end());
  inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
  std::size_t input_bytes = 0;
  for (const Vells* input : inputs) input_bytes += input->bytes();
  return input_bytes <= result_bytes;
}

DeviceContext* Placement::choose(std::span<Evaluation* const> batch, bool wanted,
                                 std::vector<DevicePlan>& plans) const {
  if (devices_.empty() || batch.empty()) return nullptr;
  const DevicePath* path = batch.front()->node.device_path();
  if (path == nullptr || !plan_on_device(batch, plans)) return nullptr;
  DeviceContext* device = device_for(batch, wanted, plans);
  const auto can_run = [&](const DevicePlan& plan) { return path->can_run(device->device(), plan); };
  return device != nullptr && std::all_of(plans.begin(), plans.end(), can_run) ? device : nullptr;
}

DeviceContext* Placement::choose_for(std::span<Evaluation* const> batch, bool wanted,
                                     std::span<const DevicePlan> plans) const {
  if (devices_.empty() || batch.empty()) return nullptr;
  DeviceContext* device = device_for(batch, wanted, plans);
  return device != nullptr && has_launcher<RecordedJob>(device->device()) ? device : nullptr;
}

DeviceContext* Placement::device_for(std::span<Evaluation* const> batch, bool wanted,
                                     std::span<const DevicePlan> plans) const {
  if (batch.front()->node.dims().size() == 0 || !are_known(batch)) return nullptr;
  DeviceContext* const first = devices_.front().get();
  const memory::ResidentArrays* arrays = where_inputs_are(batch);
  if (arrays == nullptr) return wanted && is_worth_a_launch(*first, batch, plans) ? first : nullptr;
  const auto it = std::find_if(devices_.begin(), devices_.end(),
                               [arrays](const auto& context) { return &context->arrays() == arrays; });
  return it == devices_.end() ? nullptr : it->get();
}

bool Placement::is_expected_on_device(const Forest& forest, const Plan& plan, const Batch& batch,
                                      const CellShape& cells) const {
  const int first = batch.nodes.front();
  const Node& node = forest.node(first);
  if (devices_.empty() || node.device_path() == nullptr) return false;
  if (!feed_devices(plan, batch.nodes) && !forest.parents(first).empty()) return false;
  const std::size_t values = batch.nodes.size() * node.dims().size() * plan.result_cells(first, cells).size();
  return values >= std::max<std::size_t>(rule(*devices_.front()).least_values, 1);
}

bool feed_devices(const Plan& plan, std::span<const int> nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [&](int node) { return plan.feeds_devices(node); });
}

}  // namespace rimetree
