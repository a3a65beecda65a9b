// Values that are only on the host go up, known by their result's stamp, and stay until another version comes or room
// is needed. Small ones of one producing batch go together, and so do small derivatives, which for a Parm are the same
// from step to step. Over a run constants go up once, and per tile only what has changed; tests count the bytes.
#include "runtime/device/job_arrays.h"

#include <algorithm>

#include "runtime/core/fingerprint.h"

namespace rimetree {

std::uint64_t owner_of(ArrayRole role, std::uint64_t name) { return mix(static_cast<std::uint64_t>(role), name); }

memory::ArrayKey resident_key(const Result& result) {
  return {owner_of(ArrayRole::result, static_cast<std::uint64_t>(result.node)), result.stamp};
}

std::uint64_t JobArrays::Input::name() const {
  if (derivative == nullptr) return resident_key(*of).owner;
  const auto node = static_cast<std::uint64_t>(of->node);
  return mix(owner_of(ArrayRole::derivative, node), fingerprint(derivative->parameter));
}

JobArrays::JobArrays(DeviceContext& device, const DeviceBatch& batch) : device_(device) {
  Groups groups;
  for (std::size_t i = 0; i < batch.plans.size(); ++i) {
    const DevicePlan& plan = batch.plans[i];
    const auto children = batch.evaluations[i]->children();
    for (std::size_t slot = 0; slot < children.size(); ++slot) {
      const Result* child = children[slot];
      if (child == nullptr) continue;
      if (plan.reads(slot)) add(batch, {child, nullptr}, groups);
      for (const Derivative& derivative : child->derivatives)
        if (plan.reads(slot, derivative.parameter)) add(batch, {child, &derivative}, groups);
    }
  }
  for (auto& [group, inputs] : groups) bring_up_together(group, inputs);
}

JobArrays::Place JobArrays::at(const Vells& values) const {
  const auto known = at_.find(&values);
  return known != at_.end() ? known->second : Place{};
}

std::int32_t JobArrays::add(Handle array) {
  arrays_.push_back(std::move(array));
  return static_cast<std::int32_t>(arrays_.size() - 1);
}

void JobArrays::describe(CellJob& job, std::uint64_t owner) {
  std::vector<std::byte*> all;
  for (const Handle& array : arrays_) all.push_back(array.as<std::byte>());
  job.n_array = static_cast<std::int32_t>(all.size());
  if (all.size() <= CellJob::kFewArrays) {
    std::copy(all.begin(), all.end(), job.few);
    return;
  }
  const auto bytes = std::as_bytes(std::span(all));
  table_ = device_.arrays().get({owner_of(ArrayRole::arrays, owner), fingerprint(bytes)}, bytes);
  job.d_many = table_.as<std::byte* const>();
}

void JobArrays::add(const DeviceBatch& batch, const Input& input, Groups& groups) {
  const Vells& values = input.values();
  if (!at_.try_emplace(&values).second) return;
  const auto& slice = values.device();
  if (slice != nullptr && &slice->block().arrays() == &device_.arrays()) {
    at_[&values] = {on_block(slice->block()), slice->offset()};
  } else if (values.bytes() > kSmallArrayBytes) {
    bring_up(input);
  } else {
    const ArrayRole role = input.derivative != nullptr ? ArrayRole::derivative_group : ArrayRole::group;
    groups[{role, batch.group_of(input.of->node)}].push_back(input);
  }
}

std::int32_t JobArrays::on_block(memory::DeviceBlock& block) {
  const auto [known, is_new] = blocks_.try_emplace(&block, 0);
  if (is_new) known->second = add(block.on_device());
  return known->second;
}

void JobArrays::bring_up(const Input& input) {
  const Vells& values = input.values();
  const auto* first = static_cast<const std::byte*>(values.host());
  at_[&values] = {add(device_.arrays().get({input.name(), input.of->stamp}, std::span(first, values.bytes()))), 0};
}

/// One array of all that a group gives to this batch: nodes that go together into other batches find it there.
void JobArrays::bring_up_together(const Groups::key_type& group, std::vector<Input>& inputs) {
  const auto order = [](const Input& input) {
    return std::pair(input.of->node, input.derivative != nullptr ? input.derivative->parameter : ParameterId{});
  };
  std::sort(inputs.begin(), inputs.end(), [&](const Input& a, const Input& b) { return order(a) < order(b); });
  std::uint64_t owner = owner_of(group.first, group.second);
  std::vector<std::byte> all;
  for (const Input& input : inputs) {
    owner = mix(owner, input.name());
    const auto* first = static_cast<const std::byte*>(input.values().host());
    all.insert(all.end(), first, first + input.values().bytes());
    all.resize(bytes_in_block(all.size()));
  }
  // Known by what they are: constants on cells are made anew for each tile, and are the same.
  Handle array = device_.arrays().get({owner, fingerprint(all)}, std::span<const std::byte>(all));
  const std::int32_t base = add(std::move(array));
  std::size_t offset = 0;
  for (const Input& input : inputs) {
    at_[&input.values()] = {base, offset};
    offset += bytes_in_block(input.values().bytes());
  }
}

}  // namespace rimetree
