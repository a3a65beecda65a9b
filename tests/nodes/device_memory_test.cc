// DeviceMemory: it decides where PSV is evaluated, within what memory; and what an evaluation copies is what it must.
#include <cstdlib>
#include <random>

#include "memory/simulated_device.h"
#include "nodes/psv/device/direct_job.h"
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

constexpr int kBaselines = 6, kSources = 40;
enum Field { kBudget, kResident, kPeak, kUp, kDown, kHits, kEvictions, kSeconds };

StateArray uvw_of(int baseline, double shift = 0) {
  return array({2, 3}, {300.0 + 70 * baseline + shift, -200.0 * baseline, 50.0, 0.02, 0.03, -0.01});
}

/// Baselines that see one sky, and a DeviceMemory node unless `device` is null. Two antennas' Jones terms if asked for.
TestForest scene(const char* device, std::int64_t budget_bytes = 0, bool with_jones = false) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> place(-0.02, 0.02);
  std::vector<double> lmn;
  std::vector<Complex<double>> brightness, jones;
  for (int s = 0; s < kSources; ++s) {
    const double l = place(random), m = place(random);
    lmn.insert(lmn.end(), {l, m, std::sqrt(1 - l * l - m * m)});
    for (const Complex<double>& e :
         {Complex<double>(1.1), Complex<double>(0.2, 0.1), Complex<double>(0.2, -0.1), Complex<double>(0.9)}) {
      brightness.push_back((1 + s) * e);
      jones.push_back({1 + 10 * place(random), 10 * place(random)});
    }
  }
  TestForest forest;
  forest.constant("lmn", array({kSources, 3}, lmn)).constant("b", complex_array({kSources, 2, 2}, brightness));
  forest.constant("j0", complex_array({kSources, 2, 2}, jones));
  std::reverse(jones.begin(), jones.end());
  forest.constant("j1", complex_array({kSources, 2, 2}, jones)).node("j1h", "ConjTranspose", {"j1"});
  for (int i = 0; i < kBaselines; ++i) {
    const std::string n = std::to_string(i);
    std::vector<std::string> children{"lmn", "b", "uvw" + n};
    if (with_jones) children.insert(children.end(), {"jones=j0", "jones=j1h"});
    forest.constant("uvw" + n, uvw_of(i)).node("v" + n, "PSV", children);
  }
  if (device != nullptr)
    forest.node("device", "DeviceMemory", {}, {{"device", std::string(device)}, {"budget_bytes", budget_bytes}});
  return forest;
}

struct Trial {
  explicit Trial(TestForest scene) : forest(std::move(scene)), built(Forest::build(forest.specs(), registry())) {
    evaluator = std::make_unique<Evaluator>(built, EvaluatorOptions{.threads = 1});
    for (int i = 0; i < kBaselines; ++i) roots.push_back(built->find("v" + std::to_string(i)));
  }
  std::vector<ResultPtr> evaluate() { return evaluator->evaluate(forest.request, roots); }
  double field(Field f) { return value_at(evaluator->evaluate(forest.request, "device")->value, f).re; }
  memory::SimulatedDevice& device() {
    return dynamic_cast<memory::SimulatedDevice&>(evaluator->devices().front()->device());
  }
  TestForest forest;
  std::shared_ptr<Forest> built;
  std::unique_ptr<Evaluator> evaluator;
  std::vector<int> roots;
};

/// `scale`: by which visibilities are multiplied.
void expect_equal(const std::vector<ResultPtr>& got, const std::vector<ResultPtr>& expected, double scale = 1) {
  const double total_flux = 1.1 * kSources * (kSources + 1) / 2;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expect_ok(got[i]);
    ASSERT_EQ(got[i]->value.size(), expected[i]->value.size());
    // Each is within 1e-12 of the truth.
    for (std::size_t k = 0; k < expected[i]->value.size(); ++k)
      EXPECT_LT(abs(got[i]->value.complex()[k] - expected[i]->value.complex()[k]), 2e-12 * scale * total_flux);
  }
}

