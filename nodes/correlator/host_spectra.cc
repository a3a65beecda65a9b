#include "nodes/correlator/host_spectra.h"

#include <algorithm>
#include <cstring>

#include "nodes/correlator/rounding.h"

namespace rimetree::correlator {

namespace {

constexpr std::size_t kSpectra = 8;       // of an input, one after the other: their samples fit into the second cache
constexpr std::size_t kDecodedBits = 10;  // codes of more are decoded by shifts

}  // namespace

struct HostSpectra::Workspace {
  static constexpr std::size_t kVector = 16;  // floats of the widest

  Workspace(const FilterBank& bank, std::size_t numbers)
      : scratch(bank),
        // Not a power of two, or the inputs would fall into the same lines of the cache.
        stride((numbers * ((kSpectra - 1) * bank.step() + bank.length()) / kVector + 2) * kVector),
        memory(kInputs * stride + kVector),
        codes(kInputs * bank.n_channel()) {
    void* begin = memory.data();
    std::size_t room = memory.size() * sizeof(float);
    samples = static_cast<float*>(std::align(kVector * sizeof(float), kInputs * stride * sizeof(float), begin, room));
  }
  FilterBank::Scratch scratch;
  std::size_t stride;
  std::vector<float> memory;
  float* samples;                    ///< [input][time] re, im; where a vector begins
  std::vector<std::uint16_t> codes;  ///< [input][channel]
};

HostSpectra::HostSpectra(const ChannelPlan& plan) : plan_(plan) {
  const SampleFormat& format = plan.in.format;
  const auto used = static_cast<std::uint16_t>(~format.unused_bits() & ((1 << 8 * format.bytes) - 1));
  if (used >= 1 << kDecodedBits) return;
  for (int code = 0; code <= used; ++code) {
    const Sample sample = format.decode(static_cast<std::uint16_t>(code));
    table_.push_back(sample.re);
    if (!format.is_real) table_.push_back(sample.im);
  }
}

HostSpectra::~HostSpectra() = default;

/// Samples [first, first + n) of a group's inputs, each shifted by its own whole samples.
void HostSpectra::decode(const SampleBlock& block, std::size_t group, std::int64_t first, std::size_t n,
                         Workspace& work) const {
  constexpr std::size_t kTogether = 128;  // whose lines stay in the first cache while the inputs take turns
  const SampleView& view = block.view;
  const std::size_t begin = group * kInputs, end = std::min(begin + kInputs, plan_.in.n_input);
  const std::uint16_t used = static_cast<std::uint16_t>(~plan_.in.format.unused_bits());
  for (std::size_t t = 0; t < n; t += kTogether) {
    const std::size_t many = std::min(kTogether, n - t);
    for (std::size_t i = begin; i < end; ++i) {
      const auto from = first + static_cast<std::int64_t>(t) + plan_.shift[i] - block.first;
      const std::uint8_t* at =
          view.bytes + from * view.time_stride + static_cast<std::ptrdiff_t>(i) * view.input_stride;
      float* to = work.samples + (i - begin) * work.stride + (plan_.in.format.is_real ? t : 2 * t);
      if (plan_.in.format.is_real) {
        for (std::size_t k = 0; k < many; ++k, at += view.time_stride) to[k] = table_[*at];
      } else if (table_.empty()) {
        for (std::size_t k = 0; k < many; ++k, at += view.time_stride) {
          const Sample sample = plan_.in.format.decode(static_cast<std::uint16_t>(at[0] | at[1] << 8));
          to[2 * k] = sample.re;
          to[2 * k + 1] = sample.im;
        }
      } else if (plan_.in.format.bytes == 1) {
        for (std::size_t k = 0; k < many; ++k, at += view.time_stride) std::memcpy(to + 2 * k, &table_[2 * *at], 8);
      } else {
        for (std::size_t k = 0; k < many; ++k, at += view.time_stride)
          std::memcpy(to + 2 * k, &table_[2 * static_cast<std::size_t>((at[0] | at[1] << 8) & used)], 8);
      }
    }
  }
}

std::size_t HostSpectra::quantise(const float* bins, std::size_t input, std::uint16_t* codes) const {
  // Channels from bin `zero` on, and then those from bin 0 on.
  const std::size_t n = plan_.bank.n_channel(), zero = plan_.bank.bin_of(0);
  const SampleFormat& format = plan_.options.format;
  if (plan_.phases.empty())
    return round_to_codes(bins + 2 * zero, n - zero, plan_.scale, format, codes) +
           round_to_codes(bins, zero, plan_.scale, format, codes + n - zero);
  const float* phases = plan_.phases.data() + 2 * n * input;
  return round_to_codes(bins + 2 * zero, n - zero, phases, format, codes) +
         round_to_codes(bins, zero, phases + 2 * (n - zero), format, codes + n - zero);
}

/// Spectra [begin, end) of the block, of a group of inputs.
void HostSpectra::spectra(const SpectraWanted& wanted, std::size_t group, std::size_t begin, std::size_t end,
                          Workspace& work) {
  const std::size_t first_input = group * kInputs, inputs = std::min(kInputs, plan_.in.n_input - first_input),
                    step = plan_.bank.step(), n_channel = plan_.bank.n_channel(),
                    numbers = plan_.in.format.is_real ? 1 : 2,
                    bytes = static_cast<std::size_t>(plan_.options.format.bytes);
  const std::int64_t first = plan_.first_sample(wanted.first + static_cast<std::int64_t>(begin));
  decode(wanted.block, group, first, (end - begin - 1) * step + plan_.bank.length(), work);
  std::uint64_t cut = 0;
  for (std::size_t t = begin; t < end; ++t) {
    for (std::size_t i = 0; i < inputs; ++i)
      cut += quantise(plan_.bank.run(work.samples + i * work.stride + numbers * (t - begin) * step, work.scratch),
                      first_input + i, work.codes.data() + i * n_channel);
    for (std::size_t c = 0; c < n_channel; ++c) {
      std::uint8_t* to = codes_.data() + bytes * ((c * wanted.n + t) * plan_.in.n_input + first_input);
      for (std::size_t i = 0; i < inputs; ++i) {
        const std::uint16_t code = work.codes[i * n_channel + c];
        if (bytes == 2)
          std::memcpy(to + 2 * i, &code, 2);
        else
          to[i] = static_cast<std::uint8_t>(code);
      }
    }
  }
  cut_off_ += cut;
}

SampleView HostSpectra::make(const SpectraWanted& wanted, ThreadPool& threads, Cancellation& cancellation) {
  const std::size_t n_input = plan_.in.n_input, bytes = static_cast<std::size_t>(plan_.options.format.bytes),
                    groups = (n_input + kInputs - 1) / kInputs, parts = (wanted.n + kSpectra - 1) / kSpectra;
  codes_.resize(bytes * plan_.n_channel() * wanted.n * n_input);
  workspaces_.resize(static_cast<std::size_t>(threads.size()));
  threads.parallel_for(
      groups * parts, 1,
      [&](std::size_t from, std::size_t to, int worker) {
        auto& work = workspaces_[static_cast<std::size_t>(worker)];
        if (!work) work = std::make_unique<Workspace>(plan_.bank, plan_.in.format.is_real ? 1 : 2);
        for (std::size_t k = from; k < to; ++k)
          spectra(wanted, k % groups, k / groups * kSpectra, std::min(wanted.n, (k / groups + 1) * kSpectra), *work);
      },
      &cancellation);
  return channel_rows(codes_.data(), plan_.options.format, wanted.n, plan_.n_channel(), n_input);
}

}  // namespace rimetree::correlator
