#include "nodes/correlator/filter_bank.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <random>

#include "runtime/core/error.h"

namespace rimetree::correlator {

namespace {

using Spectrum = std::vector<std::complex<double>>;
constexpr double kTau = 2 * std::numbers::pi;

/// Channels in ascending frequency.
Spectrum channels(const FilterBank& bank, const std::vector<float>& samples) {
  FilterBank::Scratch scratch(bank);
  const float* bins = bank.run(samples.data(), scratch);
  Spectrum found;
  for (std::size_t c = 0; c < bank.n_channel(); ++c)
    found.emplace_back(bins[2 * bank.bin_of(c)], bins[2 * bank.bin_of(c) + 1]);
  return found;
}

/// The same from the definition, in double precision: sum of h_t x_t exp(-2 pi i f t), t from the step's first sample.
Spectrum by_definition(const FilterBank& bank, const std::vector<float>& samples, bool real) {
  Spectrum found;
  for (std::size_t c = 0; c < bank.n_channel(); ++c) {
    std::complex<double> sum = 0;
    for (std::size_t n = 0; n < bank.length(); ++n) {
      const double turns = bank.frequency(c) * (double(n) - double(bank.lead()));
      const std::complex<double> x =
          real ? std::complex<double>(samples[n]) : std::complex<double>(samples[2 * n], samples[2 * n + 1]);
      sum += double(bank.weights()[n]) * x * std::polar(1.0, -kTau * turns);
    }
    found.push_back(sum);
  }
  return found;
}

std::vector<float> noise(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> x(n);
  for (float& one : x) one = normal(random);
  return x;
}

// M5: any length, against the definition in double precision; M15: with windows and taps.
TEST(FilterBank, IsTheTransformOfItsDefinition) {
  for (const std::size_t n : {1, 2, 3, 7, 12, 100, 128, 131})
    for (const std::size_t taps : {1, 2, 4, 5})
      for (const Window window : {Window::rectangular, Window::hann, Window::hamming}) {
        const FilterBank bank(n, taps, window, false);
        const std::vector<float> x = noise(2 * bank.length(), static_cast<unsigned>(n));
        const Spectrum found = channels(bank, x), expected = by_definition(bank, x, false);
        const double bound =
            1e-6 * std::max(1.0, std::log2(double(n))) * std::sqrt(2.0 * double(n)) * std::sqrt(double(taps));
        for (std::size_t c = 0; c < n; ++c)
          EXPECT_LT(std::abs(found[c] - expected[c]), bound) << n << " " << taps << " " << c;
      }
}

// M6: 2 n real samples give n channels; the redundant half and half the sampling rate are left out.
TEST(FilterBank, OfRealSamples) {
  for (const std::size_t n : {1, 3, 16, 128})
    for (const std::size_t taps : {1, 4}) {
      const FilterBank bank(n, taps, taps > 1 ? Window::hann : Window::rectangular, true);
      ASSERT_EQ(bank.step(), 2 * n);
      const std::vector<float> x = noise(bank.length(), static_cast<unsigned>(n));
      const Spectrum found = channels(bank, x), expected = by_definition(bank, x, true);
      for (std::size_t c = 0; c < n; ++c)
        EXPECT_LT(std::abs(found[c] - expected[c]), 1e-5 * std::sqrt(2.0 * double(n) * double(taps))) << n << " " << c;
    }
}

// M5: a tone in the middle of a channel is in that channel alone, n times as strong.
TEST(FilterBank, PutsATonIntoItsChannel) {
  const FilterBank bank(128, 1, Window::rectangular, false);
  for (const int k : {-64, -5, 0, 63}) {
    std::vector<float> x;
    for (int t = 0; t < 128; ++t) {
      const auto z = std::polar(3.0, kTau * k * t / 128);
      x.push_back(float(z.real()));
      x.push_back(float(z.imag()));
    }
    const Spectrum found = channels(bank, x);
    for (int c = 0; c < 128; ++c) EXPECT_NEAR(std::abs(found[c]), c == k + 64 ? 384 : 0, 1e-3) << k << " " << c;
    EXPECT_DOUBLE_EQ(bank.frequency(static_cast<std::size_t>(k + 64)), k / 128.0);
  }
}

// M15: between two channels a tone leaks into all of a plain transform, and hardly beyond the next of a filter bank.
TEST(FilterBank, OfManyTapsLeaksLess) {
  const auto leaked = [](const FilterBank& bank) {
    std::vector<float> x;
    for (std::size_t t = 0; t < bank.length(); ++t) {
      const auto z = std::polar(1.0, kTau * 10.5 * double(t) / 64);
      x.push_back(float(z.real()));
      x.push_back(float(z.imag()));
    }
    const Spectrum found = channels(bank, x);
    double inside = 0, outside = 0;
    for (int c = 0; c < 64; ++c) (std::abs(c - 42.5) < 2 ? inside : outside) += std::norm(found[c]);
    return outside / inside;
  };
  const double plain = leaked(FilterBank(64, 1, Window::rectangular, false)),
               bank = leaked(FilterBank(64, 4, Window::hann, false));
  EXPECT_GT(plain, 0.05);
  EXPECT_LT(bank, 1e-5);
}

// M5, M15: white noise has the same power with every window.
TEST(FilterBank, KeepsThePowerOfNoise) {
  for (const std::size_t taps : {1, 4})
    for (const Window window : {Window::rectangular, Window::hann, Window::hamming}) {
      const FilterBank bank(32, taps, window, false);
      double power = 0;
      for (const float weight : bank.weights()) power += double(weight) * weight;
      EXPECT_NEAR(power, 32, 1e-4);
    }
}

// Overlapping windows: published filter banks (CHIME: 4 taps, sinc-Hann; MeerKAT: 16 taps, Hann).
TEST(FilterBank, KnowsHowManySpectraAreIndependent) {
  EXPECT_EQ(FilterBank(64, 1, Window::rectangular, false).independent(), 1);
  EXPECT_NEAR(FilterBank(1024, 4, Window::hann, true).independent(), 0.948, 1e-3);
  EXPECT_NEAR(FilterBank(1024, 16, Window::hann, true).independent(), 0.982, 1e-3);
}

TEST(FilterBank, RefusesWhatIsNone) {
  EXPECT_THROW(FilterBank(0, 1, Window::hann, false), Error);
  EXPECT_THROW(FilterBank(1, 0, Window::hann, false), Error);
  EXPECT_THROW(FilterBank(std::size_t{1} << 40, 1, Window::hann, false), Error);
}

}  // namespace

}  // namespace rimetree::correlator
