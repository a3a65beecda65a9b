// What no kernel of PSV takes, on the simulated device: skies that vary in time, unknowns in every child. The host's
// bits, extended precision, what is copied, and every allocation failing.
#include <random>

#include "memory/simulated_device.h"
#include "tests/support/forest_fixture.h"
#include "tests/support/same_bits.h"

namespace rimetree::test {
namespace {

constexpr int kSources = 4, kTimes = 2, kChannels = 3, kAntennas = 3;

/// Random numbers base + spread * (-1 .. 1), [dims][time or 1][channel or 1].
struct Random {
  double base, spread;
  bool complex = false;
  StateArray operator()(unsigned seed, std::vector<std::int64_t> dims, bool in_time = false,
                        bool in_frequency = false) const {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    dims.push_back(in_time ? kTimes : 1);
    dims.push_back(in_frequency ? kChannels : 1);
    StateArray values{dims, complex ? NumberType::complex : NumberType::real, {}};
    std::int64_t n = complex ? 2 : 1;
    for (const std::int64_t extent : dims) n *= extent;
    for (std::int64_t i = 0; i < n; ++i) values.data.push_back(base + spread * uniform(random));
    return values;
  }
};

enum class Unknown { kNone, kFluxes, kDirections, kShapes, kJones, kBaselines };
enum class Varies { kNothing, kDirections, kFluxes, kShapes, kJones };

/// The baselines of an array that sees four sources, Gaussians among them, through antennas' Jones terms. Of the
/// unknowns each moves one source or one antenna.
struct Scene {
  explicit Scene(Unknown unknown, Varies varies = Varies::kNothing, bool jones = true) {
    const bool lmn_in_time = varies == Varies::kDirections, flux_in_time = varies == Varies::kFluxes;
    stack("lmn", Random{0.3, 0.05}(1, {kSources, 3}, lmn_in_time), Random{0, 1e-3}, unknown == Unknown::kDirections);
    stack("b", Random{1, 0.5, true}(2, {kSources, 2, 2}, flux_in_time, flux_in_time), Random{0, 1, true},
          unknown == Unknown::kFluxes);
    stack("shape", Random{1e-3, 5e-4}(3, {kSources, 3}, varies == Varies::kShapes), Random{0, 1e-4},
          unknown == Unknown::kShapes);
    for (int a = 0; a < kAntennas; ++a) {
      const std::string own = std::to_string(a);
      stack("e" + own, Random{0.5, 0.5, true}(10 + a, {kSources, 2, 2}, varies == Varies::kJones), Random{0, 1, true},
            unknown == Unknown::kJones);
      tree.constant("s" + own, Random{1, 0.2}(20 + a, {kSources}), 2);
      tree.node("eh" + own, "ConjTranspose", {"e" + own});
    }
    for (int p = 0; p < kAntennas; ++p)
      for (int q = p + 1; q < kAntennas; ++q) {
        const std::string own = std::to_string(p) + std::to_string(q), left = std::to_string(p);
        StateArray uvw = Random{0, 100}(30 + 10 * p + q, {2, 3}, true);
        for (std::size_t i = 3 * kTimes; i < uvw.data.size(); ++i) uvw.data[i] *= 1e-4;  // rates
        tree.constant("uvw0" + own, uvw, 2);
        tree.parm("stretch" + own, 1);
        tree.node("uvw" + own, unknown == Unknown::kBaselines ? "Multiply" : "Identity",
                  unknown == Unknown::kBaselines ? TestForest::Children{"uvw0" + own, "stretch" + own}
                                                 : TestForest::Children{"uvw0" + own});
        TestForest::Children children{"lmn", "b", "uvw" + own, "shape"};
        if (jones)
          children.insert(children.end(), {"s" + left, "s" + std::to_string(q), "e" + left, "eh" + std::to_string(q)});
        tree.node("v" + own, "PSV", children);
        roots.push_back("v" + own);
      }
    tree.request.derivatives = unknown != Unknown::kNone;
  }
  /// A child that unknowns may move: two of its sources by one each.
  void stack(const std::string& name, const StateArray& values, const Random& direction, bool moves) {
    tree.constant(name + "_fixed", values, 2);
    TestForest::Children sum{name + "_fixed"};
    for (const int source : {0, 2}) {
      const std::string own = name + "_" + std::to_string(source);
      std::vector<std::int64_t> dims(values.shape.begin(), values.shape.end() - 2);
      StateArray along = direction(static_cast<unsigned>(100 + source), dims);
      const std::size_t per_source = along.data.size() / kSources;
      for (std::size_t i = 0; i < along.data.size(); ++i)
        if (i / per_source != static_cast<std::size_t>(source)) along.data[i] = 0;
      tree.constant(own + "_along", along, 2).parm("p_" + own, 0.1);
      tree.node(own + "_shift", "Multiply", {own + "_along", "p_" + own});
      sum.push_back(own + "_shift");
    }
    tree.node(name, moves ? "Add" : "Identity", moves ? sum : TestForest::Children{sum.front()});
  }

