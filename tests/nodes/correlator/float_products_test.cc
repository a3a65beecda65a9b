#include "nodes/correlator/float_products.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <random>

#include "runtime/core/error.h"
#include "tests/support/sample_scene.h"

namespace rimetree::correlator {

namespace {

/// Normal numbers whose magnitudes differ by inputs, over a wide range.
struct Floats {
  std::size_t n_time, n_channel, n_input;
  std::vector<std::complex<float>> samples;

  Floats(std::size_t times, std::size_t channels, std::size_t inputs)
      : n_time(times), n_channel(channels), n_input(inputs) {
    std::mt19937 random(static_cast<unsigned>(times + 100 * inputs));
    std::normal_distribution<float> normal;
    for (std::size_t k = 0; k < times * channels * inputs; ++k) {
      const float scale = std::exp2(float(k % inputs % 7) * 3);
      const float re = scale * normal(random);
      samples.emplace_back(re, scale * normal(random));
    }
  }
  SampleView view() const {
    return input_fastest(reinterpret_cast<const std::uint8_t*>(samples.data()), sample_format("float32"), n_time,
                         n_channel, n_input);
  }
};

/// Sums in extended precision, and those of the terms' magnitudes.
struct Expected {
  std::vector<std::complex<long double>> sum;
  std::vector<double> magnitude;
  std::vector<std::int64_t> count;
};
Expected expected_of(const Floats& scene, const SampleMask* mask) {
  Expected all;
  for (std::size_t c = 0; c < scene.n_channel; ++c)
    for (std::size_t i = 0; i < scene.n_input; ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        std::complex<long double> sum;
        double magnitude = 0;
        std::int64_t count = 0;
        for (std::size_t t = 0; t < scene.n_time; ++t) {
          if (mask != nullptr && !(mask->counts(i, t) && mask->counts(j, t))) continue;
          const auto* at = &scene.samples[(t * scene.n_channel + c) * scene.n_input];
          sum += std::complex<long double>(at[i]) * std::conj(std::complex<long double>(at[j]));
          magnitude += std::abs(at[i].real() * at[j].real()) + std::abs(at[i].imag() * at[j].imag());
          magnitude += std::abs(at[i].imag() * at[j].real()) + std::abs(at[i].real() * at[j].imag());
          ++count;
        }
        all.sum.push_back(sum);
        all.magnitude.push_back(magnitude);
        if (c == 0) all.count.push_back(count);
      }
  return all;
}

/// Largest error in units of 2^-24 of the sum of magnitudes.
double worst(const ProductSums& found, const Expected& want) {
  double most = 0;
  EXPECT_EQ(found.count, want.count);
  for (std::size_t k = 0; k < want.sum.size(); ++k) {
    const double error = std::max(std::abs(double(found.float_re[k] - want.sum[k].real())),
                                  std::abs(double(found.float_im[k] - want.sum[k].imag())));
    if (want.magnitude[k] == 0)
      EXPECT_EQ(error, 0);
    else
      most = std::max(most, error / want.magnitude[k] * 0x1p24);
  }
  return most;
}

double worst_by(const char* name, const Floats& scene, const SampleMask* mask = nullptr) {
  ThreadPool threads(2);
  FloatProducts products(scene.n_channel, scene.n_input, strategy(name), threads);
  products.add(scene.view(), mask);
  return worst(products.sums(), expected_of(scene, mask));
}

// M7, M8: within the bound of sums of floats of 32 samples; the reference within that of doubles.
TEST(FloatProducts, AreWithinTheirBound) {
  for (const std::size_t n_input : {1, 2, 3, 16, 17, 33, 64})
    for (const std::size_t n_time : {1, 31, 32, 33, 1000}) {
      const Floats scene(n_time, 2, n_input);
      EXPECT_LE(worst_by("automatic", scene), 2 * kFloatTimes) << n_input << " " << n_time;
      EXPECT_LE(worst_by("pairs", scene), 1e-4) << n_input << " " << n_time;
    }
}

// M9: the historical designs in single precision, over all times of a call: 2 n roundings.
TEST(FloatProducts, ByTheHistoricalDesigns) {
  const Floats scene(300, 2, 12);
  for (const char* name : {"groups2", "groups4", "hybrid2", "hybrid4"})
    EXPECT_LE(worst_by(name, scene), 2 * 2 * 300) << name;
}

TEST(FloatProducts, MaskedSamplesAreZeroAndNotCounted) {
  const Floats scene(200, 2, 20);
  SampleMask mask(20, 200);
  std::mt19937 random(3);
  for (int k = 0; k < 900; ++k) mask.leave_out(random() % 20, random() % 200);
  for (std::size_t t = 0; t < 200; ++t) mask.leave_out(5, t);
  for (const char* name : {"automatic", "pairs", "groups4", "hybrid2"})
    EXPECT_LE(worst_by(name, scene, &mask), 2 * 2 * 200) << name;
}

// Whole numbers that are written as floats have the products of whole numbers, bit by bit, up to 2^24.
TEST(FloatProducts, OfWholeNumbersAreExact) {
  const SampleScene whole = SampleScene::random("int8", 500, 3, 19);
  std::vector<std::complex<float>> samples;
  for (const Whole& x : whole.samples) samples.emplace_back(float(x.real()), float(x.imag()));
  const ProductSums want = expected(whole);
  ThreadPool threads(2);
  FloatProducts products(3, 19, Strategy::automatic, threads);
  products.add(
      input_fastest(reinterpret_cast<const std::uint8_t*>(samples.data()), sample_format("float32"), 500, 3, 19));
  for (std::size_t k = 0; k < want.re.size(); ++k) {
    ASSERT_EQ(products.sums().float_re[k], double(want.re[k]));
    ASSERT_EQ(products.sums().float_im[k], double(want.im[k]));
  }
}

// M8: however times come together, within 1e-6 of the inputs' powers.
TEST(FloatProducts, HardlyDependOnHowTimesComeTogether) {
  const Floats scene(1000, 1, 10);
  ThreadPool threads(1);
  FloatProducts whole(1, 10, Strategy::automatic, threads), parts(1, 10, Strategy::automatic, threads);
  whole.add(scene.view());
  std::size_t first = 0;
  for (const std::size_t n : {1, 37, 400, 562}) {
    SampleView some = scene.view();
    some.bytes += static_cast<std::ptrdiff_t>(first) * some.time_stride;
    some.n_time = n;
    parts.add(some);
    first += n;
  }
  const ProductSums &a = whole.sums(), &b = parts.sums();
  for (std::size_t i = 0; i < 10; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      const double power = std::sqrt(a.float_re[product_of(i, i)] * a.float_re[product_of(j, j)]);
      EXPECT_NEAR(a.float_re[product_of(i, j)], b.float_re[product_of(i, j)], 1e-6 * power);
      EXPECT_NEAR(a.float_im[product_of(i, j)], b.float_im[product_of(i, j)], 1e-6 * power);
    }
  EXPECT_EQ(a.count, b.count);
}

TEST(FloatProducts, SaysWhatItCannotTake) {
  ThreadPool threads(1);
  const Floats scene(4, 1, 3);
  for (const char* name : {"bytes", "packed", "groups2"}) {
    FloatProducts products(1, 3, strategy(name), threads);
    EXPECT_THROW(products.add(scene.view()), Error) << name;
  }
  FloatProducts products(1, 3, Strategy::automatic, threads);
  EXPECT_THROW(products.add(SampleScene::random("int8", 4, 1, 3).voltages()), Error);
  CrossProducts whole(1, 3, Strategy::automatic, threads);
  EXPECT_THROW(whole.add(scene.view()), Error);
}

}  // namespace

}  // namespace rimetree::correlator
