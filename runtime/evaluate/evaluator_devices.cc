// Where batches are evaluated: on a device if they can be and it is worth it, else on the host.
//
// The rule (PlacementRule): a batch runs on the device that has an input of which the host has no copy. If all inputs
// are on the host it goes to the first device if the results are many numbers, take no less memory than the inputs, and
// are asked for or read by a class that can read them there. On emulated devices size does not matter. The rule looks
// at shapes only, so that a run takes the same way each time. Derivatives count like values.
//
// Always on the host: nodes on the way of a reverse pass, reductions of flagged values, products of matrices larger
// than 2x2, Selectors of many indices, and classes without a body. Flags are made on the host too: they are small or
// not there. So is a Condeq's weight, for which it looks whether data are finite.
//
// Before the host evaluates a batch, what its nodes read is brought down together, neighbours in a block by one copy;
// nodes that only pass values on bring nothing down. Roots are on the host when an evaluation ends, with their
// derivatives.
#include <algorithm>

#include "runtime/device/device_batch.h"
#include "runtime/evaluate/evaluator_pass.h"

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

bool Evaluator::feeds_devices(std::span<const int> nodes) const {
  return std::any_of(nodes.begin(), nodes.end(), [this](int node) { return plan_->feeds_devices(node); });
}

PlacementRule Evaluator::placement_rule(const DeviceContext& device) const {
  if (options_.placement) return *options_.placement;
  return device.device().is_emulated() ? PlacementRule{1, false} : PlacementRule{};
}

bool Evaluator::is_worth_a_launch(const DeviceContext& device, std::span<Evaluation* const> batch,
                                  std::span<const DevicePlan> plans) const {
  const PlacementRule rule = placement_rule(device);
  std::size_t values = 0, result_bytes = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const std::size_t count = batch[i]->node.dims().size() * plans[i].cells.size() * (1 + plans[i].parameters.size());
    values += count;
    result_bytes += count * (plans[i].type == NumberType::complex ? sizeof(Complex<double>) : sizeof(double));
  }
  if (values < std::max<std::size_t>(rule.least_values, 1)) return false;
  if (!rule.weigh_bytes) return true;
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

/// The device for the batch that is ready, and what its nodes do there; nullptr: the host.
DeviceContext* Evaluator::place(const Pass& pass, std::span<const int> nodes, std::vector<DevicePlan>& plans) const {
  const auto& ready = pass.batch.ready;
  const Node& node = forest_->node(nodes[0]);
  if (devices_.empty() || pass.placing == Placing::on_host) return nullptr;
  if (node.device_path() == nullptr || node.dims().size() == 0 || !are_known(ready)) return nullptr;
  // In a reverse pass the host goes back through what it has computed.
  if (std::any_of(nodes.begin(), nodes.end(), [&](int one) { return pass.pulls_back(one); })) return nullptr;
  // And it reads derivatives along one direction, which belong to reverse mode.
  const auto moves = [](const Evaluation* evaluation) { return evaluation->has_derivatives(); };
  if (pass.request.along_direction && std::any_of(ready.begin(), ready.end(), moves)) return nullptr;
  if (!plan_on_device(ready, plans)) return nullptr;
  DeviceContext* device = nullptr;
  if (const memory::ResidentArrays* arrays = where_inputs_are(ready)) {
    const auto it = std::find_if(devices_.begin(), devices_.end(),
                                 [arrays](const auto& context) { return &context->arrays() == arrays; });
    if (it == devices_.end()) return nullptr;
    device = it->get();
  } else {
    device = devices_.front().get();
    // Roots are what somebody asked for: they are worth it by themselves.
    const bool any_root = std::any_of(nodes.begin(), nodes.end(), [&](int one) { return pass.is_root[one]; });
    if (!(any_root || feeds_devices(nodes)) || !is_worth_a_launch(*device, ready, plans)) return nullptr;
  }
  for (const DevicePlan& plan : plans)
    if (!node.device_path()->has_program(device->device(), plan.variant())) return nullptr;
  return device;
}

/// Evaluates what it can of the batch that is ready, which is then no longer ready; gives how many nodes that were.
std::size_t Evaluator::run_on_device(Pass& pass, std::span<const int> nodes) {
  std::vector<DevicePlan> plans;
  DeviceContext* device = place(pass, nodes, plans);
  if (device == nullptr) return 0;
  const std::string& class_name = forest_->node(nodes[0]).node_class().name;
  const std::size_t n_ready = pass.batch.ready.size();
  const DeviceBatch batch{*forest_->node(nodes[0]).device_path(), pass.batch.ready, plans,
                          static_cast<std::uint64_t>(nodes[0]),
                          [this](int node) { return static_cast<std::uint64_t>(plan_->batch_of(node)); }};
  std::string why;
  std::vector<Evaluation*> left = evaluate_as_fits(*device, batch, why);
  if (!left.empty())
    warnings_.add("device-memory-" + class_name,
                  class_name + " is evaluated on the host, from node \"" + left.front()->node.name() + "\" on: " + why);
  if (left.size() < n_ready) notes_.add("device-" + class_name, class_name + ": on " + device->device().name());
  pass.batch.ready = std::move(left);
  return n_ready - pass.batch.ready.size();
}

/// Whether a batch would be evaluated on a device for its size, if all its inputs were on the host.
bool Evaluator::is_expected_on_device(const Batch& batch, const CellShape& cells) const {
  const Node& node = forest_->node(batch.nodes.front());
  if (devices_.empty() || node.device_path() == nullptr) return false;
  if (!feeds_devices(batch.nodes) && !forest_->parents(batch.nodes.front()).empty()) return false;
  const std::size_t values =
      batch.nodes.size() * node.dims().size() * plan_->result_cells(batch.nodes.front(), cells).size();
  return values >= std::max<std::size_t>(placement_rule(*devices_.front()).least_values, 1);
}

std::vector<std::pair<int, Description>> Evaluator::describe(const Request& request) const {
  std::vector<std::pair<int, Description>> all;
  if (rewriting_)
    for (const auto& [node, text] : rewriting_->summary()) all.emplace_back(node, Description{text, 0});
  std::map<std::string, int> on_device;  // classes, each with one of its nodes
  for (const Batch& batch : plan_->batches()) {
    const int first = batch.nodes.front();
    std::vector<CellShape> children;
    for (const int child : forest_->children(first))
      children.push_back(child < 0 ? CellShape{} : plan_->result_cells(child, request.cells->shape()));
    if (const MethodChoice* method = forest_->node(first).capabilities().method) {
      Description description = method->describe(request, children, batch.nodes.size(), devices_);
      if (!description.text.empty()) all.emplace_back(first, std::move(description));
    }
    if (is_expected_on_device(batch, request.cells->shape()))
      on_device.emplace(forest_->node(first).node_class().name, first);
  }
  if (!on_device.empty()) {
    std::string text = "on " + devices_.front()->device().name() + ", by one launch for each batch:";
    for (const auto& [class_name, first] : on_device) text += (text.back() == ':' ? " " : ", ") + class_name;
    all.emplace_back(on_device.begin()->second, Description{text, 0});
  }
  return all;
}

void Evaluator::bring_inputs_to_host(const Pass& pass, const Node& node) {
  if (node.traits().reads_no_values) return;
  std::vector<const Vells*> values;
  for (const Evaluation* evaluation : pass.batch.ready)
    for (const Vells* value : evaluation->child_values()) values.push_back(value);
  bring_to_host(values);
}

}  // namespace rimetree
