#include "nodes/correlator/channelised_stream.h"

#include <algorithm>
#include <cstdio>

#include "nodes/correlator/device/device_spectra.h"
#include "nodes/correlator/host_spectra.h"

namespace rimetree::correlator {

namespace {

std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

}  // namespace

ChannelisedStream::ChannelisedStream(std::unique_ptr<SampleStream> samples, const StreamShape& shape,
                                     const Channelisation& options)
    : samples_(std::move(samples)), plan_(shape, options), on_host_(std::make_unique<HostSpectra>(plan_)) {}

ChannelisedStream::~ChannelisedStream() = default;

void ChannelisedStream::work_on(DeviceContext* device) {
  if (on_device_) cut_off_ += on_device_->take_cut_off();
  on_device_.reset();
  if (device != nullptr && can_make_spectra(device->device()) && !plan_.in.format.is_float &&
      !plan_.options.format.is_float)
    on_device_ = std::make_unique<DeviceSpectra>(plan_, *device);
}

/// A spectrum counts where all samples that it is made of do.
const SampleMask* ChannelisedStream::mask_of(const SampleBlock& block, std::int64_t first, std::size_t n) {
  if (block.mask == nullptr) return nullptr;
  mask_ = SampleMask(plan_.in.n_input, n);
  std::vector<std::size_t> before(block.view.n_time + 1, 0);  // samples that do not count
  for (std::size_t i = 0; i < plan_.in.n_input; ++i) {
    for (std::size_t t = 0; t < block.view.n_time; ++t) before[t + 1] = before[t] + (block.mask->counts(i, t) ? 0 : 1);
    for (std::size_t m = 0; m < n; ++m) {
      const auto from = static_cast<std::size_t>(plan_.first_sample(first + static_cast<std::int64_t>(m)) +
                                                 plan_.shift[i] - block.first);
      if (before[from + plan_.bank.length()] > before[from]) mask_.leave_out(i, m);
    }
  }
  return &mask_;
}

SampleView ChannelisedStream::make(const SpectraWanted& wanted, ThreadPool& threads, Cancellation& cancellation) {
  numbers_ += 2 * wanted.n * plan_.in.n_input * plan_.n_channel();
  if (on_device_) try {
      return on_device_->make(wanted, threads, cancellation);
    } catch (const memory::OutOfMemory& error) {
      why_not_there_ = error.what();
      work_on(nullptr);
    }
  const SampleView view = on_host_->make(wanted, threads, cancellation);
  cut_off_ += on_host_->take_cut_off();
  return view;
}

SampleBlock ChannelisedStream::read(std::int64_t first, std::size_t n, ThreadPool& threads,
                                    Cancellation& cancellation) {
  const auto step = static_cast<std::int64_t>(plan_.bank.step()), lead = static_cast<std::int64_t>(plan_.bank.lead()),
             length = static_cast<std::int64_t>(plan_.bank.length());
  const SampleBlock block = samples_->read(plan_.first_sample(first) + plan_.least_shift,
                                           (n - 1) * plan_.bank.step() + plan_.bank.length() +
                                               static_cast<std::size_t>(plan_.most_shift - plan_.least_shift),
                                           threads, cancellation);
  // Spectra of which all samples of all inputs are there.
  const std::int64_t block_end = block.first + static_cast<std::int64_t>(block.view.n_time),
                     begin = std::max(first, -floor_divide(-(block.first + lead - plan_.least_shift), step)),
                     end = std::min(first + static_cast<std::int64_t>(n),
                                    floor_divide(block_end - length + lead - plan_.most_shift, step) + 1);
  if (end <= begin)
    return {channel_rows(nullptr, plan_.options.format, 0, plan_.n_channel(), plan_.in.n_input), begin, nullptr};
  const auto n_time = static_cast<std::size_t>(end - begin);
  const SampleView view = make({block, begin, n_time}, threads, cancellation);
  return {view, begin, mask_of(block, begin, n_time), on_device_ ? on_device_->where() : nullptr};
}

std::string ChannelisedStream::report() const {
  std::string text = samples_->report();
  const auto add = [&text](const std::string& more) { text += (text.empty() ? "" : "; ") + more; };
  if (cut_off_ > 0) {
    char line[120];
    std::snprintf(line, sizeof line, "channelise: %.3g of all numbers were cut off at the range of \"%s\"",
                  double(cut_off_) / double(numbers_), plan_.options.format.name.c_str());
    add(line);
  }
  if (!why_not_there_.empty()) add("channelise: on the host: " + why_not_there_);
  return text;
}

std::string ChannelisedStream::warning() const {
  // The best steps for noise of 4 bits cut off 1 % of it.
  constexpr double kMost = 0.03;
  const double fraction = numbers_ > 0 ? double(cut_off_) / double(numbers_) : 0;
  if (fraction <= kMost) return samples_->warning();
  char line[200];
  std::snprintf(
      line, sizeof line,
      "%.3g %% of all numbers of channels were cut off at the range of \"%s\", so that products are too small: "
      "gain %g is too large for them",
      100 * fraction, plan_.options.format.name.c_str(), plan_.options.gain);
  return line;
}

}  // namespace rimetree::correlator
