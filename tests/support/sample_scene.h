// Samples as whole numbers and as codes, and their products by 64-bit sums over the numbers themselves, which no
// strategy shares.
#pragma once

#include <complex>
#include <random>
#include <string>
#include <vector>

#include "nodes/correlator/products.h"
#include "nodes/correlator/sample_mask.h"
#include "nodes/correlator/sample_view.h"

namespace rimetree::correlator {

using Whole = std::complex<std::int64_t>;

/// Samples as whole numbers [time][channel][input], and their codes in memory.
struct SampleScene {
  SampleFormat format;
  std::size_t n_time, n_channel, n_input;
  std::vector<Whole> samples;
  std::vector<std::uint8_t> bytes;

  SampleScene(const std::string& name, std::size_t times, std::size_t channels, std::size_t inputs)
      : format(sample_format(name)),
        n_time(times),
        n_channel(channels),
        n_input(inputs),
        samples(times * channels * inputs),
        bytes(samples.size() * static_cast<std::size_t>(format.bytes)) {}

  void set(std::size_t k, int re, int im) {
    std::uint64_t saturated = 0;
    const std::uint16_t code = format.encode(re, im, saturated);
    samples[k] = {re, im};
    bytes[k * static_cast<std::size_t>(format.bytes)] = static_cast<std::uint8_t>(code & 255);
    if (format.bytes == 2) bytes[2 * k + 1] = static_cast<std::uint8_t>(code >> 8);
  }
  static SampleScene random(const std::string& name, std::size_t times, std::size_t channels, std::size_t inputs) {
    SampleScene scene(name, times, channels, inputs);
    std::mt19937 random(static_cast<unsigned>(times * 1000 + inputs));
    std::uniform_int_distribution<int> number(scene.format.lowest(), scene.format.highest());
    for (std::size_t k = 0; k < scene.samples.size(); ++k) {
      const int re = number(random);
      scene.set(k, re, number(random));
    }
    return scene;
  }
  static SampleScene constant(const std::string& name, std::size_t times, std::size_t inputs, int re, int im) {
    SampleScene scene(name, times, 1, inputs);
    for (std::size_t k = 0; k < scene.samples.size(); ++k) scene.set(k, re, im);
    return scene;
  }
  SampleView voltages() const { return input_fastest(bytes.data(), format, n_time, n_channel, n_input); }
};

/// Sums of products.
inline ProductSums expected(const SampleScene& scene, const SampleMask* mask = nullptr) {
  ProductSums sums(scene.n_channel, scene.n_input);
  for (std::size_t c = 0; c < scene.n_channel; ++c)
    for (std::size_t i = 0; i < scene.n_input; ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        const std::size_t product = i * (i + 1) / 2 + j;
        Whole sum;
        for (std::size_t t = 0; t < scene.n_time; ++t) {
          if (mask != nullptr && !(mask->counts(i, t) && mask->counts(j, t))) continue;
          const Whole* at = &scene.samples[(t * scene.n_channel + c) * scene.n_input];
          sum += at[i] * std::conj(at[j]);
          if (c == 0) ++sums.count[product];
        }
        sums.re[c * n_products(scene.n_input) + product] = sum.real();
        sums.im[c * n_products(scene.n_input) + product] = sum.imag();
      }
  return sums;
}

}  // namespace rimetree::correlator
