#include "nodes/correlator/device/copied_codes.h"

#include <cstring>

namespace rimetree::correlator {

namespace {

/// `n` runs of `bytes` bytes each, one after the other in the copy; `at(k)` is where run k begins.
template <class At>
void copy_runs(std::size_t n, std::size_t bytes, std::uint8_t* to, ThreadPool& threads, const At& at) {
  constexpr std::size_t kTogether = std::size_t{1} << 20;
  if (n == 1) {
    const std::uint8_t* from = at(0);
    threads.parallel_for((bytes + kTogether - 1) / kTogether, 1, [&](std::size_t begin, std::size_t end, int) {
      const std::size_t first = begin * kTogether, last = std::min(bytes, end * kTogether);
      std::memcpy(to + first, from + first, last - first);
    });
    return;
  }
  threads.parallel_for(n, 1 + kTogether / bytes, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t k = begin; k < end; ++k) std::memcpy(to + k * bytes, at(k), bytes);
  });
}

}  // namespace

std::int64_t span_of(const SampleView& samples) {
  if (samples.n_time == 0) return 0;
  const auto last = [](std::size_t n, std::ptrdiff_t stride) { return static_cast<std::int64_t>(n - 1) * stride; };
  return last(samples.n_time, samples.time_stride) + last(samples.n_channel, samples.channel_stride) +
         last(samples.n_input, samples.input_stride) + samples.format.bytes;
}

CodeView copy_codes(const SampleView& samples, std::size_t first, std::size_t n, std::uint8_t* to,
                    ThreadPool& threads) {
  const std::size_t channels = samples.n_channel, inputs = samples.n_input,
                    bytes = static_cast<std::size_t>(samples.format.bytes);
  const std::uint8_t* begin = samples.bytes + static_cast<std::ptrdiff_t>(first) * samples.time_stride;
  const auto at = [&](std::size_t time, std::size_t channel, std::size_t input) {
    return begin + static_cast<std::ptrdiff_t>(time) * samples.time_stride +
           static_cast<std::ptrdiff_t>(channel) * samples.channel_stride +
           static_cast<std::ptrdiff_t>(input) * samples.input_stride;
  };
  const auto is = [](std::ptrdiff_t stride, std::size_t wanted) {
    return stride == static_cast<std::ptrdiff_t>(wanted);
  };
  const bool side_by_side = is(samples.input_stride, bytes);

  CodeView view;
  view.bits = CodeBits(samples.format);
  view.n_byte = static_cast<std::int64_t>(n * channels * inputs * bytes);
  view.n_time = static_cast<std::int32_t>(n);
  view.n_channel = static_cast<std::int32_t>(channels);
  view.n_input = static_cast<std::int32_t>(inputs);
  const auto lies = [&](std::size_t time, std::size_t channel, std::size_t input) {
    view.time_stride = static_cast<std::int64_t>(time * bytes);
    view.channel_stride = static_cast<std::int64_t>(channel * bytes);
    view.input_stride = static_cast<std::int64_t>(input * bytes);
  };
  if (side_by_side && is(samples.time_stride, bytes * inputs * channels) &&
      (channels == 1 || is(samples.channel_stride, bytes * inputs))) {
    lies(channels * inputs, inputs, 1);
    copy_runs(1, n * channels * inputs * bytes, to, threads, [&](std::size_t) { return begin; });
  } else if (side_by_side && is(samples.time_stride, bytes * inputs)) {
    lies(inputs, n * inputs, 1);
    copy_runs(channels, n * inputs * bytes, to, threads, [&](std::size_t c) { return at(0, c, 0); });
  } else if (is(samples.time_stride, bytes)) {
    lies(1, n * inputs, n);
    copy_runs(channels * inputs, n * bytes, to, threads, [&](std::size_t k) { return at(0, k / inputs, k % inputs); });
  } else {
    lies(channels * inputs, inputs, 1);
    copy_runs(n * channels * inputs, bytes, to, threads,
              [&](std::size_t k) { return at(k / inputs / channels, k / inputs % channels, k % inputs); });
  }
  return view;
}

}  // namespace rimetree::correlator
