// An item of a launch is a node's values, or its derivative with respect to one unknown.
#include "runtime/device/device_batch.h"

#include <algorithm>

#include "runtime/core/fingerprint.h"
#include "runtime/device/job_arrays.h"
#include "runtime/device/recorded_job.h"

namespace rimetree {

namespace {

static_assert(kJobAxes == kAxes);
// What says the same has the same bytes.
static_assert(std::has_unique_object_representations_v<CellItem> &&
              std::has_unique_object_representations_v<CellArray>);

using Handle = JobArrays::Handle;

Handle axis_grid(DeviceContext& device, const Cells& cells, Axis axis) {
  const AxisGrid& grid = cells.axis(axis);
  std::vector<double> numbers = grid.centre;
  numbers.insert(numbers.end(), grid.width.begin(), grid.width.end());
  const auto bytes = std::as_bytes(std::span(numbers));
  return device.arrays().get({owner_of(ArrayRole::axis_grid, static_cast<std::uint64_t>(axis)), fingerprint(bytes)},
                             bytes);
}

CellArray array_of(const Vells* values, const JobArrays& arrays) {
  CellArray array;
  if (values == nullptr) return array;
  const JobArrays::Place place = arrays.at(*values);
  array.base = place.base;
  array.offset = place.offset;
  array.plane = values->cells_per_element();
  const auto stride = broadcast_strides(values->cells());
  std::copy(stride.begin(), stride.end(), array.stride);
  array.dims = values->dims();
  array.is_complex = values->is_complex() ? 1 : 0;
  return array;
}

std::size_t result_bytes(const Evaluation& evaluation, const DevicePlan& plan) {
  return evaluation.node.dims().size() * plan.cells.size() *
         (plan.type == NumberType::complex ? sizeof(Complex<double>) : sizeof(double));
}

/// Where the results of a node and then its derivatives lie in the block of their batch.
class ResultPlaces {
 public:
  explicit ResultPlaces(const DeviceBatch& batch) {
    for (std::size_t i = 0; i < batch.plans.size(); ++i) {
      first_.push_back(block_bytes_);
      bytes_.push_back(result_bytes(*batch.evaluations[i], batch.plans[i]));
      block_bytes_ += bytes_in_block(bytes_.back()) * (1 + batch.plans[i].parameters.size());
    }
  }
  std::size_t block_bytes() const { return block_bytes_; }
  /// k: 0 for the values, then derivatives.
  std::size_t offset(std::size_t i, std::size_t k) const { return first_[i] + k * bytes_in_block(bytes_[i]); }
  std::size_t bytes(std::size_t i) const { return bytes_[i]; }

