#include "runtime/solve/device_sums.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_map>

#include "runtime/fingerprint.h"
#include "runtime/solve/sums_launch.h"

namespace rimetree::solve {

namespace {

/// What an array is, for its key.
enum Role : std::uint64_t { kResult = 301, kDerivative, kFlags, kGroup, kTables, kPlaces, kCoefficients, kLists };

/// Arrays up to this size go up together: a copy of a few numbers takes as long as one of this many bytes.
constexpr std::size_t kSmallBytes = 64 << 10, kGroupBytes = 8 << 20;
constexpr std::size_t kAlignment = sizeof(Complex<double>);
std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

template <class T>
void append(std::vector<std::byte>& all, const std::vector<T>& values) {
  static_assert(sizeof(T) % sizeof(std::int32_t) == 0);
  const auto bytes = std::as_bytes(std::span(values));
  all.insert(all.end(), bytes.begin(), bytes.end());
}

}  // namespace

SumOperand::SumOperand(const Result& result, int element)
    : values(&result.value),
      key{mix(kResult, static_cast<std::uint64_t>(result.node)), result.stamp},
      element(element) {}

SumOperand::SumOperand(const Result& result, std::size_t derivative)
    : values(&result.derivatives[derivative].value),
      key{mix(mix(kDerivative, static_cast<std::uint64_t>(result.node)), std::uint64_t{derivative}), result.stamp} {}

std::uint64_t SumInput::bytes(const CellShape& cells, std::size_t n_element) const {
  std::uint64_t bytes = flagged ? n_element * cells.size() : 0;
  const auto add = [&bytes](const SumOperand& operand) { bytes += operand.values ? operand.values->bytes() : 0; };
  add(data), add(weight);
  if (residual.values != data.values) add(residual);
  for (const auto* operands : {&fixed, &vectors})
    for (std::size_t k = 0; k < operands->size(); ++k)
      if (k == 0 || (*operands)[k].values != (*operands)[k - 1].values) add((*operands)[k]);
  return bytes;
}

void sum_by_shares(const DeviceContexts& devices, std::vector<std::deque<SumShare>> waiting,
                   const SumShareSteps& steps) {
  while (std::any_of(waiting.begin(), waiting.end(), [](const auto& queue) { return !queue.empty(); })) {
    std::vector<std::pair<SumShare, std::unique_ptr<DeviceSums>>> running;
    for (std::size_t d = 0; d < devices.size(); ++d) {
      if (waiting[d].empty()) continue;
      SumShare share = std::move(waiting[d].front());
      waiting[d].pop_front();
      try {
        auto sums = steps.start(*devices[d], share);
        running.emplace_back(std::move(share), std::move(sums));
      } catch (const memory::OutOfMemory& error) {
        const auto half = static_cast<std::ptrdiff_t>(share.size() / 2);
        if (half == 0) {
          steps.give_up(share.front(), error);
          continue;
        }
        waiting[d].emplace_front(share.begin() + half, share.end());
        waiting[d].emplace_front(share.begin(), share.begin() + half);
      }
    }
    for (auto& [share, sums] : running) steps.finish(share, std::move(sums));
  }
}

/// Finds a place on the device for everything that equations are made of.
class DeviceSums::Arrays {
 public:
  explicit Arrays(DeviceContext& device) : device_(device) {}

