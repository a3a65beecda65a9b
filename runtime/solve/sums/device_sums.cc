// Data, weights and flags (one byte for each, of all nodes together) go up once and stay in the version of their nodes'
// results; what a device has predicted never leaves it. Order and arithmetic are the host's (cell_sums.h), so that
// emulated devices give its bits, however equations are divided among devices, launches and the host. JonesSource sums
// products of the datum less fixed terms with the fixed visibilities; after this pass an iteration copies nothing, but
// with Student's t, whose weights follow the residuals, coefficients go up and sums come down each time. GenericSource
// sums products of residuals and derivatives. Where models are on the host, a real device is used only for what is
// summed up again and again. Factors are always evaluated on the host.
#include "runtime/solve/sums/device_sums.h"

#include <algorithm>

#include "runtime/core/fingerprint.h"
#include "runtime/solve/sums/sums_launch.h"

namespace rimetree::solve {

namespace {

/// What an array is, for its key.
enum SumsRole : std::uint64_t { kTables = 401, kCoefficients, kLists };

template <class T>
void append(std::vector<std::byte>& all, const std::vector<T>& values) {
  static_assert(sizeof(T) % sizeof(std::int32_t) == 0);
  const auto bytes = std::as_bytes(std::span(values));
  all.insert(all.end(), bytes.begin(), bytes.end());
}

std::vector<std::int32_t> bounds(const Segments& segments) { return {segments.begin.begin(), segments.begin.end()}; }

/// Where the threads of each block begin.
std::vector<std::int32_t> first_slots(const SumBlocks& blocks) {
  std::vector<std::int32_t> first{0};
  const auto length = [](const Segments& segments, std::size_t i) { return segments.begin[i + 1] - segments.begin[i]; };
  for (std::size_t t = 0; t < blocks.time.size(); ++t)
    for (std::size_t f = 0; f < blocks.frequency.size(); ++f)
      first.push_back(first.back() + sum_slots(length(blocks.time, t) * length(blocks.frequency, f)));
  return first;
}

}  // namespace

DeviceSums::DeviceSums(DeviceContext& device, const SumBlocks& blocks, std::span<const SumInput> inputs)
    : device_(&device), owner_(inputs.empty() ? 0 : inputs.front().flags_key.owner) {
  CellShape cells;
  cells[Axis::time] = static_cast<std::int32_t>(blocks.time.begin.back());
  cells[Axis::frequency] = static_cast<std::int32_t>(blocks.frequency.begin.back());
  SumArrays arrays(device);
  SumTables tables(inputs, blocks.size(), blocks.n_element, cells, arrays);
  arrays.finish(job_, owner_);
  tables.settle(arrays);
  held_ = arrays.take();
  set_tables(tables, blocks);
}

void DeviceSums::set_tables(const SumTables& tables, const SumBlocks& blocks) {
  const std::vector<std::int32_t> time = bounds(blocks.time), frequency = bounds(blocks.frequency),
                                  first_slot = first_slots(blocks);
  std::vector<std::byte> all;
  append(all, tables.equations);
  append(all, tables.fixed);
  append(all, tables.vectors);
  append(all, time);
  append(all, frequency);
  append(all, first_slot);
  held_.push_back(device_->arrays().get({mix(kTables, owner_), fingerprint(all)}, std::span<const std::byte>(all)));
  const std::byte* at = held_.back().as<const std::byte>();
  const auto next = [&at](const auto*& pointer, const auto& values) {
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(at);
    at += std::as_bytes(std::span(values)).size();
  };
  next(job_.d_equation, tables.equations);
  next(job_.d_fixed, tables.fixed);
  next(job_.d_vector, tables.vectors);
  next(job_.d_time, time);
  next(job_.d_frequency, frequency);
  next(job_.d_first_slot, first_slot);
  job_.n_equation = static_cast<std::int32_t>(tables.equations.size());
  job_.n_fixed = static_cast<std::int32_t>(tables.fixed.size());
  job_.n_vector = static_cast<std::int32_t>(tables.vectors.size());
  job_.n_coefficient = tables.n_coefficient;
  job_.n_time = static_cast<std::int32_t>(blocks.time.size());
  job_.n_frequency = static_cast<std::int32_t>(blocks.frequency.size());
  job_.n_slot = first_slot.back();
  job_.n_element = static_cast<std::int32_t>(blocks.n_element);
  job_.most_vectors = static_cast<std::int32_t>(tables.most_vectors);
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

}  // namespace rimetree::solve
