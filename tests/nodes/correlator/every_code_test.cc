// Every code that there is, through everything that reads codes; and every pair of inputs.
#include <gtest/gtest.h>

#include "nodes/correlator/unpacking.h"
#include "tests/support/every_strategy.h"

namespace rimetree::correlator {

namespace {

/// One time of two inputs: in each channel a pair of codes.
SampleScene pairs_of_codes(const std::string& format, const std::vector<std::pair<int, int>>& codes) {
  SampleScene scene(format, 1, codes.size(), 2);
  const auto put = [&](std::size_t k, int code) {
    const Sample sample = scene.format.decode(static_cast<std::uint16_t>(code));
    scene.set(k, sample.re, sample.im);
  };
  for (std::size_t c = 0; c < codes.size(); ++c) put(2 * c, codes[c].first), put(2 * c + 1, codes[c].second);
  return scene;
}

// C1: the products of all 65536 pairs of bytes, by every strategy; two's complement nibbles, too.
TEST(EveryCode, OfNibblesWithEveryOther) {
  std::vector<std::pair<int, int>> codes;
  for (int a = 0; a < 256; ++a)
    for (int b = 0; b < 256; ++b) codes.emplace_back(a, b);
  for (const char* format : {"chime", "chime-low", "int4", "int4-low"}) {
    const SampleScene scene = pairs_of_codes(format, codes);
    expect_all_equal(scene, expected(scene));
  }
}

// M2: every code of 5 + 5 bits, and every sample of two bytes, with one that tells its parts apart.
TEST(EveryCode, OfWordsWithOneOther) {
  for (const auto& [format, n] :
       {std::pair("mwa32t", 1024), {"mwa32t-swapped", 1024}, {"int8", 65536}, {"int8-swapped", 65536}}) {
    std::vector<std::pair<int, int>> codes;
    for (int a = 0; a < n; ++a) codes.emplace_back(a, sample_format(format).re_shift == 0 ? 3 | 7 << 8 : 0x1c7);
    const SampleScene scene = pairs_of_codes(format, codes);
    expect_all_equal(scene, expected(scene));
  }
}

// M4: what a transform gets of every code of every format, wherever in a vector it stands.
TEST(EveryCode, AsNumbersOfATransform) {
  for (const SampleFormat& format : sample_formats()) {
    if (format.is_float) continue;
    const std::size_t bytes = static_cast<std::size_t>(format.bytes), numbers = format.is_real ? 1 : 2;
    for (const std::size_t inputs : {16, 13, 1}) {
      const std::size_t n_code = std::size_t{1} << (8 * bytes), times = (n_code + inputs - 1) / inputs;
      std::vector<std::uint8_t> codes(times * inputs * bytes);
      for (std::size_t k = 0; k < times * inputs; ++k)
        for (std::size_t b = 0; b < bytes; ++b) codes[k * bytes + b] = static_cast<std::uint8_t>(k >> (8 * b));
      std::vector<float> found(times * inputs * numbers);
      unpack(codes.data(), static_cast<std::ptrdiff_t>(inputs * bytes), inputs, times, format, found.data(),
             inputs * numbers);
      for (std::size_t k = 0; k < n_code; ++k) {
        const Sample wanted = format.decode(static_cast<std::uint16_t>(k));
        ASSERT_EQ(found[k * numbers], float(wanted.re)) << format.name << " " << k;
        if (format.is_real) continue;
        ASSERT_EQ(found[2 * k + 1], float(wanted.im)) << format.name << " " << k;
      }
    }
  }
}

// M7: samples in two inputs only, each two of 33: three products, and nothing else.
TEST(EveryPair, HasThreeProducts) {
  constexpr std::size_t kInputs = 33;
  SampleScene scene("chime", 1, n_products(kInputs), kInputs);
  for (std::size_t k = 0; k < scene.samples.size(); ++k) scene.set(k, 0, 0);
  for (std::size_t i = 0, channel = 0; i < kInputs; ++i)
    for (std::size_t j = 0; j <= i; ++j, ++channel) {
      scene.set(channel * kInputs + i, 4, 5);
      if (j < i) scene.set(channel * kInputs + j, 2, -3);
    }
  const ProductSums want = expected(scene);
  for (std::size_t i = 0, channel = 0; i < kInputs; ++i)
    for (std::size_t j = 0; j <= i; ++j, ++channel)
      for (std::size_t k = 0; k < n_products(kInputs); ++k) {
        const std::size_t at = channel * n_products(kInputs) + k;
        const Whole by_hand = k == product_of(i, i)   ? Whole(41, 0)
                              : j == i                ? Whole()
                              : k == product_of(i, j) ? Whole(-7, 22)
                              : k == product_of(j, j) ? Whole(13, 0)
                                                      : Whole();
        ASSERT_EQ(Whole(want.re[at], want.im[at]), by_hand);
      }
  expect_all_equal(scene, want);
}

}  // namespace

}  // namespace rimetree::correlator
