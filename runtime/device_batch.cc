#include "runtime/device_batch.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_map>

#include "runtime/fingerprint.h"

namespace rimetree {

namespace {

static_assert(kJobAxes == kAxes);
// What says the same has the same bytes.
static_assert(std::has_unique_object_representations_v<CellItem> &&
              std::has_unique_object_representations_v<CellArray>);

using Handle = memory::ResidentArrays::Handle;

/// What an array is, for its key.
enum Role : std::uint64_t { kOneResult = 101, kGroup, kItems, kArrays, kAxisGrid };

/// Results up to this size go up together with others of their group: a copy of a few numbers takes as long as one of
/// this many bytes.
constexpr std::size_t kSmallBytes = 64 << 10;
constexpr std::size_t kAlignment = 2 * sizeof(double);
std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// The arrays of a job, and where the values of children are in them. They stay on the device as long as this lives;
/// what is queued before that comes before their memory is used again.
class JobArrays {
 public:
  struct Place {
    std::int32_t base = -1;
    std::size_t offset = 0;
  };

  JobArrays(DeviceContext& device, const DeviceBatch& batch) : device_(device) {
    std::map<std::uint64_t, std::vector<const Result*>> groups;
    for (const Evaluation* evaluation : batch.evaluations)
      for (const Result* child : evaluation->children()) {
        if (child == nullptr || !at_.try_emplace(child).second) continue;
        const auto& slice = child->value.device();
        if (slice != nullptr && &slice->block().arrays() == &device.arrays())
          at_[child] = {on_block(slice->block()), slice->offset()};
        else if (child->value.bytes() > kSmallBytes)
          bring_up(*child);
        else
          groups[batch.group_of(child->node)].push_back(child);
      }
    for (auto& [group, results] : groups) bring_up_together(group, results);
  }

  Place at(const Result& child) const { return at_.at(&child); }
  /// Makes an array the job's next one.
  std::int32_t add(Handle array) {
    arrays_.push_back(std::move(array));
    return static_cast<std::int32_t>(arrays_.size() - 1);
  }
  /// Tells the job where the arrays are.
  void describe(CellJob& job, std::uint64_t owner) {
    std::vector<std::byte*> all;
    for (const Handle& array : arrays_) all.push_back(array.as<std::byte>());
    job.n_array = static_cast<std::int32_t>(all.size());
    if (all.size() <= CellJob::kFewArrays) {
      std::copy(all.begin(), all.end(), job.few);
      return;
    }
    const auto bytes = std::as_bytes(std::span(all));
    table_ = device_.arrays().get({mix(kArrays, owner), fingerprint(bytes)}, bytes);
    job.d_many = table_.as<std::byte* const>();
  }

 private:
  std::int32_t on_block(memory::DeviceBlock& block) {
    const auto [known, is_new] = blocks_.try_emplace(&block, 0);
    if (is_new) known->second = add(block.on_device());
    return known->second;
  }
  void bring_up(const Result& result) {
    const auto* values = static_cast<const std::byte*>(result.value.host());
    at_[&result] = {add(device_.arrays().get({mix(kOneResult, static_cast<std::uint64_t>(result.node)), result.stamp},
                                             std::span(values, result.value.bytes()))),
                    0};
  }
  /// One array of all that a group gives to this batch: nodes that go together into other batches find it there.
  void bring_up_together(std::uint64_t group, std::vector<const Result*>& results) {
    std::sort(results.begin(), results.end(), [](const Result* a, const Result* b) { return a->node < b->node; });
    std::uint64_t owner = mix(kGroup, group);
    std::vector<std::byte> all;
    for (const Result* result : results) {
      owner = mix(owner, static_cast<std::uint64_t>(result->node));
      const auto* values = static_cast<const std::byte*>(result->value.host());
      all.insert(all.end(), values, values + result->value.bytes());
      all.resize(aligned(all.size()));
    }
    // Known by what they are: constants on cells are made anew for each tile, and are the same.
    Handle array = device_.arrays().get({owner, fingerprint(all)}, std::span<const std::byte>(all));
    const std::int32_t base = add(std::move(array));
    std::size_t offset = 0;
    for (const Result* result : results) {
      at_[result] = {base, offset};
      offset += aligned(result->value.bytes());
    }
  }

