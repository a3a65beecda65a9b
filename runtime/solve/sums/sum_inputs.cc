#include "runtime/solve/sums/sum_inputs.h"

#include <algorithm>
#include <cstring>

#include "runtime/core/fingerprint.h"
#include "runtime/device/device_batch.h"

namespace rimetree::solve {

namespace {

/// What an array is, for its key.
enum InputRole : std::uint64_t { kDerivative = 301, kFlags, kGroup, kPlaces };

/// Small arrays go up together, as many as make this.
constexpr std::size_t kGroupBytes = 8 << 20;
constexpr std::size_t kAlignment = sizeof(Complex<double>);
std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

SumOperand::SumOperand(const Result& result, int element)
    : values(&result.value), key(resident_key(result)), element(element) {}

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

SumArray SumArrays::add(const SumOperand& operand) {
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

SumArray SumArrays::add_flags(const SumInput& input, const CellShape& cells, std::size_t n_element) {
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

void SumArrays::finish(SumsJob& job, std::uint64_t owner) {
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

// What is small has bases of -2 and less until it is known where it goes.
void SumArrays::settle(SumArray& array) const {
  if (array.base > -2) return;
  const Small& small = small_[static_cast<std::size_t>(-2 - array.base)];
  array.base = small.base;
  array.offset = small.offset;
}

std::int64_t SumArrays::hold(Handle array) {
  held_.push_back(std::move(array));
  return static_cast<std::int64_t>(held_.size() - 1);
}

void SumArrays::place(SumArray& array, memory::ArrayKey key, Fill fill) {
  const auto [known, is_new] = known_.try_emplace(key.owner, 0);
  if (is_new && array.bytes > kSmallArrayBytes) {
    known->second = hold(resident(key, array.bytes, fill));
  } else if (is_new) {
    small_.push_back({key, array.bytes, std::move(fill)});
    known->second = -1 - static_cast<std::int64_t>(small_.size());
  }
  array.base = known->second;
}

SumArrays::Handle SumArrays::resident(memory::ArrayKey key, std::size_t bytes, const Fill& fill) {
  if (Handle there = device_.arrays().get_if_there(key); there && there.bytes() == bytes) return there;
  std::vector<std::byte> all(bytes);
  fill(all.data());
  return device_.arrays().get(key, std::span<const std::byte>(all));
}

std::size_t SumArrays::bring_up_together(std::size_t begin) {
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

SumTables::SumTables(std::span<const SumInput> inputs, std::size_t n_block, std::size_t n_element,
                     const CellShape& cells, SumArrays& arrays) {
  for (const SumInput& input : inputs) {
    SumEquation& equation = equations.emplace_back();
    equation.data = arrays.add(input.data);
    equation.residual = arrays.add(input.residual);
    equation.weight = arrays.add(input.weight);
    equation.flags = arrays.add_flags(input, cells, n_element);
    equation.weight_factor = input.weight_factor;
    equation.dimensions = input.dimensions;
    equation.first_fixed = static_cast<std::int64_t>(fixed.size());
    equation.n_fixed = static_cast<std::int64_t>(input.fixed.size());
    for (const SumOperand& operand : input.fixed) fixed.push_back(arrays.add(operand));
    equation.first_vector = static_cast<std::int64_t>(vectors.size());
    equation.n_vector = static_cast<std::int64_t>(input.vectors.size());
    for (const SumOperand& operand : input.vectors) vectors.push_back({arrays.add(operand), operand.element});
    equation.first_coefficient = n_coefficient;
    n_coefficient += static_cast<std::int64_t>(n_block * n_element) * equation.n_vector;
    most_vectors = std::max(most_vectors, equation.n_vector);
  }
}

void SumTables::settle(const SumArrays& arrays) {
  for (SumEquation& equation : equations)
    for (SumArray* array : {&equation.data, &equation.residual, &equation.weight, &equation.flags})
      arrays.settle(*array);
  for (SumArray& array : fixed) arrays.settle(array);
  for (SumVector& vector : vectors) arrays.settle(vector.values);
}

}  // namespace rimetree::solve