TEST(DeviceMemoryNode, DecidesWherePsvIsEvaluated) {
  for (const bool with_jones : {false, true}) {
    Trial host(scene("none", 0, with_jones)), device(scene("simulated", 0, with_jones)),
        two(scene("simulated,simulated:100000000", 0, with_jones));
    const auto expected = host.evaluate();
    expect_equal(device.evaluate(), expected);
    expect_equal(two.evaluate(), expected);
    EXPECT_TRUE(host.evaluator->devices().empty());
    EXPECT_EQ(device.evaluator->devices().size(), 1u);
    EXPECT_EQ(two.evaluator->devices().size(), 2u);
    EXPECT_EQ(device.field(kDown), kBaselines * 2 * 3 * 4 * sizeof(Complex<double>));
    EXPECT_EQ(host.field(kDown), 0);
    ASSERT_EQ(device.evaluator->notes().list().size(), 1u);
    EXPECT_NE(device.evaluator->notes().list()[0].find("on simulated device"), std::string::npos);
  }
}

TEST(DeviceMemoryNode, TheSkyGoesUpOnceOverHundredsOfEvaluations) {
  for (const bool with_jones : {false, true}) {
    Trial run(scene("simulated", 0, with_jones));
    run.evaluate();
    const double up = run.field(kUp), down = run.field(kDown), resident = run.field(kResident);
    constexpr int kTimes = 300;
    for (int k = 1; k <= kTimes; ++k) {
      for (int i = 0; i < kBaselines; ++i)
        run.built->set_state(run.built->find("uvw" + std::to_string(i)), {{"value", uvw_of(i, k)}});
      run.evaluate();
    }
    EXPECT_EQ(run.field(kUp) - up, kTimes * kBaselines * 2.0 * sizeof(psv::pipeline::DeviceRow));
    EXPECT_EQ(run.field(kDown) - down, kTimes * kBaselines * 2 * 3 * 4.0 * sizeof(Complex<double>));
    EXPECT_EQ(run.field(kResident), resident);
    EXPECT_EQ(run.field(kEvictions), 0);
    EXPECT_GT(run.field(kHits), kTimes);
    EXPECT_GT(run.field(kSeconds), 0);
  }
}

TEST(DeviceMemoryNode, ItsBudgetIsKept) {
  Trial host(scene("none")), small(scene("simulated", 20000));
  expect_equal(small.evaluate(), host.evaluate());
  EXPECT_EQ(small.field(kBudget), 20000);
  EXPECT_LE(small.field(kPeak), 20000);
  Trial tiny(scene("simulated", 500));
  expect_equal(tiny.evaluate(), host.evaluate());
  ASSERT_EQ(tiny.evaluator->warnings().list().size(), 1u) << "it says that the host had to do it";
  EXPECT_NE(tiny.evaluator->warnings().list()[0].find("evaluated on the host"), std::string::npos);
}

TEST(DeviceMemoryNode, EveryAllocationOnTheDeviceMayFail) {
  Trial host(scene("none"));
  const auto expected = host.evaluate();
  std::size_t n_allocation = 0;
  {
    Trial run(scene("simulated"));
    run.evaluate();
    n_allocation = run.device().allocations_tried();
  }
  for (std::size_t n = 1; n <= n_allocation; ++n)
    for (const std::size_t count : {1, 1000000}) {
      Trial run(scene("simulated"));
      run.device().fail_allocations(n, count);
      expect_equal(run.evaluate(), expected);
    }
}

/// For each baseline r = v + v, which a device can add.
Trial doubled(const char* device, std::int64_t budget_bytes, bool with_jones) {
  TestForest forest = scene(device, budget_bytes, with_jones);
  for (int i = 0; i < kBaselines; ++i) {
    const std::string n = std::to_string(i);
    forest.node("r" + n, "Add", {"v" + n, "v" + n});
  }
  Trial trial(std::move(forest));
  for (int i = 0; i < kBaselines; ++i) trial.roots[i] = trial.built->find("r" + std::to_string(i));
  return trial;
}