  SumArray add(const SumOperand& operand) {
    SumArray array;
    if (operand.values == nullptr) return array;
    const Vells& values = *operand.values;
    const auto stride = broadcast_strides(values.cells());
    array.element = values.dims().is_scalar() ? 0 : values.cells_per_element();
    array.time = stride[static_cast<int>(Axis::time)];
    array.frequency = stride[static_cast<int>(Axis::frequency)];
    array.bytes = values.bytes();
    array.is_complex = values.is_complex() ? 1 : 0;
    const auto& slice = values.device();
    if (slice != nullptr && &slice->block().arrays() == &device_.arrays()) {
      const auto [known, is_new] = blocks_.try_emplace(&slice->block(), 0);
      if (is_new) known->second = hold(slice->block().on_device());
      array.base = known->second;
      array.offset = slice->offset();
      return array;
    }
    const auto fill = [&values](std::byte* to) { std::memcpy(to, values.host(), values.bytes()); };
    place(array, operand.key, fill);
    return array;
  }
  /// Flags of all elements on all cells.
  SumArray add_flags(const SumInput& input, const CellShape& cells, std::size_t n_element) {
    SumArray array;
    if (!input.flagged) return array;
    const auto n_time = static_cast<std::size_t>(cells[Axis::time]),
               n_frequency = static_cast<std::size_t>(cells[Axis::frequency]);
    array.frequency = 1, array.time = n_frequency, array.element = n_time * n_frequency;
    array.bytes = n_element * array.element;
    place(array, {mix(kFlags, input.flags_key.owner), input.flags_key.version},
          [&flagged = input.flagged, n_element, n_time, n_frequency](std::byte* to) {
            for (std::size_t e = 0; e < n_element; ++e)
              for (std::size_t t = 0; t < n_time; ++t)
                for (std::size_t f = 0; f < n_frequency; ++f) *to++ = std::byte{flagged(e, t, f)};
          });
    return array;
  }

  /// Brings up what is small; `finish` then knows where everything is.
  void finish(SumsJob& job, std::uint64_t owner) {
    for (std::size_t begin = 0, end = 0; begin < small_.size(); begin = end) end = bring_up_together(begin);
    std::vector<const std::byte*> many;
    for (std::size_t i = 0; i < held_.size(); ++i) {
      if (i < SumsJob::kFewArrays)
        job.few[i] = held_[i].as<const std::byte>();
      else
        many.push_back(held_[i].as<const std::byte>());
    }
    job.n_many = static_cast<std::int32_t>(many.size());
    if (many.empty()) return;
    const auto bytes = std::as_bytes(std::span(many));
    held_.push_back(device_.arrays().get({mix(kPlaces, owner), fingerprint(bytes)}, bytes));
    job.d_many = held_.back().as<const std::byte* const>();
  }
  /// Where what add() has described by an array of -2 or less is.
  void settle(SumArray& array) const {
    if (array.base > -2) return;
    const Small& small = small_[static_cast<std::size_t>(-2 - array.base)];
    array.base = small.base;
    array.offset = small.offset;
  }
  std::vector<Handle> take() { return std::move(held_); }

 private:
  using Fill = std::function<void(std::byte* to)>;
  struct Small {
    memory::ArrayKey key;
    std::size_t bytes;
    Fill fill;
    std::int64_t base = -1;
    std::size_t offset = 0;
  };

  std::int64_t hold(Handle array) {
    held_.push_back(std::move(array));
    return static_cast<std::int64_t>(held_.size() - 1);
  }
  void place(SumArray& array, memory::ArrayKey key, Fill fill) {
    const auto [known, is_new] = known_.try_emplace(key.owner, 0);
    if (is_new && array.bytes > kSmallBytes) {
      known->second = hold(resident(key, array.bytes, fill));
    } else if (is_new) {
      small_.push_back({key, array.bytes, std::move(fill)});
      known->second = -1 - static_cast<std::int64_t>(small_.size());
    }
    array.base = known->second;
  }
  Handle resident(memory::ArrayKey key, std::size_t bytes, const Fill& fill) {
    if (Handle there = device_.arrays().get_if_there(key); there && there.bytes() == bytes) return there;
    std::vector<std::byte> all(bytes);
    fill(all.data());
    return device_.arrays().get(key, std::span<const std::byte>(all));
  }
  std::size_t bring_up_together(std::size_t begin) {
    std::size_t end = begin, bytes = 0;
    memory::ArrayKey key{kGroup, 0};
    for (; end < small_.size() && (end == begin || bytes + small_[end].bytes <= kGroupBytes); ++end) {
      small_[end].offset = bytes;
      bytes += aligned(small_[end].bytes);
      key = {mix(key.owner, small_[end].key.owner), mix(key.version, small_[end].key.version)};
    }
    const std::int64_t base = hold(resident(key, bytes, [&](std::byte* to) {
      for (std::size_t i = begin; i < end; ++i) small_[i].fill(to + small_[i].offset);
    }));
    for (std::size_t i = begin; i < end; ++i) small_[i].base = base;
    return end;
  }

