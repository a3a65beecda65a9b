// SampleView in memory as a receiver, a file or a channeliser leaves them: any order of times, channels and inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "nodes/correlator/sample_format.h"
#include "runtime/math/complex.h"

namespace rimetree::correlator {

/// Complex samples [time, channel, input] in any order in memory: strides are in bytes. Does not own them.
struct SampleView {
  const std::uint8_t* bytes = nullptr;
  SampleFormat format;
  std::size_t n_time = 0, n_channel = 1, n_input = 0;
  std::ptrdiff_t time_stride = 0, channel_stride = 0, input_stride = 0;

  std::uint16_t code(std::size_t time, std::size_t channel, std::size_t input) const {
    const std::uint8_t* at = bytes + static_cast<std::ptrdiff_t>(time) * time_stride +
                             static_cast<std::ptrdiff_t>(channel) * channel_stride +
                             static_cast<std::ptrdiff_t>(input) * input_stride;
    return format.bytes == 1 ? at[0] : static_cast<std::uint16_t>(at[0] | at[1] << 8);
  }
  /// Of floats.
  Complex<float> value(std::size_t time, std::size_t channel, std::size_t input) const {
    Complex<float> x;
    std::memcpy(&x,
                bytes + static_cast<std::ptrdiff_t>(time) * time_stride +
                    static_cast<std::ptrdiff_t>(channel) * channel_stride +
                    static_cast<std::ptrdiff_t>(input) * input_stride,
                sizeof x);
    return format.imaginary_is_first() ? Complex<float>(x.im, x.re) : x;
  }
  Sample sample(std::size_t time, std::size_t channel, std::size_t input) const {
    return format.decode(code(time, channel, input));
  }
};

/// [time][channel][input], the input fastest: what CHIME's channelisers send, and with one channel the MWA's receivers.
inline SampleView input_fastest(const std::uint8_t* bytes, const SampleFormat& format, std::size_t n_time,
                                std::size_t n_channel, std::size_t n_input) {
  const auto step = static_cast<std::ptrdiff_t>(format.bytes);
  const auto inputs = static_cast<std::ptrdiff_t>(n_input), channels = static_cast<std::ptrdiff_t>(n_channel);
  return {bytes, format, n_time, n_channel, n_input, step * inputs * channels, step * inputs, step};
}

/// [channel][time][input]: what a channeliser leaves. `row_bytes`: from one channel to the next; 0: without gaps.
inline SampleView channel_rows(const std::uint8_t* bytes, const SampleFormat& format, std::size_t n_time,
                               std::size_t n_channel, std::size_t n_input, std::size_t row_bytes = 0) {
  const auto step = static_cast<std::ptrdiff_t>(format.bytes), inputs = static_cast<std::ptrdiff_t>(n_input),
             row = row_bytes > 0 ? static_cast<std::ptrdiff_t>(row_bytes)
                                 : step * inputs * static_cast<std::ptrdiff_t>(n_time);
  return {bytes, format, n_time, n_channel, n_input, step * inputs, row, step};
}

/// [channel][input][time], the time fastest.
inline SampleView time_fastest(const std::uint8_t* bytes, const SampleFormat& format, std::size_t n_time,
                               std::size_t n_channel, std::size_t n_input) {
  const auto step = static_cast<std::ptrdiff_t>(format.bytes);
  const auto inputs = static_cast<std::ptrdiff_t>(n_input), times = static_cast<std::ptrdiff_t>(n_time);
  return {bytes, format, n_time, n_channel, n_input, step, step * times * inputs, step * times};
}

}  // namespace rimetree::correlator