TEST(DeviceMemoryNode, VisibilitiesStayOnTheDeviceWhereAConsumerReadsThemThere) {
  for (const bool with_jones : {false, true})
    // Room for all rows at once, and for few at a time.
    for (const std::int64_t budget : {0, 30000}) {
      Trial alone(scene("simulated", 0, with_jones)), run = doubled("simulated", budget, with_jones);
      const auto expected = alone.evaluate(), got = run.evaluate();
      for (int i = 0; i < kBaselines; ++i) {
        expect_ok(got[i]);
        for (std::size_t k = 0; k < got[i]->value.size(); ++k)
          EXPECT_EQ(got[i]->value.complex()[k], 2.0 * expected[i]->value.complex()[k]);
      }
      EXPECT_EQ(run.evaluator->timing().classes.at("Add").on_devices, std::uint64_t(kBaselines));
      EXPECT_EQ(run.field(kDown), kBaselines * 2 * 3 * 4 * sizeof(Complex<double>)) << "each sum once, nothing else";
      EXPECT_TRUE(run.evaluator->warnings().list().empty());
    }
}

TEST(DeviceMemoryNode, WithVisibilitiesThatStayEveryAllocationMayFailToo) {
  Trial host = doubled("none", 0, true);
  const auto expected = host.evaluate();
  std::size_t n_allocation = 0;
  {
    Trial run = doubled("simulated", 0, true);
    run.evaluate();
    n_allocation = run.device().allocations_tried();
  }
  for (std::size_t n = 1; n <= n_allocation; ++n)
    for (const std::size_t count : {1, 3, 1000000}) {
      Trial run = doubled("simulated", 0, true);
      run.device().fail_allocations(n, count);
      expect_equal(run.evaluate(), expected, 2);
    }
  for (std::int64_t budget = 200; budget < 60000; budget += budget / 3) {
    Trial run = doubled("simulated", budget, true);
    expect_equal(run.evaluate(), expected, 2);
    EXPECT_LE(run.field(kPeak), double(budget));
  }
}

TEST(DeviceMemoryNode, MayBeChangedBetweenEvaluations) {
  Trial run(scene("none"));
  const auto expected = run.evaluate();
  run.built->set_state(run.built->find("device"), {{"device", std::string("simulated:1000000")}});
  run.evaluator->forget();
  expect_equal(run.evaluate(), expected);
  EXPECT_GT(run.field(kDown), 0);
}

TEST(DeviceMemoryNode, WhatCannotBeIsSaid) {
  const auto message = [](TestForest forest) -> std::string {
    try {
      Trial run(std::move(forest));
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message(scene("warp")).find("\"warp\" cannot be used: there is no device"), std::string::npos);
  EXPECT_NE(message(scene("simulated,warp")).find("warp"), std::string::npos);
  EXPECT_NE(message(scene("none").node("other", "DeviceMemory")).find("say different things"), std::string::npos);
  EXPECT_EQ(message(scene("none").node("other", "DeviceMemory", {}, {{"device", std::string("none")}})), "");
  EXPECT_NE(message(scene("none", -1)).find("\"budget_bytes\" is -1, expected at least 0"), std::string::npos);
}

TEST(DeviceMemoryNode, TheEnvironmentChoosesWhereNobodyElseDoes) {
  const char* before = std::getenv("RIMETREE_DEVICE");
  const std::string saved = before ? before : "";
  setenv("RIMETREE_DEVICE", "simulated", 1);
  EXPECT_EQ(Trial(scene(nullptr)).evaluator->devices().size(), 1u);
  EXPECT_EQ(Trial(scene("none")).evaluator->devices().size(), 0u);
  setenv("RIMETREE_DEVICE", "none", 1);
  EXPECT_EQ(Trial(scene(nullptr)).evaluator->devices().size(), 0u);
  EXPECT_EQ(Trial(scene("simulated")).evaluator->devices().size(), 1u);
  before ? setenv("RIMETREE_DEVICE", saved.c_str(), 1) : unsetenv("RIMETREE_DEVICE");
}

}  // namespace
}  // namespace rimetree::test