  DeviceContext& device_;
  std::vector<Handle> held_;
  std::map<memory::DeviceBlock*, std::int64_t> blocks_;
  std::unordered_map<std::uint64_t, std::int64_t> known_;  // by owner: array, or -2 - number of a small one
  std::vector<Small> small_;
};

DeviceSums::DeviceSums(DeviceContext& device, const SumBlocks& blocks, std::span<const SumInput> inputs)
    : device_(&device), owner_(inputs.empty() ? 0 : inputs.front().flags_key.owner) {
  Arrays arrays(device);
  const CellShape cells = [&blocks] {
    CellShape shape;
    shape[Axis::time] = static_cast<std::int32_t>(blocks.time.begin.back());
    shape[Axis::frequency] = static_cast<std::int32_t>(blocks.frequency.begin.back());
    return shape;
  }();
  describe(blocks, inputs, arrays, cells);
  std::vector<Handle> held = arrays.take();
  std::move(held.begin(), held.end(), std::back_inserter(held_));
}

void DeviceSums::describe(const SumBlocks& blocks, std::span<const SumInput> inputs, Arrays& arrays,
                          const CellShape& cells) {
  std::vector<SumEquation> equations;
  std::vector<SumArray> fixed;
  std::vector<SumVector> vectors;
  std::int64_t n_coefficient = 0, most_vectors = 0;
  for (const SumInput& input : inputs) {
    SumEquation& equation = equations.emplace_back();
    equation.data = arrays.add(input.data);
    equation.residual = arrays.add(input.residual);
    equation.weight = arrays.add(input.weight);
    equation.flags = arrays.add_flags(input, cells, blocks.n_element);
    equation.weight_factor = input.weight_factor;
    equation.dimensions = input.dimensions;
    equation.first_fixed = static_cast<std::int64_t>(fixed.size());
    equation.n_fixed = static_cast<std::int64_t>(input.fixed.size());
    for (const SumOperand& operand : input.fixed) fixed.push_back(arrays.add(operand));
    equation.first_vector = static_cast<std::int64_t>(vectors.size());
    equation.n_vector = static_cast<std::int64_t>(input.vectors.size());
    for (const SumOperand& operand : input.vectors) vectors.push_back({arrays.add(operand), operand.element});
    equation.first_coefficient = n_coefficient;
    n_coefficient += static_cast<std::int64_t>(blocks.size() * blocks.n_element) * equation.n_vector;
    most_vectors = std::max(most_vectors, equation.n_vector);
  }
  arrays.finish(job_, owner_);
  for (SumEquation& equation : equations)
    for (SumArray* array : {&equation.data, &equation.residual, &equation.weight, &equation.flags})
      arrays.settle(*array);
  for (SumArray& array : fixed) arrays.settle(array);
  for (SumVector& vector : vectors) arrays.settle(vector.values);

  const auto bounds = [](const Segments& segments) {
    std::vector<std::int32_t> begin;
    for (const std::size_t i : segments.begin) begin.push_back(static_cast<std::int32_t>(i));
    return begin;
  };
  const std::vector<std::int32_t> time = bounds(blocks.time), frequency = bounds(blocks.frequency);
  std::vector<std::int32_t> first_slot{0};
  for (std::size_t t = 0; t + 1 < time.size(); ++t)
    for (std::size_t f = 0; f + 1 < frequency.size(); ++f)
      first_slot.push_back(first_slot.back() + sum_slots(static_cast<std::size_t>(time[t + 1] - time[t]) *
                                                         static_cast<std::size_t>(frequency[f + 1] - frequency[f])));

  std::vector<std::byte> all;
  append(all, equations);
  append(all, fixed);
  append(all, vectors);
  append(all, time);
  append(all, frequency);
  append(all, first_slot);
  held_.push_back(device_->arrays().get({mix(kTables, owner_), fingerprint(all)}, std::span<const std::byte>(all)));
  const std::byte* at = held_.back().as<const std::byte>();
  const auto next = [&at](const auto*& pointer, const auto& values) {
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(at);
    at += std::as_bytes(std::span(values)).size();
  };
  next(job_.d_equation, equations);
  next(job_.d_fixed, fixed);
  next(job_.d_vector, vectors);
  next(job_.d_time, time);
  next(job_.d_frequency, frequency);
  next(job_.d_first_slot, first_slot);
  job_.n_equation = static_cast<std::int32_t>(equations.size());
  job_.n_fixed = static_cast<std::int32_t>(fixed.size());
  job_.n_vector = static_cast<std::int32_t>(vectors.size());
  job_.n_coefficient = n_coefficient;
  job_.n_time = static_cast<std::int32_t>(blocks.time.size());
  job_.n_frequency = static_cast<std::int32_t>(blocks.frequency.size());
  job_.n_slot = first_slot.back();
  job_.n_element = static_cast<std::int32_t>(blocks.n_element);
  job_.most_vectors = static_cast<std::int32_t>(most_vectors);
  job_.is_real = blocks.is_real ? 1 : 0;
}

void DeviceSums::start(const SumsWanted& wanted) {
  memory::ResidentArrays& arrays = device_->arrays();
  job_.errors = wanted.errors;
  job_.wants_products = wanted.products ? 1 : 0;
  d_partial_ = {};
  d_sums_ = {};
  d_partial_ = arrays.scratch(static_cast<std::size_t>(job_.n_thread() * job_.n_number()) * sizeof(double));
  d_sums_ = arrays.scratch(static_cast<std::size_t>(job_.n_sum() * job_.n_number()) * sizeof(double));
  job_.d_partial = d_partial_.as<double>();
  job_.d_sums = d_sums_.as<double>();
  job_.d_coefficient = nullptr;
  d_coefficients_ = {};
  if (!wanted.coefficients.empty()) {
    const auto bytes = std::as_bytes(wanted.coefficients);
    d_coefficients_ = arrays.get({mix(kCoefficients, owner_), fingerprint(bytes)}, bytes);
    job_.d_coefficient = d_coefficients_.as<const Complex<double>>();
  }
  launch(device_->compute(), job_);
}

void DeviceSums::add_up(const SumLists& lists) {
  memory::ResidentArrays& arrays = device_->arrays();
  const memory::ArrayKey key{mix(kLists, owner_), lists.version};
  d_lists_ = arrays.get_if_there(key);
  if (!d_lists_) {
    std::vector<std::byte> all;
    append(all, lists.first);
    append(all, lists.source);
    d_lists_ = arrays.get(key, std::span<const std::byte>(all));
  }
  SumListsJob job;
  job.n_total = static_cast<std::int64_t>(lists.first.size()) - 1;
  job.n_source = static_cast<std::int64_t>(lists.source.size());
  d_totals_ = arrays.scratch(static_cast<std::size_t>(job.n_total) * sizeof(double));
  job.d_first = d_lists_.as<const std::int64_t>();
  job.d_source = job.d_first + lists.first.size();
  job.d_sums = job_.d_sums;
  job.n_sum = job_.n_sum() * job_.n_number();
  job.d_total = d_totals_.as<double>();
  launch(device_->compute(), job);
}

std::vector<double> DeviceSums::finish() {
  const Handle& from = d_totals_ ? d_totals_ : d_sums_;
  std::vector<double> sums(from.bytes() / sizeof(double));
  device_->arrays().download(from, std::as_writable_bytes(std::span(sums)));
  for (Handle* handle : {&d_partial_, &d_sums_, &d_lists_, &d_totals_}) *handle = {};
  return sums;
}

}  // namespace rimetree::solve
