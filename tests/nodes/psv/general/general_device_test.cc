// What no kernel of PSV takes, on the device that RIMETREE_DEVICE names: skies that vary in time, unknowns in what
// results are not linear in. What the host gives, extended precision, what is copied, and every allocation failing.
#include "tests/support/psv_unknowns.h"

namespace rimetree::test::psv_unknowns {
namespace {

TEST(PsvGeneralDevice, SkiesThatVaryAreAsOnTheHostAndExact) {
  for (const auto& [varies, reason] : {std::pair(Varies::kDirections, "directions vary in time"),
                                       {Varies::kFluxes, "the brightness varies in time"},
                                       {Varies::kShapes, "shapes vary in time"}})
    for (const bool jones : {false, true}) {
      const Scene scene(Unknown::kNone, varies, jones);
      Trial host(scene, "none"), run(scene, chosen_device());
      run.request.verify = 20;
      expect_as_on_the_host(*run.evaluator, run.evaluate(), host.evaluate());
      const std::string where = "PSV: on " + run.evaluator->devices().front()->device().name();
      EXPECT_TRUE(run.notes(where + ", cell by cell, as " + reason)) << reason;
      EXPECT_TRUE(host.notes("PSV: on the host, cell by cell, as ")) << reason;
      EXPECT_EQ(run.evaluator->verification().count, 20u);
      EXPECT_LE(run.evaluator->verification().largest_error, 1e-12);
      const auto described = run.evaluator->describe(run.request);
      EXPECT_TRUE(std::any_of(described.begin(), described.end(), [&](const auto& one) {
        return one.second.text == where + ", cell by cell, as " + reason;
      }));
    }
}

TEST(PsvGeneralDevice, DerivativesAreAsOnTheHostAndStayThere) {
  constexpr std::size_t kBytes = 4 * kTimes * kChannels * sizeof(Complex<double>);
  for (const auto& [unknown, n_derivative, reason] : {std::tuple(Unknown::kFluxes, 2u, "the brightness varies in time"),
                                                      {Unknown::kJones, 4u, "the brightness varies in time"},
                                                      {Unknown::kDirections, 2u, "directions depend on unknowns"},
                                                      {Unknown::kShapes, 2u, "shapes depend on unknowns"},
                                                      {Unknown::kBaselines, 1u, "(u, v, w) depend on unknowns"},
                                                      {Unknown::kGains, 1u, "the brightness varies in time"}})
    for (const Varies varies : {Varies::kNothing, Varies::kFluxes, Varies::kJones}) {
      const bool linear = unknown == Unknown::kFluxes || unknown == Unknown::kJones || unknown == Unknown::kGains;
      if (linear && varies != Varies::kFluxes) continue;  // by kernels
      const Scene scene(unknown, varies);
      Trial host(scene, "none"), run(scene, chosen_device());
      const auto got = run.evaluate(), expected = host.evaluate();
      expect_as_on_the_host(*run.evaluator, got, expected);
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
      EXPECT_TRUE(run.notes(varies == Varies::kFluxes ? "the brightness varies in time" : reason)) << reason;
      expect_as_on_the_host(*run.evaluator, run.evaluate(), expected);
      Trial verified(scene, chosen_device());
      verified.request.verify = 20;
      verified.evaluate();
      EXPECT_EQ(verified.evaluator->verification().count, 20u);
      EXPECT_LE(verified.evaluator->verification().largest_error, 1e-12);
    }
}

TEST(PsvGeneralDevice, OneUnknownOfSeveralChildrenGoesByKernels) {
  for (const Varies varies : {Varies::kNothing, Varies::kJones}) {
    const Scene scene(Unknown::kGains, varies);
    Trial host(scene, "none"), run(scene, chosen_device());
    const auto got = run.evaluate(), expected = host.evaluate();
    expect_as_on_the_host(*run.evaluator, got, expected);
    for (const ResultPtr& result : got) EXPECT_EQ(result->derivatives.size(), 1u);
    for (const Trial* trial : {&host, &run}) EXPECT_FALSE(trial->notes("cell by cell"));
  }
}

TEST(PsvGeneralDevice, InAFitOnlyWhatHasChangedGoesUp) {
  const Scene scene(Unknown::kJones, Varies::kDirections);
  Trial host(scene, "none"), run(scene, chosen_device());
  const auto step_to = [&](double value) {
    for (Trial* trial : {&host, &run}) trial->forest->set_state(trial->forest->find("p_e1_2"), {{"value", value}});
    expect_as_on_the_host(*run.evaluator, run.evaluate(), host.evaluate());
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
      expect_as_on_the_host(*run.evaluator, run.evaluate(), expected);
      on_host = on_host || run.warns("is evaluated on the host");
    }
  const std::size_t needed = all.report().arrays.peak_bytes;
  for (const std::size_t part : {9, 8, 7, 6, 5, 4, 3, 2, 1}) {
    Trial run(scene, "simulated", needed * part / 10);
    const auto got = run.evaluate();
    expect_as_on_the_host(*run.evaluator, got, expected);
    EXPECT_LE(run.report().arrays.peak_bytes, needed * part / 10);
    in_parts = in_parts || (got[0]->value.device() != nullptr && got[1]->value.device() != nullptr &&
                            &got[0]->value.device()->block() != &got[1]->value.device()->block());
  }
  EXPECT_TRUE(on_host);
  EXPECT_TRUE(in_parts) << "what does not fit together is done in parts";
}

TEST(PsvGeneralDevice, SeveralDevicesShareTheBaselines) {
  const Scene scene(Unknown::kFluxes, Varies::kShapes);
  Trial host(scene, "none"), run(scene, "simulated,simulated");
  expect_as_on_the_host(*run.evaluator, run.evaluate(), host.evaluate());
  EXPECT_TRUE(run.notes("PSV: on simulated device, simulated device"));
  for (std::size_t i = 0; i < 2; ++i) EXPECT_GT(run.device(i).statistics().bytes_to_host, 0u);
}

TEST(PsvGeneralDevice, ConsumersReadDerivativesWhereTheyAre) {
  Scene scene(Unknown::kDirections);
  TestForest::Children residuals;
  for (const std::string& name : scene.roots) {
    scene.tree.node("r" + name, "Condeq", {"data=v_data", "model=" + name});
    residuals.push_back("r" + name);
  }
  scene.tree.constant("v_data", Random{0, 1, true}(7, {2, 2}, true, true), 2);
  scene.roots = residuals;
  Trial host(scene, "none"), run(scene, chosen_device());
  expect_as_on_the_host(*run.evaluator, run.evaluate(), host.evaluate());
  EXPECT_EQ(run.report().bytes_to_host, 3 * (1 + 2) * 4 * kTimes * kChannels * sizeof(Complex<double>))
      << "residuals, and nothing of the model";
}

TEST(PsvGeneralDevice, SomeBaselinesOfABatchHaveKernelsAndOthersNot) {
  Scene scene(Unknown::kDirections);
  scene.tree.node("fixed", "PSV", {"lmn_fixed", "b", "uvw01", "shape", "s0", "s1", "e0", "eh1"});
  scene.roots.push_back("fixed");
  Trial host(scene, "none"), run(scene, chosen_device());
  const auto got = run.evaluate(), expected = host.evaluate();
  expect_as_on_the_host(*run.evaluator, {got[0], got[1], got[2]}, {expected[0], expected[1], expected[2]});
  expect_ok(got[3]);
  EXPECT_TRUE(got[3]->derivatives.empty());
  for (std::size_t i = 0; i < got[3]->value.size(); ++i)
    expect_near(got[3]->value.complex()[i], expected[3]->value.complex()[i], 1e-12 * 50);
}

}  // namespace
}  // namespace rimetree::test::psv_unknowns
