#include "nodes/correlator/host_spectra.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "nodes/correlator/rounding.h"
#include "nodes/correlator/unpacking.h"

namespace rimetree::correlator {

namespace {

constexpr std::size_t kMostTogether = 16;

/// Bytes from one channel to the next: an odd number of the cache's lines, or the channels of a spectrum, which are
/// written one after the other, would all fall into the same few sets of it.
std::size_t row_bytes(std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  return ((bytes + kLine - 1) / kLine | 1) * kLine;
}

/// The real and the imaginary parts of n numbers in each other's place.
void swap_parts(float* numbers, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) std::swap(numbers[2 * i], numbers[2 * i + 1]);
}

/// Spectra that are made of samples decoded together: several where their windows overlap.
std::size_t spectra_of_a_part(const FilterBank& bank) { return bank.length() > bank.step() ? 8 : 1; }

}  // namespace

struct HostSpectra::Workspace {
  static constexpr std::size_t kVector = 16;  // floats of the widest

  Workspace(const FilterBank& bank, const SampleFormat& format)
      : scratch(bank),
        memory(2 * bank.lanes() * most_samples(bank) + kVector),
        codes(bank.lanes() * bank.n_channel() * static_cast<std::size_t>(std::max(2, format.bytes))) {
    void* begin = memory.data();
    std::size_t room = memory.size() * sizeof(float);
    samples = static_cast<float*>(std::align(kVector * sizeof(float), sizeof(float), begin, room));
  }
  static std::size_t most_samples(const FilterBank& bank) {
    return (spectra_of_a_part(bank) - 1) * bank.step() + bank.length();
  }
  FilterBank::Scratch scratch;
  std::vector<float> memory;
  float* samples;                      ///< [sample][input] re, im; where a vector begins
  std::vector<std::uint8_t> codes;     ///< [channel][input] of 16 bits or floats
  std::vector<std::uint8_t> gathered;  ///< [sample][input] codes of inputs that do not lie side by side
};

HostSpectra::HostSpectra(const ChannelPlan& plan) : plan_(plan), together_(plan.bank.lanes()) {
  if (plan.phases.empty()) return;
  const std::size_t n_channel = plan.n_channel(), groups = (plan.in.n_input + together_ - 1) / together_;
  phases_.resize(2 * groups * together_ * n_channel);
  for (std::size_t i = 0; i < plan.in.n_input; ++i)
    for (std::size_t c = 0; c < n_channel; ++c)
      std::copy_n(plan.phases.data() + 2 * (i * n_channel + c), 2,
                  phases_.data() + 2 * ((i / together_ * n_channel + c) * together_ + i % together_));
}

HostSpectra::~HostSpectra() = default;

void HostSpectra::decode(const SampleBlock& block, std::size_t first_input, std::int64_t first, std::size_t n,
                         Workspace& work) const {
  const SampleView& view = block.view;
  const SampleFormat& format = plan_.in.format;
  const std::size_t inputs = std::min(together_, plan_.in.n_input - first_input),
                    row = (format.is_real ? 1 : 2) * together_, bytes = static_cast<std::size_t>(format.bytes);
  if (inputs < together_) std::fill_n(work.samples, n * row, 0.0f);
  // Each input is shifted by its own whole samples.
  std::array<const std::uint8_t*, kMostTogether> from{};
  bool in_a_row = view.input_stride == format.bytes;
  for (std::size_t i = 0; i < inputs; ++i) {
    from[i] = view.bytes + (first + plan_.shift[first_input + i] - block.first) * view.time_stride +
              static_cast<std::ptrdiff_t>(first_input + i) * view.input_stride;
    in_a_row = in_a_row && plan_.shift[first_input + i] == plan_.shift[first_input];
  }
  if (in_a_row && !format.is_float) return unpack(from[0], view.time_stride, inputs, n, format, work.samples, row);
  work.gathered.resize(n * inputs * bytes);
  const auto gather = [&](auto code) {
    for (std::size_t t = 0; t < n; ++t)
      for (std::size_t i = 0; i < inputs; ++i)
        std::memcpy(work.gathered.data() + (t * inputs + i) * sizeof code,
                    from[i] + static_cast<std::ptrdiff_t>(t) * view.time_stride, sizeof code);
  };
  if (format.is_float) {
    for (std::size_t t = 0; t < n; ++t)
      for (std::size_t i = 0; i < inputs; ++i)
        std::memcpy(work.samples + t * row + 2 * i, from[i] + static_cast<std::ptrdiff_t>(t) * view.time_stride, 8);
    if (format.imaginary_is_first()) swap_parts(work.samples, n * together_);
    return;
  }
  bytes == 1 ? gather(std::uint8_t{}) : gather(std::uint16_t{});
  unpack(work.gathered.data(), static_cast<std::ptrdiff_t>(inputs * bytes), inputs, n, format, work.samples, row);
}