  TestForest tree;
  std::vector<std::string> roots;
};

struct Trial {
  Trial(const Scene& scene, const std::string& device, std::size_t budget_bytes = 0)
      : forest(Forest::build(scene.tree.specs(), registry())), request(scene.tree.request) {
    EvaluatorOptions options;
    options.threads = 1;
    options.device = {device, budget_bytes};
    evaluator = std::make_unique<Evaluator>(forest, options);
    for (const std::string& name : scene.roots) roots.push_back(forest->find(name));
  }
  std::vector<ResultPtr> evaluate() { return evaluator->evaluate(request, roots); }
  DeviceReport report() { return evaluator->devices().front()->report(); }
  memory::SimulatedDevice& device(std::size_t i = 0) {
    return dynamic_cast<memory::SimulatedDevice&>(evaluator->devices()[i]->device());
  }
  bool notes(const std::string& text) const { return has(evaluator->notes().list(), text); }
  bool warns(const std::string& text) const { return has(evaluator->warnings().list(), text); }
  static bool has(const std::vector<std::string>& list, const std::string& text) {
    return std::any_of(list.begin(), list.end(), [&](const auto& one) { return one.find(text) != std::string::npos; });
  }

  std::shared_ptr<Forest> forest;
  std::unique_ptr<Evaluator> evaluator;
  std::vector<int> roots;
  Request request;
};

void expect_same(const std::vector<ResultPtr>& got, const std::vector<ResultPtr>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    expect_ok(expected[i]);
    expect_same_bits(*got[i], *expected[i]);
  }
}

TEST(PsvGeneralDevice, SkiesThatVaryAreTheHostsBitsAndExact) {
  for (const auto& [varies, reason] : {std::pair(Varies::kDirections, "directions vary in time"),
                                       {Varies::kFluxes, "the brightness varies in time"},
                                       {Varies::kShapes, "shapes vary in time"}})
    for (const bool jones : {false, true}) {
      const Scene scene(Unknown::kNone, varies, jones);
      Trial host(scene, "none"), run(scene, "simulated");
      run.request.verify = 20;
      expect_same(run.evaluate(), host.evaluate());
      EXPECT_TRUE(run.notes(std::string("PSV: on simulated device, cell by cell, as ") + reason)) << reason;
      EXPECT_TRUE(host.notes("PSV: on the host, cell by cell, as ")) << reason;
      EXPECT_EQ(run.evaluator->verification().count, 20u);
      EXPECT_LE(run.evaluator->verification().largest_error, 1e-12);
      const auto described = run.evaluator->describe(run.request);
      EXPECT_TRUE(std::any_of(described.begin(), described.end(), [&](const auto& one) {
        return one.second.text == "PSV: on simulated device, cell by cell, as " + std::string(reason);
      }));
    }
}

TEST(PsvGeneralDevice, DerivativesAreTheHostsBitsAndStayThere) {
  constexpr std::size_t kBytes = 4 * kTimes * kChannels * sizeof(Complex<double>);
  for (const auto& [unknown, n_derivative] : {std::pair(Unknown::kFluxes, 2u),
                                              {Unknown::kDirections, 2u},
                                              {Unknown::kShapes, 2u},
                                              {Unknown::kJones, 4u},
                                              {Unknown::kBaselines, 1u}})
    for (const Varies varies : {Varies::kNothing, Varies::kFluxes, Varies::kJones}) {
      const Scene scene(unknown, varies);
      Trial host(scene, "none"), run(scene, "simulated");
      const auto got = run.evaluate(), expected = host.evaluate();
      expect_same(got, expected);
      for (const ResultPtr& result : got) {
        ASSERT_EQ(result->derivatives.size(), n_derivative) << "unknowns of this baseline only";
        for (const Derivative& derivative : result->derivatives) {
          ASSERT_NE(derivative.value.device(), nullptr);
          EXPECT_EQ(&derivative.value.device()->block(), &result->value.device()->block());
          double largest = 0;
          for (std::size_t i = 0; i < derivative.value.size(); ++i)
            largest = std::max(largest, abs(derivative.value.complex()[i]));
          EXPECT_GT(largest, 1e-3) << static_cast<int>(unknown);
        }
      }
      EXPECT_EQ(run.report().bytes_to_host, got.size() * (1 + n_derivative) * kBytes) << "the roots, and nothing else";
      EXPECT_TRUE(run.notes("there are derivatives with respect to unknowns"));
      expect_same(run.evaluate(), expected);
      Trial verified(scene, "simulated");
      verified.request.verify = 20;
      verified.evaluate();
      EXPECT_EQ(verified.evaluator->verification().count, 20u);
      EXPECT_LE(verified.evaluator->verification().largest_error, 1e-12);
    }
}

TEST(PsvGeneralDevice, InAFitOnlyWhatHasChangedGoesUp) {
  const Scene scene(Unknown::kJones);
  Trial host(scene, "none"), run(scene, "simulated");
  const auto step_to = [&](double value) {
    for (Trial* trial : {&host, &run}) trial->forest->set_state(trial->forest->find("p_e1_2"), {{"value", value}});
    expect_same(run.evaluate(), host.evaluate());
  };
  run.evaluate();
  step_to(0);  // from here on the same nodes are evaluated each time
  const DeviceReport before = run.report();
  constexpr int kSteps = 100;
  for (int step = 1; step <= kSteps; ++step) step_to(0.01 * step);
  EXPECT_EQ(run.report().bytes_to_device - before.bytes_to_device, kSteps * 2 * 2 * sizeof(double))
      << "the antenna's two unknowns, aligned; the terms that are made of them are on the device already";
  EXPECT_EQ(run.report().arrays.resident_bytes, before.arrays.resident_bytes) << "nothing is left behind";
}

TEST(PsvGeneralDevice, EveryAllocationMayFailAndLittleMemoryDoes) {
  const Scene scene(Unknown::kJones, Varies::kDirections);
  Trial host(scene, "none"), all(scene, "simulated");
  const auto expected = host.evaluate();
  all.evaluate();
  const std::size_t n_allocation = all.device().allocations_tried();
  ASSERT_GT(n_allocation, 5u);
  bool on_host = false, in_parts = false;
  for (std::size_t n = 1; n <= n_allocation; ++n)
    for (const std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{1000}}) {
      Trial run(scene, "simulated");
      run.device().fail_allocations(n, count);
      expect_same(run.evaluate(), expected);
      on_host = on_host || run.warns("is evaluated on the host");
    }
  const std::size_t needed = all.report().arrays.peak_bytes;
  for (const std::size_t part : {9, 8, 7, 6, 5, 4, 3, 2, 1}) {
    Trial run(scene, "simulated", needed * part / 10);
    const auto got = run.evaluate();
    expect_same(got, expected);
    EXPECT_LE(run.report().arrays.peak_bytes, needed * part / 10);
    in_parts = in_parts || (got[0]->value.device() != nullptr && got[1]->value.device() != nullptr &&
                            &got[0]->value.device()->block() != &got[1]->value.device()->block());
  }
  EXPECT_TRUE(on_host);
  EXPECT_TRUE(in_parts) << "what does not fit together is done in parts";
}

