#include "nodes/correlator/channelised_stream.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <numbers>

#include "nodes/correlator/rounding.h"
#include "runtime/core/error.h"

namespace rimetree::correlator {

namespace {

constexpr std::size_t kSpectra = 8;       // of an input, one after the other: their samples fit into the second cache
constexpr std::size_t kDecodedBits = 10;  // codes of more are decoded by shifts

std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

}  // namespace

struct ChannelisedStream::Workspace {
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

StreamShape channelised(const StreamShape& samples, const Channelisation& options, const FilterBank& bank) {
  StreamShape shape = samples;
  shape.format = options.format;
  shape.n_channel = options.n_channel;
  shape.interval_s = samples.interval_s * double(bank.step());
  shape.unit = samples.unit / options.gain;
  shape.independent = samples.independent * bank.independent();
  return shape;
}

ChannelisedStream::ChannelisedStream(std::unique_ptr<SampleStream> samples, const StreamShape& shape,
                                     const Channelisation& options)
    : samples_(std::move(samples)),
      in_(shape),
      options_(options),
      bank_(options.n_channel, options.taps, options.window, shape.format.is_real),
      shift_(shape.n_input, 0) {
  if (shape.n_channel != 1)
    throw Error("the samples have " + std::to_string(shape.n_channel) + " channels; only one can be channelised");
  if (options.format.is_real)
    throw Error("channels have complex samples; format \"" + options.format.name + "\" is real");
  if (!options.delay_s.empty() && options.delay_s.size() != shape.n_input)
    throw Error(std::to_string(options.delay_s.size()) + " delays for " + std::to_string(shape.n_input) + " inputs");
  // What is left of numbers after a transform that does not divide by its length, and of their power.
  const double power = double(bank_.n_channel()) * (shape.format.is_real ? 2 : 1),
               scale = options.gain / std::sqrt(power);
  phases_.assign(2, 0);
  phases_[0] = float(scale);
  if (!options.delay_s.empty()) {
    phases_.clear();
    for (std::size_t i = 0; i < shape.n_input; ++i) {
      const double delay = options.delay_s[i] / shape.interval_s;
      shift_[i] = std::llround(delay);
      for (std::size_t c = 0; c < bank_.n_channel(); ++c) {
        // The whole samples have turned the channel's own phase already.
        const double turns = options.centre_hz * options.delay_s[i] + bank_.frequency(c) * (delay - double(shift_[i])),
                     angle = 2 * std::numbers::pi * (turns - std::round(turns));
        phases_.push_back(float(scale * std::cos(angle)));
        phases_.push_back(float(scale * std::sin(angle)));
      }
    }
    const auto [least, most] = std::minmax_element(shift_.begin(), shift_.end());
    least_shift_ = *least;
    most_shift_ = *most;
  }
  const auto used = static_cast<std::uint16_t>(~shape.format.unused_bits() & ((1 << 8 * shape.format.bytes) - 1));
  if (used < 1 << kDecodedBits)
    for (int code = 0; code <= used; ++code) {
      const Sample sample = shape.format.decode(static_cast<std::uint16_t>(code));
      table_.push_back(sample.re);
      if (!shape.format.is_real) table_.push_back(sample.im);
    }
}

ChannelisedStream::~ChannelisedStream() = default;

/// Samples [first, first + n) of a group's inputs, each shifted by its own whole samples.
void ChannelisedStream::decode(const SampleBlock& block, std::size_t group, std::int64_t first, std::size_t n,
                               Workspace& work) const {
  constexpr std::size_t kTogether = 128;  // whose lines stay in the first cache while the inputs take turns
  const SampleView& view = block.view;
  const std::size_t begin = group * kInputs, end = std::min(begin + kInputs, in_.n_input);
  const std::uint16_t used = static_cast<std::uint16_t>(~in_.format.unused_bits());
  for (std::size_t t = 0; t < n; t += kTogether) {
    const std::size_t many = std::min(kTogether, n - t);
    for (std::size_t i = begin; i < end; ++i) {
      const auto from = first + static_cast<std::int64_t>(t) + shift_[i] - block.first;
      const std::uint8_t* at =
          view.bytes + from * view.time_stride + static_cast<std::ptrdiff_t>(i) * view.input_stride;
      float* to = work.samples + (i - begin) * work.stride + (in_.format.is_real ? t : 2 * t);
      if (in_.format.is_real) {
        for (std::size_t k = 0; k < many; ++k, at += view.time_stride) to[k] = table_[*at];
      } else if (table_.empty()) {
        for (std::size_t k = 0; k < many; ++k, at += view.time_stride) {
          const Sample sample = in_.format.decode(static_cast<std::uint16_t>(at[0] | at[1] << 8));
          to[2 * k] = sample.re;
          to[2 * k + 1] = sample.im;
        }
      } else if (in_.format.bytes == 1) {
        for (std::size_t k = 0; k < many; ++k, at += view.time_stride) std::memcpy(to + 2 * k, &table_[2 * *at], 8);
      } else {
        for (std::size_t k = 0; k < many; ++k, at += view.time_stride)
          std::memcpy(to + 2 * k, &table_[2 * static_cast<std::size_t>((at[0] | at[1] << 8) & used)], 8);
      }
    }
  }
}

std::size_t ChannelisedStream::quantise(const float* bins, std::size_t input, std::uint16_t* codes) const {
  // Channels from bin `zero` on, and then those from bin 0 on.
  const std::size_t n = bank_.n_channel(), zero = bank_.bin_of(0);
  const SampleFormat& format = options_.format;
  if (options_.delay_s.empty())
    return round_to_codes(bins + 2 * zero, n - zero, phases_[0], format, codes) +
           round_to_codes(bins, zero, phases_[0], format, codes + n - zero);
  const float* phases = phases_.data() + 2 * n * input;
  return round_to_codes(bins + 2 * zero, n - zero, phases, format, codes) +
         round_to_codes(bins, zero, phases + 2 * (n - zero), format, codes + n - zero);
}

/// Spectra [begin, end) of the block, of a group of inputs.
void ChannelisedStream::spectra(const SampleBlock& block, std::size_t group, std::size_t begin, std::size_t end,
                                Workspace& work) {
  const std::size_t first_input = group * kInputs, inputs = std::min(kInputs, in_.n_input - first_input),
                    step = bank_.step(), n_channel = bank_.n_channel(), numbers = in_.format.is_real ? 1 : 2,
                    bytes = static_cast<std::size_t>(options_.format.bytes);
  const auto first = (first_ + static_cast<std::int64_t>(begin)) * static_cast<std::int64_t>(step) -
                     static_cast<std::int64_t>(bank_.lead());
  decode(block, group, first, (end - begin - 1) * step + bank_.length(), work);
  std::uint64_t cut = 0;
  for (std::size_t t = begin; t < end; ++t) {
    for (std::size_t i = 0; i < inputs; ++i)
      cut += quantise(bank_.run(work.samples + i * work.stride + numbers * (t - begin) * step, work.scratch),
                      first_input + i, work.codes.data() + i * n_channel);
    for (std::size_t c = 0; c < n_channel; ++c) {
      std::uint8_t* to = codes_.data() + bytes * ((c * n_time_ + t) * in_.n_input + first_input);
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
  numbers_ += 2 * (end - begin) * inputs * n_channel;
}

/// A spectrum counts where all samples that it is made of do.
const SampleMask* ChannelisedStream::mask_of(const SampleBlock& block) {
  if (block.mask == nullptr) return nullptr;
  mask_ = SampleMask(in_.n_input, n_time_);
  std::vector<std::size_t> before(block.view.n_time + 1, 0);  // samples that do not count
  for (std::size_t i = 0; i < in_.n_input; ++i) {
    for (std::size_t t = 0; t < block.view.n_time; ++t) before[t + 1] = before[t] + (block.mask->counts(i, t) ? 0 : 1);
    for (std::size_t m = 0; m < n_time_; ++m) {
      const auto from =
          static_cast<std::size_t>((first_ + static_cast<std::int64_t>(m)) * static_cast<std::int64_t>(bank_.step()) -
                                   static_cast<std::int64_t>(bank_.lead()) + shift_[i] - block.first);
      if (before[from + bank_.length()] > before[from]) mask_.leave_out(i, m);
    }
  }
  return &mask_;
}

SampleBlock ChannelisedStream::read(std::int64_t first, std::size_t n, ThreadPool& threads,
                                    Cancellation& cancellation) {
  const auto step = static_cast<std::int64_t>(bank_.step()), lead = static_cast<std::int64_t>(bank_.lead()),
             length = static_cast<std::int64_t>(bank_.length());
  const SampleBlock block =
      samples_->read(first * step - lead + least_shift_,
                     (n - 1) * bank_.step() + bank_.length() + static_cast<std::size_t>(most_shift_ - least_shift_),
                     threads, cancellation);
  // Spectra of which all samples of all inputs are there.
  const std::int64_t block_end = block.first + static_cast<std::int64_t>(block.view.n_time),
                     begin = std::max(first, -floor_divide(-(block.first + lead - least_shift_), step)),
                     end = std::min(first + static_cast<std::int64_t>(n),
                                    floor_divide(block_end - length + lead - most_shift_, step) + 1);
  first_ = begin;
  n_time_ = end > begin ? static_cast<std::size_t>(end - begin) : 0;
  codes_.resize(static_cast<std::size_t>(options_.format.bytes) * bank_.n_channel() * n_time_ * in_.n_input);
  if (n_time_ > 0) {
    const std::size_t groups = (in_.n_input + kInputs - 1) / kInputs, parts = (n_time_ + kSpectra - 1) / kSpectra;
    workspaces_.resize(static_cast<std::size_t>(threads.size()));
    threads.parallel_for(
        groups * parts, 1,
        [&](std::size_t from, std::size_t to, int worker) {
          auto& work = workspaces_[static_cast<std::size_t>(worker)];
          if (!work) work = std::make_unique<Workspace>(bank_, in_.format.is_real ? 1 : 2);
          for (std::size_t k = from; k < to; ++k)
            spectra(block, k % groups, k / groups * kSpectra, std::min(n_time_, (k / groups + 1) * kSpectra), *work);
        },
        &cancellation);
  }
  const auto bytes = static_cast<std::ptrdiff_t>(options_.format.bytes),
             inputs = static_cast<std::ptrdiff_t>(in_.n_input);
  return {{codes_.data(), options_.format, n_time_, bank_.n_channel(), in_.n_input, bytes * inputs,
           bytes * inputs * static_cast<std::ptrdiff_t>(n_time_), bytes},
          begin,
          n_time_ > 0 ? mask_of(block) : nullptr};
}

std::string ChannelisedStream::report() const {
  std::string text = samples_->report();
  if (cut_off_ > 0) {
    char line[120];
    std::snprintf(line, sizeof line, "channelise: %.3g of all numbers were cut off at the range of \"%s\"",
                  double(cut_off_) / double(numbers_), options_.format.name.c_str());
    text += (text.empty() ? "" : "; ") + std::string(line);
  }
  return text;
}

}  // namespace rimetree::correlator
