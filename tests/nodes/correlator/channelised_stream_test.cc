#include "nodes/correlator/channelised_stream.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <random>

#include "runtime/core/error.h"

namespace rimetree::correlator {

namespace {

using Number = std::complex<double>;
constexpr double kTurn = 2 * std::numbers::pi;

/// Samples in memory: numbers [time][input], written as int8.
class MemoryStream final : public SampleStream {
 public:
  MemoryStream(const std::vector<Number>& numbers, std::size_t n_input) : n_input_(n_input) {
    for (const Number& one : numbers) {
      codes_.push_back(static_cast<std::uint8_t>(std::lrint(one.real())));
      codes_.push_back(static_cast<std::uint8_t>(std::lrint(one.imag())));
    }
  }
  SampleBlock read(std::int64_t first, std::size_t n, ThreadPool&, Cancellation&) override {
    const auto end = static_cast<std::int64_t>(codes_.size() / 2 / n_input_);
    const std::int64_t from = std::clamp<std::int64_t>(first, 0, end),
                       to = std::clamp<std::int64_t>(first + static_cast<std::int64_t>(n), from, end);
    SampleBlock block{input_fastest(codes_.data() + 2 * static_cast<std::size_t>(from) * n_input_,
                                    sample_format("int8"), static_cast<std::size_t>(to - from), 1, n_input_),
                      from, nullptr};
    if (lost_ < 0) return block;
    mask_ = SampleMask(n_input_, block.view.n_time);
    if (lost_ >= from && lost_ < to) mask_.leave_out(0, static_cast<std::size_t>(lost_ - from));
    block.mask = &mask_;
    return block;
  }
  std::int64_t lost_ = -1;  ///< a sample of input 0