std::size_t HostSpectra::quantise(const float* bins, std::size_t group, std::uint8_t* codes) const {
  // Channels from bin `zero` on, and then those from bin 0 on.
  const std::size_t n = plan_.n_channel() * together_, zero = plan_.bank.bin_of(0) * together_;
  const SampleFormat& format = plan_.options.format;
  const float* phases = phases_.empty() ? nullptr : phases_.data() + 2 * n * group;
  const auto part = [&](std::size_t from, std::size_t to, std::size_t many) -> std::size_t {
    const float *x = bins + 2 * from, *y = phases == nullptr ? nullptr : phases + 2 * to;
    if (format.is_float) {
      float* numbers = reinterpret_cast<float*>(codes) + 2 * to;
      scale_numbers(x, many, plan_.scale, y, numbers);
      if (format.imaginary_is_first()) swap_parts(numbers, many);
      return 0;
    }
    auto* at = reinterpret_cast<std::uint16_t*>(codes) + to;
    return y == nullptr ? round_to_codes(x, many, plan_.scale, format, at) : round_to_codes(x, many, y, format, at);
  };
  return part(zero, 0, n - zero) + part(0, n - zero, zero);
}

/// Spectra [begin, end) of the block, of a group of inputs.
void HostSpectra::spectra(const SpectraWanted& wanted, std::size_t group, std::size_t begin, std::size_t end,
                          Workspace& work) {
  const std::size_t first_input = group * together_, inputs = std::min(together_, plan_.in.n_input - first_input),
                    step = plan_.bank.step(), n_channel = plan_.n_channel(),
                    row = (plan_.in.format.is_real ? 1 : 2) * together_,
                    bytes = static_cast<std::size_t>(plan_.options.format.bytes),
                    wide = std::max<std::size_t>(2, bytes);
  decode(wanted.block, first_input, plan_.first_sample(wanted.first + static_cast<std::int64_t>(begin)),
         (end - begin - 1) * step + plan_.bank.length(), work);
  std::uint64_t cut = 0;
  for (std::size_t t = begin; t < end; ++t) {
    const float* bins = plan_.bank.run(work.samples + (t - begin) * step * row, work.scratch);
    cut += quantise(bins, group, work.codes.data());
    for (std::size_t c = 0; c < n_channel; ++c) {
      std::uint8_t* to = codes_.data() + c * row_bytes_ + bytes * (t * plan_.in.n_input + first_input);
      const std::uint8_t* from = work.codes.data() + wide * c * together_;
      if (bytes == 2 && inputs == kMostTogether)
        std::memcpy(to, from, 2 * kMostTogether);  // of a size that the compiler knows
      else if (bytes > 1)
        std::memcpy(to, from, bytes * inputs);
      else
        for (std::size_t i = 0; i < inputs; ++i) to[i] = from[2 * i];  // the lower byte: machines are little-endian
    }
  }
  cut_off_ += cut;
}

SampleView HostSpectra::make(const SpectraWanted& wanted, ThreadPool& threads, Cancellation& cancellation) {
  const std::size_t n_input = plan_.in.n_input, bytes = static_cast<std::size_t>(plan_.options.format.bytes),
                    groups = (n_input + together_ - 1) / together_, of_part = spectra_of_a_part(plan_.bank),
                    parts = (wanted.n + of_part - 1) / of_part;
  row_bytes_ = row_bytes(bytes * wanted.n * n_input);
  codes_.resize(row_bytes_ * plan_.n_channel());
  workspaces_.resize(static_cast<std::size_t>(threads.size()));
  threads.parallel_for(
      groups * parts, 1,
      [&](std::size_t from, std::size_t to, int worker) {
        auto& work = workspaces_[static_cast<std::size_t>(worker)];
        if (!work) work = std::make_unique<Workspace>(plan_.bank, plan_.options.format);
        for (std::size_t k = from; k < to; ++k)
          spectra(wanted, k % groups, k / groups * of_part, std::min(wanted.n, (k / groups + 1) * of_part), *work);
      },
      &cancellation);
  return channel_rows(codes_.data(), plan_.options.format, wanted.n, plan_.n_channel(), n_input, row_bytes_);
}

}  // namespace rimetree::correlator