TEST(PsvGeneralDevice, SeveralDevicesShareTheBaselines) {
  const Scene scene(Unknown::kFluxes);
  Trial host(scene, "none"), run(scene, "simulated,simulated");
  expect_same(run.evaluate(), host.evaluate());
  EXPECT_TRUE(run.notes("PSV: on simulated device, simulated device"));
  for (std::size_t i = 0; i < 2; ++i) EXPECT_GT(run.device(i).statistics().bytes_to_host, 0u);
}

TEST(PsvGeneralDevice, ConsumersReadDerivativesWhereTheyAre) {
  Scene scene(Unknown::kFluxes);
  TestForest::Children residuals;
  for (const std::string& name : scene.roots) {
    scene.tree.node("r" + name, "Condeq", {"data=v_data", "model=" + name});
    residuals.push_back("r" + name);
  }
  scene.tree.constant("v_data", Random{0, 1, true}(7, {2, 2}, true, true), 2);
  scene.roots = residuals;
  Trial host(scene, "none"), run(scene, "simulated");
  expect_same(run.evaluate(), host.evaluate());
  EXPECT_EQ(run.report().bytes_to_host, 3 * (1 + 2) * 4 * kTimes * kChannels * sizeof(Complex<double>))
      << "residuals, and nothing of the model";
}

TEST(PsvGeneralDevice, SomeBaselinesOfABatchHaveKernelsAndOthersNot) {
  Scene scene(Unknown::kJones);
  scene.tree.node("fixed", "PSV", {"lmn", "b", "uvw01", "shape", "s0", "s1", "e0_fixed", "e1_fixed"});
  scene.roots.push_back("fixed");
  Trial host(scene, "none"), run(scene, "simulated");
  const auto got = run.evaluate(), expected = host.evaluate();
  expect_same({got[0], got[1], got[2]}, {expected[0], expected[1], expected[2]});
  expect_ok(got[3]);
  EXPECT_TRUE(got[3]->derivatives.empty());
  for (std::size_t i = 0; i < got[3]->value.size(); ++i)
    expect_near(got[3]->value.complex()[i], expected[3]->value.complex()[i], 1e-12 * 50);
}

}  // namespace
}  // namespace rimetree::test
