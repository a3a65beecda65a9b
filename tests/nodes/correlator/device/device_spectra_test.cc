// Spectra on the device that RIMETREE_DEVICE names, else on a simulated one, held to the host's: on emulated devices
// bit by bit; on a GPU, whose library transforms differently in the last bits, but for numbers that lie on the edge.
#include "nodes/correlator/device/device_spectra.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "memory/simulated_device.h"
#include "nodes/correlator/device/fourier_job.h"
#include "nodes/correlator/host_spectra.h"
#include "tests/support/chosen_device.h"
#include "tests/support/device_buffer.h"
#include "tests/support/sample_scene.h"

namespace rimetree::correlator {

namespace {

struct Setting {
  const char* format = "mwa32t";
  std::size_t n_channel = 16, taps = 1, n_input = 5, n_spectrum = 9;
  const char* channel_format = "int8";
  double gain = 4, delay_s = 0;
};

struct Codes {
  std::vector<std::uint8_t> bytes;
  std::uint64_t cut_off;
};

Channelisation options_of(const Setting& s) {
  Channelisation options;
  options.n_channel = s.n_channel;
  options.taps = s.taps;
  options.window = s.taps > 1 ? Window::hann : Window::rectangular;
  options.format = sample_format(s.channel_format);
  options.gain = s.gain;
  options.centre_hz = 1.5e8;
  for (std::size_t i = 0; i < s.n_input && s.delay_s != 0; ++i) options.delay_s.push_back(s.delay_s * double(i));
  return options;
}

/// Random samples, and their channels as the host and the device make them.
struct Both {
  ChannelPlan plan;
  SampleScene scene;
  SampleBlock block;
  ThreadPool threads{1};
  Cancellation cancellation;

