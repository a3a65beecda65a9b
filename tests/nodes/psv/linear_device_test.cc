// Derivatives with respect to unknowns in which visibilities are linear, by PSV's kernels: against the general path, on
// the host and on the device that RIMETREE_DEVICE names.
#include "tests/support/psv_unknowns.h"

namespace rimetree::test::psv_unknowns {
namespace {

// Of the sum of |J| |B| |J| of all sources, which is about 20, kernels may be wrong by 1e-12.
constexpr double kTolerance = 2e-11;

void expect_near_all(const std::vector<ResultPtr>& got, const std::vector<ResultPtr>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    expect_ok(got[i]);
    ASSERT_EQ(got[i]->derivatives.size(), expected[i]->derivatives.size());
    for (std::size_t k = 0; k < got[i]->derivatives.size(); ++k) {
      const Vells &a = got[i]->derivatives[k].value, &b = expected[i]->derivatives[k].value;
      EXPECT_EQ(got[i]->derivatives[k].parameter, expected[i]->derivatives[k].parameter);
      ASSERT_TRUE(a.cells() == b.cells());
      double largest = 0;
      for (std::size_t n = 0; n < a.size(); ++n) {
        expect_near(a.complex()[n], b.complex()[n], kTolerance);
        largest = std::max(largest, abs(b.complex()[n]));
      }
      EXPECT_GT(largest, 0.01);
    }
  }
}

/// The same by the general path: the sky is said to vary in time.
std::vector<ResultPtr> by_general_path(const Scene& scene) {
  Scene general = scene;
  general.tree.node("t", "Time").node("zero", "Subtract", {"t", "t"}).node("lmn_t", "Add", {"lmn", "zero"});
  std::vector<NodeSpec> specs = general.tree.specs();
  for (NodeSpec& spec : specs)
    for (auto& [label, child] : spec.children)
      if (spec.class_name == "PSV" && child == "lmn") child = "lmn_t";
  Trial trial(general, specs, "none");
  const auto results = trial.evaluate();
  EXPECT_TRUE(trial.notes("PSV: on the host, cell by cell, as directions vary in time"));
  return results;
}

TEST(PsvLinearDevice, DerivativesAreThoseOfTheGeneralPath) {
  for (const Unknown unknown : {Unknown::kFluxes, Unknown::kJones})
    for (const Varies varies : {Varies::kNothing, Varies::kJones})
      for (const bool jones : {true, false}) {
        if (!jones && (unknown == Unknown::kJones || varies == Varies::kJones)) continue;
        const Scene scene(unknown, varies, jones);
        const auto expected = by_general_path(scene);
        for (const std::string& device : {std::string("none"), chosen_device(), std::string("simulated,simulated")}) {
          Trial run(scene, device);
          expect_near_all(run.evaluate(), expected);
          EXPECT_FALSE(run.notes("cell by cell"));
          Trial single(scene, device);
          single.request.precision = Precision::single;
          expect_near_all(single.evaluate(), expected);
        }
      }
}

TEST(PsvLinearDevice, TheyStayOnTheDeviceForThoseWhoReadThemThere) {
  Scene scene(Unknown::kFluxes);
  const auto expected = by_general_path(scene);
  TestForest::Children residuals;
  for (const std::string& name : scene.roots) {
    residuals.push_back("r" + name);
    scene.tree.node(residuals.back(), "Condeq", {"data=no_data", "model=" + name});
  }
  scene.tree.constant("no_data", Random{0, 0, true}(7, {2, 2}), 2);
  scene.roots = residuals;
  Trial run(scene, chosen_device());
  const auto got = run.evaluate();
  for (std::size_t i = 0; i < got.size(); ++i)
    for (std::size_t k = 0; k < 2; ++k)
      for (std::size_t n = 0; n < 4 * kTimes * kChannels; ++n)
        expect_near(-got[i]->derivatives.at(k).value.complex()[n], expected[i]->derivatives.at(k).value.complex()[n],
                    kTolerance);
  EXPECT_EQ(run.evaluator->timing().classes.at("Condeq").on_devices, got.size());
  const std::uint64_t result_bytes = 4 * kTimes * kChannels * sizeof(Complex<double>);
  // What the host needs of the sky comes down, but neither visibilities nor their derivatives do.
  const DeviceReport before = run.report();
  run.request.data_id = 1;
  run.forest->set_state(run.forest->find("no_data"), {{"value", Random{1, 0, true}(7, {2, 2})}});
  run.evaluate();
  EXPECT_EQ(run.report().bytes_to_host - before.bytes_to_host, got.size() * 3 * result_bytes) << "residuals only";
}

TEST(PsvLinearDevice, EveryAllocationMayFail) {
  const Scene scene(Unknown::kJones);
  const auto expected = by_general_path(scene);
  Trial all(scene, "simulated");
  all.evaluate();
  const std::size_t n_allocation = all.device().allocations_tried();
  ASSERT_GT(n_allocation, 5u);
  for (std::size_t n = 1; n <= n_allocation; ++n)
    for (const std::size_t count : {std::size_t{1}, std::size_t{1000}}) {
      Trial run(scene, "simulated");
      run.device().fail_allocations(n, count);
      expect_near_all(run.evaluate(), expected);
    }
}

}  // namespace
}  // namespace rimetree::test::psv_unknowns
