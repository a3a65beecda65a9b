#include "nodes/correlator/cross_products.h"

#include <gtest/gtest.h>

#include <random>
#include <tuple>

#include "nodes/correlator/byte_products.h"
#include "nodes/correlator/one_product.h"
#include "nodes/correlator/packed_nibbles.h"
#include "runtime/core/error.h"
#include "tests/support/every_strategy.h"

namespace rimetree::correlator {

namespace {

using Scene = SampleScene;

/// A number that counts what is done with it.
struct Counted {
  int value = 0;
  static inline int multiplications = 0, additions = 0;
  friend Counted operator*(Counted a, Counted b) { return ++multiplications, Counted{a.value * b.value}; }
  friend Counted operator+(Counted a, Counted b) { return ++additions, Counted{a.value + b.value}; }
  friend Counted operator-(Counted a, Counted b) { return ++additions, Counted{a.value - b.value}; }
  Counted& operator+=(Counted b) { return *this = *this + b; }
};

// C2: a complex multiply-add is four multiplications and two additions, with the sums 8 operations.
TEST(CrossProducts, AProductTakesEightOperations) {
  struct CountedSample {
    Counted re, im;
  };
  Counted re{100}, im{200};
  add_product(CountedSample{{4}, {5}}, CountedSample{{2}, {-3}}, re, im);
  EXPECT_EQ(re.value, 100 - 7);
  EXPECT_EQ(im.value, 200 + 22);
  EXPECT_EQ(Counted::multiplications, 4);
  EXPECT_EQ(Counted::additions, 2 + 2);
}

class CrossProductsOf : public ::testing::TestWithParam<std::tuple<const char*, std::size_t, std::size_t>> {};

// M7, M8, M9, C3: bit by bit, odd numbers of inputs and times, every format.
TEST_P(CrossProductsOf, AreTheSumsOfWholeNumbers) {
  const auto& [format, n_input, n_time] = GetParam();
  const Scene scene = Scene::random(format, n_time, 2, n_input);
  expect_all_equal(scene, expected(scene));
}
INSTANTIATE_TEST_SUITE_P(Sizes, CrossProductsOf,
                         ::testing::Combine(::testing::Values("chime", "int4-low", "mwa32t", "int8"),
                                            ::testing::Values<std::size_t>(1, 2, 3, 19, 32, 33, 64, 80),
                                            ::testing::Values<std::size_t>(1, 3, 4, 291, 292)));

INSTANTIATE_TEST_SUITE_P(ManyInputs, CrossProductsOf,
                         ::testing::Combine(::testing::Values("chime", "int8"),
                                            ::testing::Values<std::size_t>(127, 255, 256),
                                            ::testing::Values<std::size_t>(1, 5, 292)));

TEST(CrossProducts, ManyInputsAndBlocks) {
  const Scene inputs = Scene::random("int8", 7, 1, 256);
  expect_all_equal(inputs, expected(inputs));
  const Scene times = Scene::random("chime", 4096 + 5, 3, 17);
  expect_all_equal(times, expected(times));
}

// All codes at their extremes: where sums of 16 and of 32 bits would overflow first.
TEST(CrossProducts, ExtremesAtTheBoundsOfTheirSums) {
  for (const std::size_t times : {255, 256, 257, 291, 292, 1000})
    for (const int x : {-8, 7}) {
      const Scene scene = Scene::constant("chime", times, 3, x, x);
      expect_all_equal(scene, expected(scene));
    }
  for (const int x : {-128, 127}) {
    const Scene scene = Scene::constant("int8", kMaxBlockTime, 2, x, x);
    expect_all_equal(scene, expected(scene));
  }
  // Packed nibbles are sums of at most 225 a time in 16 bits.
  EXPECT_EQ(kPackedLimit, 291u);
}

// One sample each in two inputs: by hand (4 + 5 i) (2 - 3 i)* = (4 + 5 i) (2 + 3 i) = -7 + 22 i.
TEST(CrossProducts, APairOfSingleSamples) {
  Scene scene("chime", 9, 1, 5);
  for (std::size_t k = 0; k < scene.samples.size(); ++k) scene.set(k, 0, 0);
  scene.set(6 * 5 + 3, 4, 5);
  scene.set(6 * 5 + 1, 2, -3);
  ThreadPool threads(1);
  CrossProducts products(1, 5, Strategy::automatic, threads);
  products.add(scene.voltages());
  const ProductSums& sums = products.sums();
  for (std::size_t k = 0; k < n_products(5); ++k) {
    const Whole want = k == 3 * 4 / 2 + 1   ? Whole(-7, 22)
                       : k == 3 * 4 / 2 + 3 ? Whole(41, 0)
                       : k == 1 * 2 / 2 + 1 ? Whole(13, 0)
                                            : Whole();
    EXPECT_EQ(Whole(sums.re[k], sums.im[k]), want) << k;
  }
}

TEST(CrossProducts, MaskedSamplesAreZeroAndNotCounted) {
  const Scene scene = Scene::random("chime", 300, 2, 20);
  SampleMask mask(20, 300);
  std::mt19937 random(7);
  for (int k = 0; k < 900; ++k) mask.leave_out(random() % 20, random() % 300);
  for (std::size_t t = 0; t < 300; ++t) mask.leave_out(4, t);  // an input without any
  const ProductSums want = expected(scene, &mask);
  EXPECT_EQ(want.count[product_of(4, 2)], 0);
  expect_all_equal(scene, want, &mask);
}

// M4, M8: however the times are cut, in any order in memory.
TEST(CrossProducts, DoNotDependOnHowTimesComeTogether) {
  const Scene scene = Scene::random("mwa32t", 500, 2, 19);
  const ProductSums want = expected(scene);
  std::vector<std::uint8_t> turned(scene.bytes.size());
  for (std::size_t c = 0; c < 2; ++c)
    for (std::size_t i = 0; i < 19; ++i)
      for (std::size_t t = 0; t < 500; ++t)
        for (std::size_t b = 0; b < 2; ++b)
          turned[((c * 19 + i) * 500 + t) * 2 + b] = scene.bytes[((t * 2 + c) * 19 + i) * 2 + b];
  ThreadPool threads(1);
  for (const bool time_first : {false, true}) {
    CrossProducts products(2, 19, Strategy::automatic, threads);
    SampleView all = time_first ? time_fastest(turned.data(), scene.format, 500, 2, 19) : scene.voltages();
    std::size_t first = 0;
    for (const std::size_t n : {1, 16, 483}) {
      SampleView some = all;
      some.bytes += static_cast<std::ptrdiff_t>(first) * all.time_stride;
      some.n_time = n;
      products.add(some);
      first += n;
    }
    expect_equal(products.sums(), want, time_first ? "time fastest" : "input fastest");
  }
}

TEST(CrossProducts, AreTheSameForAnyNumberOfThreads) {
  const Scene scene = Scene::random("int8", 100, 1, 70);
  ThreadPool one(1), four(4);
  CrossProducts alone(1, 70, Strategy::bytes, one), together(1, 70, Strategy::bytes, four);
  alone.add(scene.voltages());
  together.add(scene.voltages());
  expect_equal(together.sums(), alone.sums(), "threads");
}

// C5: offsets are taken out by sums of each input, also where every number is the lowest.
TEST(CrossProducts, TakesTheOffsetsOut) {
  for (const int re : {-8, 0, 7})
    for (const int im : {-8, 7}) {
      const Scene scene = Scene::constant("chime", 300, 4, re, im);
      const ProductSums want = expected(scene);
      EXPECT_EQ(want.re[2], 300 * (re * re + im * im));
      expect_all_equal(scene, want);
    }
}

// C7: bands do not look at each other: many at once give what each gives alone.
TEST(CrossProducts, OfManyBandsAreThoseOfEach) {
  ThreadPool threads(3);
  const Scene scene = Scene::random("chime", 70, 128, 6);
  CrossProducts all(128, 6, Strategy::automatic, threads);
  all.add(scene.voltages());
  for (const std::size_t band : {0, 8, 127}) {
    SampleView one = scene.voltages();
    one.bytes += static_cast<std::ptrdiff_t>(band) * one.channel_stride;
    one.n_channel = 1;
    CrossProducts alone(1, 6, Strategy::automatic, threads);
    alone.add(one);
    for (std::size_t product = 0; product < n_products(6); ++product) {
      EXPECT_EQ(alone.sums().re[product], all.sums().re[band * n_products(6) + product]);
      EXPECT_EQ(alone.sums().im[product], all.sums().im[band * n_products(6) + product]);
    }
  }
}

// C6: sums have a sign, and go on from call to call: two calls are as good as one.
TEST(CrossProducts, GoOnFromCallToCall) {
  ThreadPool threads(2);
  const Scene scene = Scene::random("chime", 600, 2, 36);
  const ProductSums want = expected(scene);
  EXPECT_LT(*std::min_element(want.re.begin(), want.re.end()), 0);
  EXPECT_LT(*std::min_element(want.im.begin(), want.im.end()), 0);
  for (const std::string& name : strategy_names()) {
    CrossProducts products(2, 36, strategy(name), threads);
    for (const std::size_t first : {0, 299}) {
      SampleView some = scene.voltages();
      some.bytes += static_cast<std::ptrdiff_t>(first) * some.time_stride;
      some.n_time = first == 0 ? 299 : 301;
      products.add(some);
    }
    expect_equal(products.sums(), want, name);
    products.clear();
    products.add(scene.voltages());
    expect_equal(products.sums(), want, name + ", anew");
  }
}

// C10: no sum is lost where many threads add many blocks, twenty times the same bits.
TEST(CrossProducts, LosesNothingBetweenThreads) {
  ThreadPool threads(4);
  const Scene scene = Scene::random("int8", 500, 5, 35);
  const ProductSums want = expected(scene);
  for (int repeat = 0; repeat < 20; ++repeat) {
    CrossProducts products(5, 35, Strategy::automatic, threads);
    SampleView some = scene.voltages();
    for (std::size_t first = 0; first < 500; first += 50) {
      some.bytes = scene.bytes.data() + static_cast<std::ptrdiff_t>(first) * some.time_stride;
      some.n_time = 50;
      products.add(some);
    }
    ASSERT_EQ(products.sums().re, want.re);
    ASSERT_EQ(products.sums().im, want.im);
  }
}

// C3, M14: parts of the products may be formed apart - on several devices, say - and make the whole; none is formed
// twice.
TEST(CrossProducts, PartsMakeTheWhole) {
  const Scene scene = Scene::random("chime", 40, 1, 70);
  const ProductSums want = expected(scene);
  for (const ByteProducts* kernel : {&wide_products(), vnni_products()}) {
    if (kernel == nullptr) continue;
    const auto block = kernel->make(70, 40);
    block->fill(scene.voltages(), 0, 0, 40, nullptr);
    std::vector<std::int64_t> re(n_products(70)), im(n_products(70));
    std::vector<int> times_formed(n_products(70));
    for (std::size_t part = 0; part < block->n_part(); ++part) {
      std::vector<std::int64_t> own_re(n_products(70)), own_im(n_products(70));
      block->add_part(part, own_re.data(), own_im.data());
      for (std::size_t k = 0; k < re.size(); ++k) {
        re[k] += own_re[k];
        im[k] += own_im[k];
        times_formed[k] += own_re[k] != 0 || own_im[k] != 0 ? 1 : 0;
      }
    }
    EXPECT_EQ(re, want.re) << kernel->name;
    EXPECT_EQ(im, want.im) << kernel->name;
    for (const int times : times_formed) EXPECT_LE(times, 1);
  }
}

TEST(CrossProducts, NothingAddsNothing) {
  const Scene none("chime", 0, 2, 3);
  expect_all_equal(none, expected(none));
}

TEST(CrossProducts, SaysWhatItCannotTake) {
  ThreadPool threads(1);
  CrossProducts packed(1, 3, Strategy::packed, threads);
  const Scene words = Scene::random("mwa32t", 4, 1, 3);
  EXPECT_THROW(packed.add(words.voltages()), Error);
  const Scene nibbles = Scene::random("chime", 4, 1, 4);
  EXPECT_THROW(packed.add(nibbles.voltages()), Error);
  EXPECT_THROW(strategy("pair"), Error);
}

}  // namespace

}  // namespace rimetree::correlator
