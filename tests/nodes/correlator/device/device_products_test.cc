// Products on the device that RIMETREE_DEVICE names, else on a simulated one: whole numbers, the same bits everywhere.
#include "nodes/correlator/device/device_products.h"

#include <gtest/gtest.h>

#include <cctype>

#include "memory/simulated_device.h"
#include "runtime/core/error.h"
#include "tests/support/chosen_device.h"
#include "tests/support/sample_scene.h"

namespace rimetree::correlator {

namespace {

using Scene = SampleScene;

/// Some devices, of the chosen kind or simulated ones of a size.
struct Devices {
  DeviceContexts contexts;
  std::vector<DeviceContext*> all;

  Devices() : contexts(open_devices({test::chosen_device(), 0})) { all = {contexts.front().get()}; }
  Devices(std::size_t n, std::size_t bytes) {
    for (std::size_t i = 0; i < n; ++i) {
      contexts.push_back(std::make_unique<DeviceContext>(std::make_shared<memory::SimulatedDevice>(bytes)));
      all.push_back(contexts.back().get());
    }
  }
};

ThreadPool& threads() {
  static ThreadPool two(2);
  return two;
}

bool takes(const std::string& name, const Scene& scene) {
  if (name == "packed" && scene.format.bits > 4) return false;
  return scene.n_input % group_of(strategy(name)) == 0;
}

void expect_equal(const ProductSums& got, const ProductSums& want, const std::string& what) {
  EXPECT_EQ(got.re, want.re) << what;
  EXPECT_EQ(got.im, want.im) << what;
  EXPECT_EQ(got.count, want.count) << what;
}

void expect_all_equal(const Scene& scene, const SampleMask* mask = nullptr) {
  Devices devices;
  const ProductSums want = expected(scene, mask);
  for (const std::string& name : strategy_names()) {
    if (!takes(name, scene)) continue;
    DeviceProducts products(devices.all, scene.format, scene.n_channel, scene.n_input, strategy(name), threads());
    products.add(scene.voltages(), mask);
    expect_equal(products.sums(), want, name);
  }
}

class DeviceProductsOf : public ::testing::TestWithParam<std::tuple<const char*, std::size_t, std::size_t>> {};

// M7, M8, M9, C3, C4, C5: every kernel, bit by bit.
TEST_P(DeviceProductsOf, AreTheSumsOfWholeNumbers) {
  const auto& [format, n_input, n_time] = GetParam();
  expect_all_equal(Scene::random(format, n_time, 2, n_input));
}
INSTANTIATE_TEST_SUITE_P(Sizes, DeviceProductsOf,
                         ::testing::Combine(::testing::Values("chime", "mwa32t", "int8"),
                                            ::testing::Values<std::size_t>(1, 2, 3, 19, 32, 33, 64, 80),
                                            ::testing::Values<std::size_t>(1, 33, 291)));

// The three sizes of tiles, with rows and columns that are not there.
TEST(DeviceProducts, OfManyInputs) {
  Devices devices;
  for (const std::size_t inputs : {256, 513}) {
    const Scene scene = Scene::random("int8", 40, 1, inputs);
    DeviceProducts products(devices.all, scene.format, 1, inputs, Strategy::bytes, threads());
    products.add(scene.voltages());
    expect_equal(products.sums(), expected(scene), std::to_string(inputs));
  }
}

// Sums of 16 and of 32 bits at their bounds: all samples at their extremes.
TEST(DeviceProducts, OfExtremes) {
  for (const int x : {-8, 7}) expect_all_equal(Scene::constant("chime", 600, 4, x, x));
  Devices devices;
  for (const int x : {-128, 127}) {
    const Scene scene = Scene::constant("int8", 40000, 2, x, x);
    DeviceProducts products(devices.all, scene.format, 1, 2, Strategy::bytes, threads());
    products.add(scene.voltages());
    expect_equal(products.sums(), expected(scene), std::to_string(x));
  }
}

// More channels than a block of threads has, so that there is a second one.
TEST(DeviceProducts, OfManyChannels) { expect_all_equal(Scene::random("chime", 9, 131, 4)); }

TEST(DeviceProducts, OfMaskedSamples) {
  const Scene scene = Scene::random("chime", 300, 2, 20);
  SampleMask mask(20, 300);
  std::mt19937 random(7);
  for (int k = 0; k < 900; ++k) mask.leave_out(random() % 20, random() % 300);
  for (std::size_t t = 0; t < 300; ++t) mask.leave_out(4, t);
  expect_all_equal(scene, &mask);
}

// Any order in memory; blocks of any size add up, and after a fresh start nothing is left of them.
TEST(DeviceProducts, TakeSamplesAsTheyLie) {
  const Scene scene = Scene::random("mwa32t", 150, 3, 19);
  const std::size_t codes = scene.samples.size();
  const auto at = [&](std::size_t t, std::size_t c, std::size_t i) { return ((t * 3 + c) * 19 + i) * 2; };
  std::vector<std::uint8_t> by_channel(2 * codes), by_input(2 * codes), spread(4 * codes);
  for (std::size_t t = 0; t < 150; ++t)
    for (std::size_t c = 0; c < 3; ++c)
      for (std::size_t i = 0; i < 19; ++i)
        for (std::size_t b = 0; b < 2; ++b) {
          by_channel[((c * 150 + t) * 19 + i) * 2 + b] = scene.bytes[at(t, c, i) + b];
          by_input[((c * 19 + i) * 150 + t) * 2 + b] = scene.bytes[at(t, c, i) + b];
          spread[2 * at(t, c, i) + b] = scene.bytes[at(t, c, i) + b];
        }
  const std::vector<SampleView> views{
      scene.voltages(),
      {by_channel.data(), scene.format, 150, 3, 19, 38, 150 * 38, 2},
      time_fastest(by_input.data(), scene.format, 150, 3, 19),
      {spread.data(), scene.format, 150, 3, 19, 4 * 57, 4 * 19, 4},
  };
  Devices devices;
  DeviceProducts products(devices.all, scene.format, 3, 19, Strategy::automatic, threads());
  for (const SampleView& view : views) {
    products.clear();
    SampleView some = view;
    for (const std::size_t n : {1, 66, 83}) {
      some.n_time = n;
      products.add(some);
      some.bytes += static_cast<std::ptrdiff_t>(n) * some.time_stride;
    }
    expect_equal(products.sums(), expected(scene), std::to_string(view.time_stride));
  }
}

// M14: several devices form a part of the products each.
TEST(DeviceProducts, AreSharedOutAmongDevices) {
  const Scene scene = Scene::random("chime", 70, 2, 96);
  for (const std::string& name : strategy_names()) {
    Devices devices(3, std::size_t{1} << 26);
    DeviceProducts products(devices.all, scene.format, 2, 96, strategy(name), threads());
    products.add(scene.voltages());
    expect_equal(products.sums(), expected(scene), name);
  }
}

// Little memory: smaller portions, the same sums; less than that is said.
TEST(DeviceProducts, FitTheDevice) {
  const Scene scene = Scene::random("int8", 1000, 4, 64);
  Devices small(1, 600 << 10);
  DeviceProducts products(small.all, scene.format, 4, 64, Strategy::automatic, threads());
  EXPECT_LT(products.portion(), 1000u);
  products.add(scene.voltages());
  expect_equal(products.sums(), expected(scene), "small");
  Devices tiny(1, 100 << 10);
  EXPECT_THROW(DeviceProducts(tiny.all, scene.format, 4, 64, Strategy::automatic, threads()), memory::OutOfMemory);
}

TEST(DeviceProducts, SayWhatTheyCannotTake) {
  Devices devices;
  const Scene words = Scene::random("mwa32t", 4, 1, 3);
  EXPECT_THROW(DeviceProducts(devices.all, words.format, 1, 3, Strategy::packed, threads()), Error);
  EXPECT_THROW(DeviceProducts(devices.all, words.format, 1, 3, Strategy::groups2, threads()), Error);
  DeviceProducts products(devices.all, words.format, 1, 4, Strategy::automatic, threads());
  EXPECT_THROW(products.add(words.voltages()), Error);
  Devices others;
  const Scene four = Scene::random("mwa32t", 4, 1, 4);
  EXPECT_THROW(products.add(four.voltages(), nullptr, others.all.front()), Error);
}

TEST(DeviceProducts, OfNothingAreNothing) {
  const Scene none("chime", 0, 2, 3);
  expect_all_equal(none);
}

}  // namespace

}  // namespace rimetree::correlator