 private:
  std::vector<std::size_t> first_, bytes_;  // by node
  std::size_t block_bytes_ = 0;
};

/// An array that stays on the device as long as `device` has room for it.
template <class T>
Handle resident(DeviceContext& device, ArrayRole role, const std::vector<T>& all) {
  const auto bytes = std::as_bytes(std::span(all));
  const std::uint64_t name = fingerprint(bytes);
  return device.arrays().get({owner_of(role, name), name}, bytes);
}

void launch_program_of(DeviceContext& device, const program::ThreadProgram& program, NumberType type,
                       const CellJob& cells) {
  RecordedJob job;
  job.cells = cells;
  job.program = &program;
  job.n_operation = static_cast<std::int32_t>(program.operations.size());
  job.n_number = static_cast<std::int32_t>(program.numbers.size());
  job.n_register = program.n_register;
  job.is_complex = type == NumberType::complex ? 1 : 0;
  Handle operations, numbers;
  if (program.operations.size() <= RecordedJob::kFewOperations) {
    std::copy(program.operations.begin(), program.operations.end(), job.few_operations);
  } else {
    operations = resident(device, ArrayRole::operations, program.operations);
    job.d_operations = operations.as<const program::ThreadOperation>();
  }
  if (program.numbers.size() <= RecordedJob::kFewNumbers) {
    std::copy(program.numbers.begin(), program.numbers.end(), job.few_numbers);
  } else {
    numbers = resident(device, ArrayRole::numbers, program.numbers);
    job.d_numbers = numbers.as<const double>();
  }
  launch_recorded(device.compute(), job);
}

/// What one launch runs: a recorded program, or a class's kernel.
struct Launch {
  const program::ThreadProgram* program;
  int variant;
  NumberType type;  ///< of the results
  friend bool operator==(const Launch&, const Launch&) = default;
};

/// The batch as launches see it: all items, those of one launch together, then all children.
class Items {
 public:
  /// `results`: the job's array in which they lie.
  Items(const DeviceBatch& batch, const JobArrays& arrays, std::int32_t results, const ResultPlaces& places) {
    std::vector<Wanted> wanted;
    for (std::size_t i = 0; i < batch.plans.size(); ++i)
      for (std::size_t k = 0; k <= batch.plans[i].parameters.size(); ++k)
        wanted.push_back({i, k, number_of(batch.plans[i], k)});
    std::stable_sort(wanted.begin(), wanted.end(),
                     [](const Wanted& a, const Wanted& b) { return a.launch < b.launch; });
    std::vector<std::int32_t> first_child(batch.plans.size(), -1);
    for (const Wanted& one : wanted) {
      const DevicePlan& plan = batch.plans[one.node];
      const Evaluation& evaluation = *batch.evaluations[one.node];
      const program::ThreadProgram* const program = launches_[one.launch].program;
      const auto inputs = evaluation.children();
      CellItem item;
      item.base = results;
      item.offset = places.offset(one.node, one.of);
      item.n_thread = program != nullptr ? program->n_item * plan.cells.size() : plan.n_thread;
      item.n_value = evaluation.node.dims().size() * plan.cells.size();
      item.n_child = static_cast<std::int32_t>(inputs.size());
      std::copy(plan.cells.extent.begin(), plan.cells.extent.end(), item.cells);
      std::copy(plan.inner.extent.begin(), plan.inner.extent.end(), item.inner);
      if (first_child[one.node] < 0)
        first_child[one.node] = add_children(inputs, arrays, [](const Result& child) { return &child.value; });
      item.first_child = first_child[one.node];
      if (one.of > 0)
        item.first_derivative = add_children(
            inputs, arrays, [&](const Result& child) { return child.derivative(plan.parameters[one.of - 1]); });
      items_.push_back(item);
      of_launch_.push_back(one.launch);
    }
  }

  Handle on(DeviceContext& device, std::uint64_t owner, CellJob& job) const {
    const auto first = std::as_bytes(std::span(items_)), second = std::as_bytes(std::span(children_));
    std::vector<std::byte> all(first.begin(), first.end());
    all.insert(all.end(), second.begin(), second.end());
    Handle there =
        device.arrays().get({owner_of(ArrayRole::items, owner), fingerprint(all)}, std::span<const std::byte>(all));
    job.d_item = there.as<const CellItem>();
    job.d_child = reinterpret_cast<const CellArray*>(there.as<const std::byte>() + first.size());
    return there;
  }
  void launch(DeviceContext& device, const DeviceBatch& batch, CellJob job) const {
    for (std::size_t begin = 0, end = 0; begin < items_.size(); begin = end) {
      job.most_threads = 0;
      for (end = begin; end < items_.size() && of_launch_[end] == of_launch_[begin]; ++end)
        job.most_threads = std::max(job.most_threads, items_[end].n_thread);
      job.n_item = static_cast<std::int32_t>(end - begin);
      const Launch& launch = launches_[of_launch_[begin]];
      if (launch.program != nullptr)
        launch_program_of(device, *launch.program, launch.type, job);
      else
        batch.path->launch(device.compute(), job, launch.variant);
      job.d_item += end - begin;
    }
  }