 private:
  std::size_t n_input_;
  std::vector<std::uint8_t> codes_;
  SampleMask mask_{0, 0};
};

StreamShape shape_of_inputs(std::size_t n_input) {
  StreamShape shape;
  shape.format = sample_format("int8");
  shape.n_input = n_input;
  shape.interval_s = 1e-6;
  return shape;
}

Channelisation options(std::size_t n_channel) {
  Channelisation result;
  result.n_channel = n_channel;
  result.format = sample_format("int8");
  return result;
}

std::vector<Number> noise(std::size_t n, double rms, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, rms);
  std::vector<Number> x;
  for (std::size_t k = 0; k < n; ++k) x.emplace_back(normal(random), normal(random));
  return x;
}

Number number(const SampleBlock& block, std::size_t t, std::size_t c, std::size_t i) {
  const Sample sample = block.view.sample(t, c, i);
  return {double(sample.re), double(sample.im)};
}

struct TwoThreads {
  ThreadPool threads{2};
  Cancellation cancellation;
};

// M4, M5: transposed, transformed, rounded; any block size, any number of inputs, any number of threads.
TEST(ChannelisedStream, IsTheRoundedTransform) {
  TwoThreads run;
  for (const std::size_t n_input : {1, 3, 16, 19}) {
    constexpr std::size_t kChannels = 6, kSpectra = 21;
    const std::vector<Number> x = noise(kChannels * kSpectra * n_input, 20, 1);
    Channelisation how = options(kChannels);
    how.gain = 1.5;
    ChannelisedStream whole(std::make_unique<MemoryStream>(x, n_input), shape_of_inputs(n_input), how),
        parts(std::make_unique<MemoryStream>(x, n_input), shape_of_inputs(n_input), how);
    const SampleBlock block = whole.read(0, 100, run.threads, run.cancellation);
    ASSERT_EQ(block.first, 0);
    ASSERT_EQ(block.view.n_time, kSpectra);
    for (std::size_t m = 0; m < kSpectra; ++m) {
      const SampleBlock one = parts.read(static_cast<std::int64_t>(m), 1, run.threads, run.cancellation);
      ASSERT_EQ(one.view.n_time, 1u);
      for (std::size_t c = 0; c < kChannels; ++c)
        for (std::size_t i = 0; i < n_input; ++i) {
          Number sum = 0;
          for (std::size_t t = 0; t < kChannels; ++t) {
            const Number& in = x[(m * kChannels + t) * n_input + i];
            sum += Number(std::rint(in.real()), std::rint(in.imag())) *
                   std::polar(1.0, -kTurn * (double(c) - 3) * double(t) / kChannels);
          }
          sum *= 1.5 / std::sqrt(double(kChannels));
          const Number found = number(block, m, c, i);
          EXPECT_LE(std::abs(found.real() - sum.real()), 0.5001);
          EXPECT_LE(std::abs(found.imag() - sum.imag()), 0.5001);
          EXPECT_EQ(number(one, 0, c, i), found);
        }
    }
  }
}

// Numbers beyond the range are cut off there, and counted.
TEST(ChannelisedStream, CountsWhatItCutsOff) {
  TwoThreads run;
  Channelisation how = options(1);
  how.format = sample_format("chime");
  ChannelisedStream stream(std::make_unique<MemoryStream>(std::vector<Number>{{7, -8}, {8, 0}, {-9, 100}, {3, 3}}, 1),
                           shape_of_inputs(1), how);
  const SampleBlock block = stream.read(0, 4, run.threads, run.cancellation);
  EXPECT_EQ(number(block, 0, 0, 0), Number(7, -8));
  EXPECT_EQ(number(block, 1, 0, 0), Number(7, 0));
  EXPECT_EQ(number(block, 2, 0, 0), Number(-8, 7));
  EXPECT_EQ(number(block, 3, 0, 0), Number(3, 3));
  EXPECT_NE(stream.report().find("0.375 of all numbers were cut off at the range of \"chime\""), std::string::npos)
      << stream.report();
  EXPECT_NE(stream.warning().find("37.5 % of all numbers of channels were cut off"), std::string::npos)
      << stream.warning();
}

// C8: an input that comes late by whole samples is read as much later, and what is then there does not differ by a bit.
TEST(ChannelisedStream, TakesOutWholeSamples) {
  TwoThreads run;
  constexpr std::size_t kN = 8 * 40;
  const std::vector<Number> signal = noise(kN, 20, 2);
  std::vector<Number> x;
  for (std::size_t t = 0; t < kN; ++t) {
    x.push_back(signal[t]);
    x.push_back(t >= 5 ? signal[t - 5] : Number());
  }
  Channelisation how = options(8);
  how.delay_s = {0, 5e-6};
  ChannelisedStream stream(std::make_unique<MemoryStream>(x, 2), shape_of_inputs(2), how);
  const SampleBlock block = stream.read(-3, 100, run.threads, run.cancellation);
  EXPECT_EQ(block.first, 0);
  EXPECT_EQ(block.view.n_time, 39u);  // of the last one the late input is not there
  for (std::size_t m = 0; m < block.view.n_time; ++m)
    for (std::size_t c = 0; c < 8; ++c) EXPECT_EQ(number(block, m, c, 0), number(block, m, c, 1)) << m << " " << c;
}

// A tone that comes late by a part of a sample, with the phase of the frequency that was mixed to zero.
TEST(ChannelisedStream, TakesOutPartsOfSamples) {
  TwoThreads run;
  constexpr std::size_t kChannels = 16;
  const double delay = 3.3e-6, centre_hz = 150.3e6, tone_hz = -3 / (16 * 1e-6);  // in the middle of a channel
  std::vector<Number> x;
  for (std::size_t t = 0; t < kChannels * 10; ++t) {
    const double phase = tone_hz * double(t) * 1e-6;
    x.push_back(30.0 * std::polar(1.0, kTurn * phase));
    x.push_back(30.0 * std::polar(1.0, kTurn * (phase - (tone_hz + centre_hz) * delay)));
  }
  Channelisation how = options(kChannels);
  how.delay_s = {0, delay};
  how.centre_hz = centre_hz;
  ChannelisedStream stream(std::make_unique<MemoryStream>(x, 2), shape_of_inputs(2), how);
  const SampleBlock block = stream.read(0, 9, run.threads, run.cancellation);
  ASSERT_EQ(block.view.n_time, 9u);
  for (std::size_t m = 0; m < 9; ++m)
    EXPECT_LT(std::abs(number(block, m, 5, 0) - number(block, m, 5, 1)), 2.0) << m;  // of 120, by rounding
  EXPECT_NEAR(std::abs(number(block, 0, 5, 1)), 30 * 4, 2);
}

// A spectrum counts where all samples of its window do.
TEST(ChannelisedStream, LeavesOutWhatIsNotWhole) {
  TwoThreads run;
  Channelisation how = options(4);
  how.taps = 2;
  auto samples = std::make_unique<MemoryStream>(noise(2 * 4 * 12, 20, 3), 2);
  samples->lost_ = 22;
  ChannelisedStream stream(std::move(samples), shape_of_inputs(2), how);
  const SampleBlock block = stream.read(0, 12, run.threads, run.cancellation);
  // Windows of eight samples begin two before the step: [2,10), ... [14,22), [18,26), [22,30), ...
  EXPECT_EQ(block.first, 1);
  ASSERT_EQ(block.view.n_time, 10u);
  for (std::size_t m = 0; m < 10; ++m) {
    EXPECT_EQ(block.mask->counts(0, m), m + 1 != 5 && m + 1 != 6) << m;
    EXPECT_TRUE(block.mask->counts(1, m));
  }
}

/// Samples in memory: floats [time][input].
class FloatStream final : public SampleStream {
 public:
  FloatStream(const std::vector<Number>& numbers, std::size_t n_input, const SampleFormat& format)
      : n_input_(n_input), format_(format) {
    for (const Number& one : numbers)
      samples_.emplace_back(format.imaginary_is_first() ? Number(one.imag(), one.real()) : one);
  }
  SampleBlock read(std::int64_t first, std::size_t n, ThreadPool&, Cancellation&) override {
    const auto end = static_cast<std::int64_t>(samples_.size() / n_input_);
    const std::int64_t from = std::clamp<std::int64_t>(first, 0, end),
                       to = std::clamp<std::int64_t>(first + static_cast<std::int64_t>(n), from, end);
    const auto* bytes =
        reinterpret_cast<const std::uint8_t*>(samples_.data() + static_cast<std::size_t>(from) * n_input_);
    return {input_fastest(bytes, format_, static_cast<std::size_t>(to - from), 1, n_input_), from, nullptr};
  }