  explicit Both(const Setting& s)
      : plan(shape(s), options_of(s)),
        scene(SampleScene::random(s.format,
                                  (s.n_spectrum - 1) * plan.bank.step() + plan.bank.length() +
                                      std::size_t(plan.most_shift - plan.least_shift),
                                  1, s.n_input)),
        block{scene.voltages(), plan.first_sample(3) + plan.least_shift} {}
  static StreamShape shape(const Setting& s) {
    StreamShape shape;
    shape.format = sample_format(s.format);
    shape.n_input = s.n_input;
    shape.interval_s = 1e-6;
    return shape;
  }
  Codes host(const Setting& s) {
    HostSpectra spectra(plan);
    const SampleView view = spectra.make({block, 3, s.n_spectrum}, threads, cancellation);
    const std::size_t row = s.n_spectrum * s.n_input * std::size_t(view.format.bytes);
    Codes codes{{}, spectra.take_cut_off()};
    for (std::size_t c = 0; c < s.n_channel; ++c) {
      const std::uint8_t* from = view.bytes + static_cast<std::ptrdiff_t>(c) * view.channel_stride;
      codes.bytes.insert(codes.bytes.end(), from, from + row);
    }
    return codes;
  }
  Codes device(const Setting& s, DeviceContext& context, bool own, int times = 1) {
    DeviceSpectra spectra(plan, context, own);
    SampleView view;
    for (int k = 0; k < times; ++k) view = spectra.make({block, 3, s.n_spectrum}, threads, cancellation);
    Codes codes{std::vector<std::uint8_t>(s.n_spectrum * s.n_channel * s.n_input * std::size_t(view.format.bytes)), 0};
    context.compute().copy_to_host(codes.bytes.data(), view.bytes, codes.bytes.size());
    context.compute().synchronize();
    codes.cut_off = spectra.take_cut_off();
    return codes;
  }
};

/// Numbers that differ, which may do so by one.
std::size_t differing(const Codes& a, const Codes& b, const SampleFormat& format) {
  std::size_t n = 0;
  for (std::size_t k = 0; k < a.bytes.size(); k += std::size_t(format.bytes)) {
    const auto at = [&](const Codes& codes) {
      return format.decode(
          static_cast<std::uint16_t>(codes.bytes[k] | (format.bytes == 2 ? codes.bytes[k + 1] << 8 : 0)));
    };
    const Sample x = at(a), y = at(b);
    EXPECT_LE(std::abs(x.re - y.re), 1);
    EXPECT_LE(std::abs(x.im - y.im), 1);
    n += (x.re != y.re ? 1u : 0u) + (x.im != y.im ? 1u : 0u);
  }
  return n;
}

const std::vector<Setting>& settings() {
  static const std::vector<Setting> all{
      {},
      {.n_channel = 128, .n_input = 64, .n_spectrum = 4},
      {.n_channel = 1},
      {.n_channel = 7, .n_input = 1, .n_spectrum = 3},
      {.n_channel = 33, .n_input = 33, .n_spectrum = 2, .delay_s = 0.37e-6},
      {.n_channel = 12, .taps = 4},
      {.n_channel = 20, .taps = 3, .channel_format = "chime", .gain = 0.3, .delay_s = -1.2e-6},
      {.format = "real8", .n_channel = 24, .gain = 0.2},
      {.format = "real8", .n_channel = 10, .taps = 4, .gain = 0.2, .delay_s = 2.6e-6},
      {.format = "int8", .n_channel = 64, .channel_format = "int4", .gain = 0.03},
  };
  return all;
}

// M4, M5, M6, M15, C8: the same codes, and as many of them cut off.
TEST(DeviceSpectra, AreThoseOfTheHost) {
  const auto contexts = open_devices({test::chosen_device(), 0});
  for (const Setting& s : settings()) {
    SCOPED_TRACE(s.n_channel);
    Both both(s);
    const Codes want = both.host(s), got = both.device(s, *contexts.front(), false);
    if (contexts.front()->device().is_emulated()) {
      EXPECT_EQ(got.bytes, want.bytes);
      EXPECT_EQ(got.cut_off, want.cut_off);
    } else {
      EXPECT_LE(differing(got, want, both.plan.options.format), 2 + want.bytes.size() / 500);
    }
  }
}

TEST(DeviceSpectra, ByTheProjectsOwnTransform) {
  const auto contexts = open_devices({test::chosen_device(), 0});
  for (const Setting& s : settings()) {
    SCOPED_TRACE(s.n_channel);
    Both both(s);
    EXPECT_LE(differing(both.device(s, *contexts.front(), true), both.host(s), both.plan.options.format),
              2 + s.n_channel * s.n_spectrum * s.n_input / 250);
  }
}

// Again and again on what is there already: the same, and all is counted.
TEST(DeviceSpectra, AgainGiveTheSame) {
  const auto contexts = open_devices({test::chosen_device(), 0});
  const Setting s{.gain = 40};
  Both both(s);
  const Codes once = both.device(s, *contexts.front(), false), thrice = both.device(s, *contexts.front(), false, 3);
  EXPECT_EQ(once.bytes, thrice.bytes);
  EXPECT_GT(once.cut_off, 0u);
  EXPECT_EQ(3 * once.cut_off, thrice.cut_off);
}

// Where memory is scarce spectra are made some at a time; where there is none at all that is said.
TEST(DeviceSpectra, FitTheDevice) {
  const Setting s{.n_channel = 64, .n_input = 4, .n_spectrum = 50};
  Both both(s);
  const Codes want = both.host(s);
  DeviceContext small(std::make_shared<memory::SimulatedDevice>(std::size_t{240} << 10));
  EXPECT_EQ(both.device(s, small, false).bytes, want.bytes);
  DeviceContext tiny(std::make_shared<memory::SimulatedDevice>(std::size_t{20} << 10));
  EXPECT_THROW(both.device(s, tiny, false), memory::OutOfMemory);
}

// M5: the project's own transform against the definition in double precision, of any length.
TEST(FourierSteps, AreTheTransform) {
  const auto context = std::make_unique<DeviceContext>(memory::open_device(test::chosen_device()));
  for (const std::int32_t n : {1, 2, 3, 4, 6, 8, 11, 30, 64, 97, 121, 128, 143, 1000}) {
    const std::vector<std::int32_t> radices = fourier_radices(n);
    EXPECT_EQ(radices.size() % 2, 1u);
    std::mt19937 random(static_cast<unsigned>(n));
    std::normal_distribution<float> normal;
    const std::int64_t batch = 2;
    std::vector<Complex<float>> signal, root;
    for (std::int64_t k = 0; k < batch * n; ++k) signal.emplace_back(normal(random), normal(random));
    for (std::int32_t k = 0; k < n; ++k) {
      const auto turn = std::polar(1.0, -2 * std::numbers::pi * k / n);
      root.emplace_back(float(turn.real()), float(turn.imag()));
    }
    test::DeviceBuffer<Complex<float>> a(context->device(), std::span<const Complex<float>>(signal)),
        b(context->device(), signal.size()), roots(context->device(), std::span<const Complex<float>>(root));
    std::int32_t stride = 1;
    auto *from = &a, *to = &b;
    for (const std::int32_t radix : radices) {
      launch(context->compute(), FourierStepJob{from->data(), to->data(), roots.data(), batch, n, stride, radix});
      stride *= radix;
      std::swap(from, to);
    }
    EXPECT_EQ(stride, n);
    context->compute().synchronize();
    const auto bins = b.to_host();
    for (std::int64_t k = 0; k < batch * n; ++k) {
      std::complex<double> want;
      for (std::int32_t t = 0; t < n; ++t) {
        const Complex<float> x = signal[std::size_t(k / n * n + t)];
        want += std::complex<double>(x.re, x.im) * std::polar(1.0, -2 * std::numbers::pi * double(k % n) * t / n);
      }
      // Each step rounds; the largest radix adds up most.
      EXPECT_LE(std::abs(want - std::complex<double>(bins[std::size_t(k)].re, bins[std::size_t(k)].im)),
                6e-7 * double(radices.size()) * std::sqrt(2.0 * n) * 4)
          << n << " " << k;
    }
  }
}

}  // namespace

}  // namespace rimetree::correlator