 private:
  struct Wanted {
    std::size_t node, of;  ///< of: 0 for the values, then derivatives
    std::size_t launch;
  };
  std::size_t number_of(const DevicePlan& plan, std::size_t k) {
    const Launch launch{plan.programs.empty() ? nullptr : plan.programs[k].get(),
                        plan.programs.empty() ? plan.variant() : 0, plan.type};
    const auto known = std::find(launches_.begin(), launches_.end(), launch);
    if (known != launches_.end()) return static_cast<std::size_t>(known - launches_.begin());
    launches_.push_back(launch);
    return launches_.size() - 1;
  }
  /// Describes what values_of() gives for each child, and gives the number of the first description.
  template <class F>
  std::int32_t add_children(std::span<const Result* const> inputs, const JobArrays& arrays, const F& values_of) {
    const auto first = static_cast<std::int32_t>(children_.size());
    for (const Result* child : inputs)
      children_.push_back(array_of(child != nullptr ? values_of(*child) : nullptr, arrays));
    return first;
  }

  std::vector<CellItem> items_;
  std::vector<std::size_t> of_launch_;  // by item
  std::vector<Launch> launches_;
  std::vector<CellArray> children_;
};

}  // namespace

void evaluate_on_device(DeviceContext& device, const DeviceBatch& batch) {
  JobArrays arrays(device, batch);
  const ResultPlaces places(batch);
  const auto block = device.make_block(places.block_bytes());
  const Items items(batch, arrays, arrays.add(block->on_device()), places);

  CellJob job;
  const Handle described = items.on(device, batch.owner, job);
  arrays.describe(job, batch.owner);
  const Cells& cells = batch.evaluations.front()->cells();
  Handle time, frequency;
  if (std::ranges::any_of(batch.plans, &DevicePlan::wants_time)) {
    time = axis_grid(device, cells, Axis::time);
    job.d_time_s = time.as<const double>();
    job.n_time = cells.shape()[Axis::time];
  }
  if (std::ranges::any_of(batch.plans, &DevicePlan::wants_frequency)) {
    frequency = axis_grid(device, cells, Axis::frequency);
    job.d_frequency_hz = frequency.as<const double>();
    job.n_frequency = cells.shape()[Axis::frequency];
  }
  items.launch(device, batch, job);
  for (std::size_t i = 0; i < batch.plans.size(); ++i) {
    Evaluation& evaluation = *batch.evaluations[i];
    const DevicePlan& plan = batch.plans[i];
    const auto values = [&](std::size_t k) {
      return Vells(std::make_shared<const memory::DeviceSlice>(block, places.offset(i, k), places.bytes(i)), plan.type,
                   evaluation.node.dims(), plan.cells);
    };
    evaluation.set(values(0));
    for (std::size_t k = 0; k < plan.parameters.size(); ++k) evaluation.add(plan.parameters[k], values(1 + k));
  }
}

std::vector<Evaluation*> evaluate_as_fits(DeviceContext& device, const DeviceBatch& batch, std::string& why) {
  try {
    evaluate_on_device(device, batch);
    return {};
  } catch (const memory::OutOfMemory& error) {
    why = error.what();
    for (Evaluation* evaluation : batch.evaluations) {
      evaluation->result = {};
      evaluation->flags_are_set = false;
    }
  }
  const std::size_t n = batch.evaluations.size(), half = n / 2;
  if (n == 1) return {batch.evaluations.front()};
  std::vector<Evaluation*> left;
  for (const auto& [begin, count] : {std::pair(std::size_t{0}, half), std::pair(half, n - half)}) {
    DeviceBatch part = {batch.path, batch.evaluations.subspan(begin, count), batch.plans.subspan(begin, count),
                        mix(mix(batch.owner, begin), count), batch.group_of};
    const auto of_part = evaluate_as_fits(device, part, why);
    left.insert(left.end(), of_part.begin(), of_part.end());
  }
  return left;
}

}  // namespace rimetree
