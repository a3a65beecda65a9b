#include "nodes/correlator/host_spectra.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "nodes/correlator/rounding.h"

namespace rimetree::correlator {

namespace {

constexpr std::size_t kDecodedBits = 10;  // codes of more are decoded by shifts
constexpr std::size_t kMostTogether = 16;

/// Spectra that are made of samples decoded together: several where their windows overlap.
std::size_t spectra_of_a_part(const FilterBank& bank) { return bank.length() > bank.step() ? 8 : 1; }

}  // namespace

struct HostSpectra::Workspace {
  static constexpr std::size_t kVector = 16;  // floats of the widest

  explicit Workspace(const FilterBank& bank)
      : scratch(bank),
        memory(2 * bank.lanes() * ((spectra_of_a_part(bank) - 1) * bank.step() + bank.length()) + kVector),
        codes(bank.lanes() * bank.n_channel()) {
    void* begin = memory.data();
    std::size_t room = memory.size() * sizeof(float);
    samples = static_cast<float*>(std::align(kVector * sizeof(float), sizeof(float), begin, room));
  }
  FilterBank::Scratch scratch;
  std::vector<float> memory;
  float* samples;                    ///< [sample][input] re, im; where a vector begins
  std::vector<std::uint16_t> codes;  ///< [channel][input]
};

HostSpectra::HostSpectra(const ChannelPlan& plan) : plan_(plan), together_(plan.bank.lanes()) {
  const SampleFormat& format = plan.in.format;
  const auto used = static_cast<std::uint16_t>(~format.unused_bits() & ((1 << 8 * format.bytes) - 1));
  if (used < 1 << kDecodedBits)
    for (int code = 0; code <= used; ++code) {
      const Sample sample = format.decode(static_cast<std::uint16_t>(code));
      table_.push_back(sample.re);
      if (!format.is_real) table_.push_back(sample.im);
    }
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
                         float* to) const {
  const SampleView& view = block.view;
  const SampleFormat& format = plan_.in.format;
  const std::size_t inputs = std::min(together_, plan_.in.n_input - first_input), numbers = format.is_real ? 1 : 2,
                    row = numbers * together_;
  const std::uint16_t used = static_cast<std::uint16_t>(~format.unused_bits());
  if (inputs < together_) std::fill_n(to, n * row, 0.0f);
  // Each input is shifted by its own whole samples.
  std::array<const std::uint8_t*, kMostTogether> from{};
  for (std::size_t i = 0; i < inputs; ++i)
    from[i] = view.bytes + (first + plan_.shift[first_input + i] - block.first) * view.time_stride +
              static_cast<std::ptrdiff_t>(first_input + i) * view.input_stride;
  // Sixteen inputs that lie side by side, as they mostly do, need no pointer each.
  bool in_a_row = inputs == kMostTogether && view.input_stride == format.bytes;
  for (std::size_t i = 1; i < inputs; ++i)
    in_a_row = in_a_row && plan_.shift[first_input + i] == plan_.shift[first_input];
  // What an input's sample is, written where it belongs; one loop for each way to write codes.
  const auto each = [&]<int kBytes, int kNumbers>(auto&& put) {
    for (std::size_t t = 0; t < n; ++t, to += row) {
      const std::ptrdiff_t time = static_cast<std::ptrdiff_t>(t) * view.time_stride;
      if (in_a_row)
        for (std::size_t i = 0; i < kMostTogether; ++i) put(from[0] + time + kBytes * i, to + kNumbers * i);
      else
        for (std::size_t i = 0; i < inputs; ++i) put(from[i] + time, to + kNumbers * i);
    }
  };
  if (format.is_real) {
    each.template operator()<1, 1>([&](const std::uint8_t* at, float* x) { *x = table_[*at]; });
  } else if (table_.empty()) {
    each.template operator()<2, 2>([&](const std::uint8_t* at, float* x) {
      const Sample sample = format.decode(static_cast<std::uint16_t>(at[0] | at[1] << 8));
      x[0] = sample.re;
      x[1] = sample.im;
    });
  } else if (format.bytes == 1) {
    each.template operator()<1, 2>(
        [table = table_.data()](const std::uint8_t* at, float* x) { std::memcpy(x, table + 2 * *at, 8); });
  } else {
    each.template operator()<2, 2>([table = table_.data(), used](const std::uint8_t* at, float* x) {
      std::uint16_t code;
      std::memcpy(&code, at, 2);
      std::memcpy(x, table + 2 * static_cast<std::size_t>(code & used), 8);
    });
  }
}

std::size_t HostSpectra::quantise(const float* bins, std::size_t group, std::uint16_t* codes) const {
  // Channels from bin `zero` on, and then those from bin 0 on.
  const std::size_t n = plan_.n_channel() * together_, zero = plan_.bank.bin_of(0) * together_;
  const SampleFormat& format = plan_.options.format;
  if (phases_.empty())
    return round_to_codes(bins + 2 * zero, n - zero, plan_.scale, format, codes) +
           round_to_codes(bins, zero, plan_.scale, format, codes + n - zero);
  const float* phases = phases_.data() + 2 * n * group;
  return round_to_codes(bins + 2 * zero, n - zero, phases, format, codes) +
         round_to_codes(bins, zero, phases + 2 * (n - zero), format, codes + n - zero);
}

/// Spectra [begin, end) of the block, of a group of inputs.
void HostSpectra::spectra(const SpectraWanted& wanted, std::size_t group, std::size_t begin, std::size_t end,
                          Workspace& work) {
  const std::size_t first_input = group * together_, inputs = std::min(together_, plan_.in.n_input - first_input),
                    step = plan_.bank.step(), n_channel = plan_.n_channel(),
                    row = (plan_.in.format.is_real ? 1 : 2) * together_,
                    bytes = static_cast<std::size_t>(plan_.options.format.bytes);
  decode(wanted.block, first_input, plan_.first_sample(wanted.first + static_cast<std::int64_t>(begin)),
         (end - begin - 1) * step + plan_.bank.length(), work.samples);
  std::uint64_t cut = 0;
  for (std::size_t t = begin; t < end; ++t) {
    const float* bins = plan_.bank.run(work.samples + (t - begin) * step * row, work.scratch);
    cut += quantise(bins, group, work.codes.data());
    for (std::size_t c = 0; c < n_channel; ++c) {
      std::uint8_t* to = codes_.data() + bytes * ((c * wanted.n + t) * plan_.in.n_input + first_input);
      const std::uint16_t* from = work.codes.data() + c * together_;
      if (bytes == 2 && inputs == kMostTogether)
        std::memcpy(to, from, 2 * kMostTogether);  // of a size that the compiler knows
      else if (bytes == 2)
        std::memcpy(to, from, 2 * inputs);
      else
        for (std::size_t i = 0; i < inputs; ++i) to[i] = static_cast<std::uint8_t>(from[i]);
    }
  }
  cut_off_ += cut;
}

SampleView HostSpectra::make(const SpectraWanted& wanted, ThreadPool& threads, Cancellation& cancellation) {
  const std::size_t n_input = plan_.in.n_input, bytes = static_cast<std::size_t>(plan_.options.format.bytes),
                    groups = (n_input + together_ - 1) / together_, of_part = spectra_of_a_part(plan_.bank),
                    parts = (wanted.n + of_part - 1) / of_part;
  codes_.resize(bytes * plan_.n_channel() * wanted.n * n_input);
  workspaces_.resize(static_cast<std::size_t>(threads.size()));
  threads.parallel_for(
      groups * parts, 1,
      [&](std::size_t from, std::size_t to, int worker) {
        auto& work = workspaces_[static_cast<std::size_t>(worker)];
        if (!work) work = std::make_unique<Workspace>(plan_.bank);
        for (std::size_t k = from; k < to; ++k)
          spectra(wanted, k % groups, k / groups * of_part, std::min(wanted.n, (k / groups + 1) * of_part), *work);
      },
      &cancellation);
  return channel_rows(codes_.data(), plan_.options.format, wanted.n, plan_.n_channel(), n_input);
}

}  // namespace rimetree::correlator