  DeviceContext& device_;
  std::vector<Handle> arrays_;
  Handle table_;
  std::unordered_map<memory::DeviceBlock*, std::int32_t> blocks_;
  std::unordered_map<const Result*, Place> at_;
};

Handle axis_grid(DeviceContext& device, const Cells& cells, Axis axis) {
  const AxisGrid& grid = cells.axis(axis);
  std::vector<double> numbers = grid.centre;
  numbers.insert(numbers.end(), grid.width.begin(), grid.width.end());
  const auto bytes = std::as_bytes(std::span(numbers));
  return device.arrays().get({mix(kAxisGrid, static_cast<std::uint64_t>(axis)), fingerprint(bytes)}, bytes);
}

CellArray array_of(const Result* child, const JobArrays& arrays) {
  CellArray array;
  if (child == nullptr) return array;
  const JobArrays::Place place = arrays.at(*child);
  array.base = place.base;
  array.offset = place.offset;
  array.plane = child->value.cells_per_element();
  const auto stride = broadcast_strides(child->value.cells());
  std::copy(stride.begin(), stride.end(), array.stride);
  array.dims = child->value.dims();
  array.is_complex = child->value.is_complex() ? 1 : 0;
  return array;
}

std::size_t result_bytes(const Evaluation& evaluation, const DevicePlan& plan) {
  return evaluation.node.dims().size() * plan.cells.size() *
         (plan.type == NumberType::complex ? sizeof(Complex<double>) : sizeof(double));
}

/// The batch as its programs see it: all items, those of equal variants together, then all children.
struct Items {
  /// `offset`: of each node's result, in the job's array `results`.
  Items(const DeviceBatch& batch, const JobArrays& arrays, std::int32_t results,
        const std::vector<std::size_t>& offset) {
    for (std::size_t i = 0; i < batch.plans.size(); ++i) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return batch.plans[a].variant < batch.plans[b].variant; });
    for (const std::size_t i : order) {
      const DevicePlan& plan = batch.plans[i];
      CellItem item;
      item.base = results;
      item.offset = offset[i];
      item.n_thread = plan.n_thread;
      item.n_value = batch.evaluations[i]->node.dims().size() * plan.cells.size();
      item.first_child = static_cast<std::int32_t>(children.size());
      std::copy(plan.cells.extent.begin(), plan.cells.extent.end(), item.cells);
      std::copy(plan.inner.extent.begin(), plan.inner.extent.end(), item.inner);
      for (const Result* child : batch.evaluations[i]->children()) children.push_back(array_of(child, arrays));
      item.n_child = static_cast<std::int32_t>(children.size()) - item.first_child;
      items.push_back(item);
    }
  }

  Handle on(DeviceContext& device, std::uint64_t owner, CellJob& job) const {
    const auto first = std::as_bytes(std::span(items)), second = std::as_bytes(std::span(children));
    std::vector<std::byte> all(first.begin(), first.end());
    all.insert(all.end(), second.begin(), second.end());
    Handle there = device.arrays().get({mix(kItems, owner), fingerprint(all)}, std::span<const std::byte>(all));
    job.d_item = there.as<const CellItem>();
    job.d_child = reinterpret_cast<const CellArray*>(there.as<const std::byte>() + first.size());
    return there;
  }
  /// One launch for each variant.
  void launch(const DeviceBatch& batch, memory::Queue& queue, CellJob job) const {
    for (std::size_t begin = 0, end = 0; begin < items.size(); begin = end) {
      const int variant = batch.plans[order[begin]].variant;
      job.most_threads = 0;
      for (end = begin; end < items.size() && batch.plans[order[end]].variant == variant; ++end)
        job.most_threads = std::max(job.most_threads, items[end].n_thread);
      job.n_item = static_cast<std::int32_t>(end - begin);
      batch.evaluations.front()->node.device_path()->launch(queue, job, variant);
      job.d_item += end - begin;
    }
  }

  std::vector<std::size_t> order;  // of the nodes of the batch
  std::vector<CellItem> items;
  std::vector<CellArray> children;
};

}  // namespace

void evaluate_on_device(DeviceContext& device, const DeviceBatch& batch) {
  JobArrays arrays(device, batch);
  std::vector<std::size_t> offset;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < batch.plans.size(); ++i) {
    offset.push_back(bytes);
    bytes += aligned(result_bytes(*batch.evaluations[i], batch.plans[i]));
  }
  const auto block = device.make_block(bytes);
  const Items items(batch, arrays, arrays.add(block->on_device()), offset);

  CellJob job;
  const Handle described = items.on(device, batch.owner, job);
  arrays.describe(job, batch.owner);
  const Cells& cells = batch.evaluations.front()->cells();
  Handle time, frequency;
  if (batch.plans.front().wants_time) {
    time = axis_grid(device, cells, Axis::time);
    job.d_time_s = time.as<const double>();
    job.n_time = cells.shape()[Axis::time];
  }
  if (batch.plans.front().wants_frequency) {
    frequency = axis_grid(device, cells, Axis::frequency);
    job.d_frequency_hz = frequency.as<const double>();
    job.n_frequency = cells.shape()[Axis::frequency];
  }
  items.launch(batch, device.compute(), job);
  for (std::size_t i = 0; i < batch.plans.size(); ++i) {
    Evaluation& evaluation = *batch.evaluations[i];
    const DevicePlan& plan = batch.plans[i];
    evaluation.set({std::make_shared<const memory::DeviceSlice>(block, offset[i], result_bytes(evaluation, plan)),
                    plan.type, evaluation.node.dims(), plan.cells});
    evaluation.node.device_path()->combine_flags(evaluation);
  }
}

}  // namespace rimetree