 private:
  std::size_t n_input_;
  const SampleFormat& format_;
  std::vector<std::complex<float>> samples_;
};

// M4, M5: floats in and out, nothing is rounded to integers: the transform within what singles lose, with delays too.
TEST(ChannelisedStream, OfFloatsIsTheTransform) {
  TwoThreads run;
  for (const bool delayed : {false, true})
    for (const std::size_t n_input : {1, 5, 19}) {
      constexpr std::size_t kChannels = 12, kSpectra = 9;
      const double rms = 1e-3;
      // Either order of the parts, in and out.
      const SampleFormat &in = sample_format(n_input == 5 ? "float32-swapped" : "float32"),
                         &out = sample_format(delayed ? "float32-swapped" : "float32");
      const std::vector<Number> x = noise(kChannels * kSpectra * n_input, rms, 1);
      Channelisation how = options(kChannels);
      how.format = out;
      how.gain = 2.5;
      how.centre_hz = 1e8;
      if (delayed)
        for (std::size_t i = 0; i < n_input; ++i) how.delay_s.push_back(0.3e-6 * double(i));
      StreamShape shape = shape_of_inputs(n_input);
      shape.format = in;
      ChannelisedStream stream(std::make_unique<FloatStream>(x, n_input, in), shape, how);
      const SampleBlock block = stream.read(0, 100, run.threads, run.cancellation);
      ASSERT_GE(block.view.n_time, kSpectra - 1);
      EXPECT_EQ(block.view.format.name, out.name);
      EXPECT_EQ(stream.report(), "");
      for (std::size_t m = 0; m < block.view.n_time; ++m)
        for (std::size_t c = 0; c < kChannels; ++c)
          for (std::size_t i = 0; i < n_input; ++i) {
            const double delay = delayed ? 0.3 * double(i) : 0, frequency = (double(c) - 6) / kChannels;
            const auto shift = static_cast<std::size_t>(std::llround(delay));
            Number sum = 0;
            for (std::size_t t = 0; t < kChannels; ++t)
              sum += Number(std::complex<float>(x[(m * kChannels + t + shift) * n_input + i])) *
                     std::polar(1.0, -kTurn * frequency * double(t));
            sum *= 2.5 / std::sqrt(double(kChannels)) *
                   std::polar(1.0, kTurn * (1e8 * delay * 1e-6 + frequency * (delay - double(shift))));
            const Complex<float> found = block.view.value(m, c, i);
            EXPECT_LE(std::abs(Number(found.re, found.im) - sum), 1e-6 * std::log2(12.0) * 2.5 * rms * 3);
          }
    }
}

TEST(ChannelisedStream, HasTheShapeOfItsChannels) {
  const StreamShape in = shape_of_inputs(3);
  Channelisation how = options(64);
  how.gain = 4;
  how.taps = 4;
  how.window = Window::hann;
  const FilterBank bank(how.n_channel, how.taps, how.window, false);
  const StreamShape out = channelised(in, how, bank);
  EXPECT_EQ(out.n_channel, 64u);
  EXPECT_DOUBLE_EQ(out.interval_s, 64e-6);
  EXPECT_DOUBLE_EQ(out.unit, 0.25);
  EXPECT_NEAR(out.independent, 0.948, 2e-3);
}

TEST(ChannelisedStream, RefusesWhatDoesNotFit) {
  const auto make = [](StreamShape shape, const Channelisation& how) {
    return ChannelisedStream(std::make_unique<MemoryStream>(std::vector<Number>(8), shape.n_input), shape, how);
  };
  StreamShape many = shape_of_inputs(2);
  many.n_channel = 2;
  EXPECT_THROW(make(many, options(4)), Error);
  Channelisation delays = options(4);
  delays.delay_s = {1, 2, 3};
  EXPECT_THROW(make(shape_of_inputs(2), delays), Error);
  Channelisation real = options(4);
  real.format = sample_format("real8");
  EXPECT_THROW(make(shape_of_inputs(2), real), Error);
}

}  // namespace

}  // namespace rimetree::correlator
