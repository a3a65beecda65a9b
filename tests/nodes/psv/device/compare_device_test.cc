// Chi-square and its gradient where the model is computed: forests on the devices that RIMETREE_DEVICE names, or on a
// simulated one, held to the same forests on the host; and what a fitting loop copies, byte by byte.
#include "nodes/psv/device/direct_job.h"
#include "tests/support/chosen_device.h"
#include "tests/support/comparison_scene.h"

namespace rimetree::test {
namespace {

using Scene = ComparisonScene;
constexpr int kTimes = Scene::kTimes, kChannels = Scene::kChannels;

/// For each unknown the sum of the magnitudes of what its derivative adds up: 2 w |r| |dr/dp|, from forward
/// derivatives.
std::map<int, double> magnitudes(Scene& scene, int n_baseline) {
  Request request = scene.forest.request;
  request.derivatives = true;
  std::map<int, double> sums;
  for (int b = 0; b < n_baseline; ++b) {
    const ResultPtr residual = scene.evaluator->evaluate(request, "r" + std::to_string(b));
    if (!residual->ok()) continue;
    const CellShape cells = request.cells->shape();
    for (const Derivative& derivative : residual->derivatives)
      for (std::size_t e = 0; e < 4; ++e)
        for (int t = 0; t < cells.extent[0]; ++t)
          for (int f = 0; f < cells.extent[1]; ++f) {
            const auto time = static_cast<std::size_t>(t), channel = static_cast<std::size_t>(f);
            if (flag_at(residual->flags, residual->flags.planes() == 1 ? 0 : e, time, channel) != 0) continue;
            double w = 1;
            if (!residual->weight.empty())
              w = value_at(residual->weight, residual->weight.dims().is_scalar() ? 0 : e, time, channel).re;
            if (!(w > 0)) continue;
            sums[derivative.parameter.parm] += 2 * w * abs(value_at(residual->value, e, time, channel)) *
                                               abs(value_at(derivative.value, e, time, channel));
          }
  }
  return sums;
}

void expect_equal(ValueAndGradient got, ValueAndGradient expected, std::map<int, double> scale, const Forest& forest,
                  double error) {
  expect_ok(expected.value);
  expect_ok(got.value);
  if (!got.value->ok() || !expected.value->ok()) return;
  const double value = expected.value->value.real()[0];
  EXPECT_NEAR(got.value->value.real()[0], value, error * (std::abs(value) + 1));
  ASSERT_EQ(got.gradient.by_node().size(), expected.gradient.by_node().size());
  for (const auto& [node, gradient] : expected.gradient.by_node()) {
    ASSERT_EQ(gradient.size(), 1u);
    EXPECT_LE(std::abs(got.gradient.of(node)[0] - gradient[0]), error * scale[node])
        << forest.node(node).name() << ": " << gradient[0];
  }
}

void check(const SceneOptions& options) {
  Scene host(options, "none"), device(options, chosen_device());
  const ValueAndGradient expected = host.evaluate();
  const std::map<int, double> scale = magnitudes(host, options.n_baseline);
  // Each of the two is within 1e-12 of the truth, and visibilities are within 1e-12 of the total flux.
  expect_equal(device.evaluate(), expected, scale, *host.built, 2e-12);
  EXPECT_TRUE(device.was_compared());
  EXPECT_FALSE(host.was_compared());
  EXPECT_EQ(device.evaluator->warnings().list(), host.evaluator->warnings().list());
  // From what stayed on the device.
  expect_equal(device.evaluate(), expected, scale, *host.built, 2e-12);
}

TEST(PsvCompareDevice, AgreesWithTheHost) {
  check({});
  check({.polarised = false});
  check({.positions = false});
  check({.fluxes = false});
  check({.smearing = true});
  check({.spectra = true});
  check({.polarised = false, .spectra = true});
  check({.spectra = true, .shapes = true, .smearing = true});
  check({.shapes = true, .smearing = true, .weights = true, .flags = true});
}

TEST(PsvCompareDevice, AgreesWithTheHostWithJonesTerms) {
  check({.jones = true});
  check({.shapes = true, .smearing = true, .jones = true, .weights = true, .flags = true});
}

TEST(PsvCompareDevice, AgreesWithTheHostForSumsOfSkies) {
  check({.n_term = 2});
  check({.polarised = false, .fixed_term = true});
  check({.shapes = true, .smearing = true, .n_term = 3, .fixed_term = true, .weights = true, .flags = true});
}

TEST(PsvCompareDevice, AgreesWithTheHostForTheLikelihood) {
  check({.weights = true, .flags = true, .objective = "LogLikelihood"});
}

TEST(PsvCompareDevice, SinglePrecisionIsThatOfTheModel) {
  const SceneOptions options{.shapes = true, .smearing = true, .weights = true};
  Scene host(options, "none"), device(options, chosen_device());
  device.forest.request.precision = Precision::single;
  const auto scale = magnitudes(host, options.n_baseline);
  // Of the total flux, of which residuals are a fraction; so of chi-square and of derivatives a few times that.
  expect_equal(device.evaluate(), host.evaluate(), scale, *host.built, 1e-5);
  EXPECT_TRUE(device.was_compared());
}

TEST(PsvCompareDevice, NothingButChangedParametersAndTheGradientIsCopiedInAFittingLoop) {
  for (const bool positions : {false, true})
    for (const bool jones : {false, true}) {
      const SceneOptions options{
          .positions = positions, .smearing = true, .jones = jones, .fixed_term = true, .weights = true, .flags = true};
      Scene fit(options, "simulated"), host(options, "none");
      const std::uint64_t n = options.n_source;
      ValueAndGradient at = fit.evaluate();
      const auto first = fit.device().statistics();
      const double chi_square = at.value->value.real()[0];
      constexpr int kIterations = 200;
      for (int k = 0; k < kIterations; ++k) {
        // Down the slope, with the step that suits fluxes and positions of these baselines.
        for (const std::string& name : fit.unknowns) {
          const int node = fit.built->find(name);
          const double step = name[0] == 'l' || name[0] == 'm' ? 1e-15 : 1e-4;
          const double value = fit.value[name] -= step * at.gradient.of(node)[0];
          fit.set(name, value);
          host.set(name, value);
        }
        at = fit.evaluate();
      }
      const auto last = fit.device().statistics();
      const std::uint64_t fluxes = n * (jones ? 4 * sizeof(Complex<double>) : 4 * sizeof(double));
      EXPECT_EQ(last.bytes_to_device - first.bytes_to_device,
                kIterations * (fluxes + (positions ? n * sizeof(psv::pipeline::DeviceSource) : 0)));
      EXPECT_EQ(last.bytes_to_host - first.bytes_to_host,
                kIterations * 8 * (2 + n * ((jones ? 8 : 4) + (positions ? 3 : 0))));
      EXPECT_EQ(last.bytes_in_use, first.bytes_in_use) << "nothing is left behind";
      EXPECT_LT(at.value->value.real()[0], chi_square);
      expect_equal(at, host.evaluate(), magnitudes(host, options.n_baseline), *host.built, 2e-12);
    }
}

TEST(PsvCompareDevice, ChangedDataGoUpOnce) {
  const SceneOptions options;
  Scene scene(options, "simulated"), host(options, "none");
  scene.evaluate();
  for (Scene* one : {&scene, &host}) {
    std::vector<Complex<double>> data(4 * kTimes * kChannels, {1, 2});
    one->built->set_state(one->built->find("data3"), {{"value", complex_array({2, 2, kTimes, kChannels}, data)}});
  }
  const auto scale = magnitudes(host, options.n_baseline);
  const auto before = scene.device().statistics().bytes_to_device;
  expect_equal(scene.evaluate(), host.evaluate(), scale, *host.built, 2e-12);
  const std::uint64_t n_row = options.n_baseline * kTimes;
  EXPECT_EQ(scene.device().statistics().bytes_to_device - before,
            n_row * (sizeof(psv::pipeline::DeviceRow) + 4 * kChannels * 3 * sizeof(double)));
}

TEST(PsvCompareDevice, ChangedStateOfTheModelIsSeen) {
  const SceneOptions options{.smearing = true};
  Scene scene(options, "simulated"), host(options, "none");
  const double with = scene.evaluate().value->value.real()[0];
  for (Scene* one : {&scene, &host})
    for (int b = 0; b < options.n_baseline; ++b)
      one->built->set_state(one->built->find("vis0_" + std::to_string(b)), {{"smear_frequency", false}});
  const auto scale = magnitudes(host, options.n_baseline);
  expect_equal(scene.evaluate(), host.evaluate(), scale, *host.built, 2e-12);
  EXPECT_NE(scene.evaluate().value->value.real()[0], with);
}

TEST(PsvCompareDevice, TheDataOfSeveralTimeSlotGroupsStay) {
  const SceneOptions options{.smearing = true};
  Scene scene(options, "simulated"), host(options, "none");
  const auto scale = magnitudes(host, options.n_baseline);
  const auto one = scene.forest.request.cells;
  const auto other = cells({6e9, 6e9 + 10, 6e9 + 20}, {1.00e9, 1.01e9, 1.02e9, 1.03e9, 1.05e9}, 12, 1e7);
  const auto evaluate_both = [&] {
    std::vector<ValueAndGradient> both;
    for (const auto& group : {one, other}) {
      scene.forest.request.cells = group;
      both.push_back(scene.evaluate());
    }
    return both;
  };
  evaluate_both();
  const auto before = scene.device().statistics();
  for (int k = 0; k < 5; ++k) {
    const auto both = evaluate_both();
    expect_equal(both[0], host.evaluate(), scale, *host.built, 2e-12);
    EXPECT_NE(both[0].value->value.real()[0], both[1].value->value.real()[0]);
  }
  EXPECT_EQ(scene.device().statistics().bytes_to_device, before.bytes_to_device);
}

TEST(PsvCompareDevice, RunsWithinAnyBudget) {
  const SceneOptions options{.n_source = 40, .n_baseline = 12, .shapes = true, .smearing = true, .n_term = 2};
  Scene host(options, "none");
  const ValueAndGradient expected = host.evaluate();
  const auto scale = magnitudes(host, options.n_baseline);
  int compared = 0;
  for (std::int64_t budget = 1 << 18; budget >= 1000; budget /= 2) {
    Scene device(options, "simulated", budget);
    expect_equal(device.evaluate(), expected, scale, *host.built, 2e-12);
    compared += device.was_compared();
    EXPECT_LE(device.evaluator->devices().front()->arrays().statistics().peak_bytes, std::uint64_t(budget));
    EXPECT_EQ(device.was_compared(), device.evaluator->warnings().list().empty());
  }
  EXPECT_GE(compared, 2);
  EXPECT_LT(compared, 8);
}

TEST(PsvCompareDevice, EveryAllocationMayFail) {
  const SceneOptions options{.spectra = true, .shapes = true, .smearing = true, .n_term = 2, .weights = true};
  Scene host(options, "none");
  const ValueAndGradient expected = host.evaluate();
  const auto scale = magnitudes(host, options.n_baseline);
  std::size_t n_allocation = 0;
  {
    Scene undisturbed(options, "simulated");
    undisturbed.evaluate();
    n_allocation = undisturbed.device().allocations_tried();
  }
  ASSERT_GT(n_allocation, 20u);
  for (std::size_t n = 1; n <= n_allocation; ++n)
    for (const std::size_t count : {1, 5, 1000000}) {
      Scene device(options, "simulated");
      device.device().fail_allocations(n, count);
      expect_equal(device.evaluate(), expected, scale, *host.built, 2e-12);
      device.device().fail_allocations(0, 0);
      expect_equal(device.evaluate(), expected, scale, *host.built, 2e-12);
    }
}

TEST(PsvCompareDevice, SeveralDevicesShareTheRows) {
  const SceneOptions options{.n_source = 2, .n_baseline = 3000, .polarised = false};
  Scene host(options, "none"), three(options, "simulated,simulated,simulated");
  const ValueAndGradient expected = host.evaluate();
  const auto scale = magnitudes(host, options.n_baseline);
  expect_equal(three.evaluate(), expected, scale, *host.built, 2e-12);
  EXPECT_TRUE(three.was_compared());
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_GT(three.device(i).statistics().bytes_to_device, 800u * 4 * kChannels * 3 * sizeof(double));
}

/// What is no such residual, or is looked at elsewhere, is evaluated as ever.
TEST(PsvCompareDevice, OtherTreesAreEvaluatedAsEver) {
  const auto compared = [](auto&& change) {
    std::vector<ValueAndGradient> found;
    bool was = false;
    for (const std::string device : {"none", "simulated"}) {
      TestForest tree;
      tree.request.cells = cells({5e9, 5e9 + 10}, {1.00e9, 1.01e9, 1.02e9});
      tree.constant("lmn", array({1, 3}, {0.01, 0.02, std::sqrt(1 - 5e-4)})).parm("I", 2.0);
      tree.constant("uvw", array({3}, {300.0, 200.0, 100.0}));
      tree.constant("data", complex_array({2, 2, 2, 3}, std::vector<Complex<double>>(24, {1, 2})), 2);
      change(tree);
      tree.node("device", "DeviceMemory", {}, {{"device", device}});
      const auto built = Forest::build(tree.specs(), registry());
      Evaluator evaluator(built, EvaluatorOptions{.threads = 1});
      found.push_back(evaluator.value_and_gradient(tree.request, built->find("chi2")));
      for (const std::string& note : evaluator.notes().list()) was |= note.find("chi-square") != std::string::npos;
    }
    expect_ok(found[0].value);
    expect_ok(found[1].value);
    const double value = found[0].value->value.real()[0];
    EXPECT_NEAR(found[1].value->value.real()[0], value, 1e-11 * value);
    for (const auto& [node, gradient] : found[0].gradient.by_node())
      EXPECT_NEAR(found[1].gradient.of(node)[0], gradient[0], 1e-10 * std::abs(gradient[0]));
    return was;
  };
  // (u, v, w) do not vary in time, data do: the model has fewer cells than the residual.
  EXPECT_FALSE(compared([](TestForest& tree) {
    tree.node("v", "PSV", {"lmn", "I", "uvw"}).node("r", "Condeq", {"data", "v"}).node("chi2", "ChiSquare", {"r"});
  }));
  const auto in_time = [](TestForest& tree) {
    tree.constant("uvw_t", array({3, 2, 1}, {300.0, 310, 200.0, 190, 100.0, 50}), 2);
  };
  EXPECT_TRUE(compared([&](TestForest& tree) {
    in_time(tree);
    tree.node("v", "PSV", {"lmn", "I", "uvw_t"}).node("r", "Condeq", {"data", "v"}).node("chi2", "ChiSquare", {"r"});
  }));
  // The model is wanted elsewhere too.
  EXPECT_FALSE(compared([&](TestForest& tree) {
    in_time(tree);
    tree.node("v", "PSV", {"lmn", "I", "uvw_t"}).node("r", "Condeq", {"data", "v"});
    tree.node("s", "Condeq", {"v", "data"}).node("chi2", "ChiSquare", {"r", "s"});
  }));
  // The flux varies in time.
  EXPECT_FALSE(compared([&](TestForest& tree) {
    in_time(tree);
    tree.node("t", "Constant", {}, {{"value", array({2, 1}, {1.0, 1.5})}, {"cells_rank", std::int64_t{2}}});
    tree.node("I_t", "Multiply", {"I", "t"}).node("v", "PSV", {"lmn", "I_t", "uvw_t"});
    tree.node("r", "Condeq", {"data", "v"}).node("chi2", "ChiSquare", {"r"});
  }));
  // Something between model and data.
  EXPECT_FALSE(compared([&](TestForest& tree) {
    in_time(tree);
    tree.parm("g", 1.1).node("v", "PSV", {"lmn", "I", "uvw_t"}).node("gv", "Multiply", {"g", "v"});
    tree.node("r", "Condeq", {"data", "gv"}).node("chi2", "ChiSquare", {"r"});
  }));
}

}  // namespace
}  // namespace rimetree::test
