// Chi-square and its gradient where the model is computed: forests on the devices that RIMETREE_DEVICE names, or on a
// simulated one, held to the same forests on the host; and what a fitting loop copies, byte by byte.
#include <cstdlib>
#include <random>

#include "memory/simulated_device.h"
#include "nodes/psv/device/job.h"
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

struct Options {
  int n_source = 5, n_baseline = 4;
  bool positions = true, fluxes = true;  ///< are unknowns
  bool polarised = true, spectra = false, shapes = false, smearing = false;
  bool jones = false;       ///< fixed terms, a matrix for each source and antenna
  int n_term = 1;           ///< sums that the model adds up
  bool fixed_term = false;  ///< and one without unknowns
  bool weights = false;     ///< of random size, some zero, some unsound
  bool flags = false;       ///< some rows are flagged, and NaN; one baseline has no data at all
  std::string objective = "ChiSquare";
};

constexpr int kTimes = 3, kChannels = 5;

/// A forest whose root is "chi2". The condition equations are r0, r1, ..
class Scene {
 public:
  Scene(const Options& options, const std::string& device, std::int64_t budget_bytes = 0) : options_(options) {
    forest.request.cells = cells({5e9, 5e9 + 10, 5e9 + 20}, {1.00e9, 1.01e9, 1.02e9, 1.03e9, 1.05e9}, 10, 1e7);
    forest.constant("zero", 0.0).constant("reference", 1.02e9);
    const int n_sum = options.n_term + (options.fixed_term ? 1 : 0);
    for (int k = 0; k < n_sum; ++k) sky(k, k < options.n_term);
    std::vector<std::string> residuals;
    for (int b = 0; b < options.n_baseline; ++b) residuals.push_back(baseline(std::to_string(b), n_sum));
    forest.node("chi2", options.objective, residuals);
    forest.node("device", "DeviceMemory", {}, {{"device", device}, {"budget_bytes", budget_bytes}});
    built = Forest::build(forest.specs(), registry());
    evaluator = std::make_unique<Evaluator>(built, EvaluatorOptions{.threads = 1});
  }
  ValueAndGradient evaluate() { return evaluator->value_and_gradient(forest.request, built->find("chi2")); }
  bool was_compared() const {
    for (const std::string& note : evaluator->notes().list())
      if (note.find("chi-square and its derivatives") != std::string::npos) return true;
    return false;
  }
  memory::SimulatedDevice& device(std::size_t i = 0) {
    return dynamic_cast<memory::SimulatedDevice&>(evaluator->devices()[i]->device());
  }
  void set(const std::string& parm, double value) { built->set_state(built->find(parm), {{"value", value}}); }

  TestForest forest;
  std::shared_ptr<Forest> built;
  std::unique_ptr<Evaluator> evaluator;
  std::vector<std::string> unknowns;
  std::map<std::string, double> value;  ///< of the unknowns at first

 private:
  double random(double centre, double spread) { return centre + spread * uniform_(engine_); }
  std::string number(const std::string& name, double value, bool unknown) {
    if (unknown) {
      forest.parm(name, value);
      unknowns.push_back(name);
      this->value[name] = value;
    } else {
      forest.constant(name, value);
    }
    return name;
  }

  void sky(int term, bool unknown) {
    TestForest::Children lmn, stokes, slopes, shapes;
    const std::string t = std::to_string(term);
    for (int s = 0; s < options_.n_source; ++s) {
      const std::string k = t + "_" + std::to_string(s);
      const bool moves = unknown && options_.positions, varies = unknown && options_.fluxes;
      const double l = random(0, 0.02), m = random(0, 0.02);
      lmn.insert(lmn.end(), {number("l" + k, l, moves), number("m" + k, m, moves),
                             number("n" + k, std::sqrt(1 - l * l - m * m), false)});
      stokes.push_back(number("I" + k, random(2, 0.5), varies));
      for (const std::string name : {"Q", "U", "V"})
        stokes.push_back(options_.polarised ? number(name + k, random(0, 0.5), varies) : "zero");
      slopes.push_back(number("slope" + k, random(-0.7, 0.2), varies && options_.spectra));
      for (const char* axis : {"major", "minor"})
        shapes.push_back(s % 2 ? number(axis + k, random(2e-5, 5e-6), varies && options_.shapes) : "zero");
      shapes.push_back(s % 2 ? number("angle" + k, random(0.5, 0.1), varies && options_.shapes) : "zero");
    }
    const auto dims = [&](double columns) {
      return TestForest::Fields{{"dims", array({2}, {double(options_.n_source), columns})}};
    };
    forest.node("lmn" + t, "Composer", lmn, dims(3)).node("stokes0_" + t, "Composer", stokes, dims(4));
    if (options_.spectra)
      forest.node("slopes" + t, "Composer", slopes, dims(1))
          .node("stokes" + t, "Spectrum", {"stokes0_" + t, "slopes" + t, "reference"});
    forest.node("B" + t, "Stokes", {(options_.spectra ? "stokes" : "stokes0_") + t});
    if (options_.shapes) forest.node("shape" + t, "Composer", shapes, dims(3));
    if (!options_.jones) return;
    for (const char* side : {"p", "q"}) {
      std::vector<Complex<double>> values;
      for (int i = 0; i < 4 * options_.n_source; ++i) values.push_back({random(0.5, 0.5), random(0, 0.5)});
      forest.constant(side + t, complex_array({options_.n_source, 2, 2}, values));
    }
  }

  std::string baseline(const std::string& b, int n_sum) {
    std::vector<double> uvw;
    for (int i = 0; i < (options_.smearing ? 6 : 3); ++i)
      for (int t = 0; t < kTimes; ++t) uvw.push_back(random(0, i < 3 ? 3000 : 0.2));
    if (options_.flags && b == "1") uvw[1] = std::nan("");
    std::vector<std::int64_t> shape{3, kTimes, 1};
    if (options_.smearing) shape.insert(shape.begin(), 2);
    forest.constant("uvw" + b, array(shape, uvw), 2);
    std::vector<Complex<double>> data;
    for (int i = 0; i < 4 * kTimes * kChannels; ++i) data.push_back({random(0, 3), random(0, 3)});
    if (options_.flags && b == "1") data[2] = {std::nan(""), 0};
    forest.constant("data" + b, complex_array({2, 2, kTimes, kChannels}, data), 2);
    std::string datum = "data" + b;
    if (options_.flags) {
      std::vector<double> bits(4 * kTimes * kChannels, 0);
      for (int e = 0; e < 4; ++e)
        for (int f = 0; f < kChannels; ++f) bits[(e * kTimes + 1) * kChannels + f] = b == "1" ? 1 : 0;
      bits[3] = 2;
      forest.flagged("flagged" + b, datum, array({4, kTimes, kChannels}, bits));
      datum = "flagged" + b;
      if (b == "2") {
        datum = "nothing";
        forest.node(datum, "TestMissing", {}, {{"dims", array({2}, {2, 2})}});
      }
    }
    TestForest::Children terms;
    for (int k = 0; k < n_sum; ++k) {
      const std::string t = std::to_string(k);
      TestForest::Children children{"lmn" + t, "B" + t, "uvw" + b, options_.shapes ? "shape" + t : ""};
      if (options_.jones) children.insert(children.end(), {"p" + t, "q" + t});
      terms.push_back("vis" + t + "_" + b);
      forest.node(terms.back(), "PSV", children);
    }
    std::string model = terms.front();
    if (n_sum > 1) {
      model = "sum" + b;
      forest.node(model, "Add", terms);
    }
    TestForest::Children equation{datum, model};
    if (options_.weights) {
      std::vector<double> weights;
      for (int i = 0; i < 4 * kTimes * kChannels; ++i) weights.push_back(random(1, 0.5));
      weights[0] = 0, weights[1] = -1, weights[7] = std::nan("");
      forest.constant("weight" + b, array({2, 2, kTimes, kChannels}, weights), 2);
      equation.push_back("weight" + b);
    }
    forest.node("r" + b, "Condeq", equation, {{"weight_factor", b == "0" ? 2.0 : 1.0}});
    return "r" + b;
  }

  Options options_;
  std::mt19937_64 engine_{11};
  std::uniform_real_distribution<double> uniform_{-1, 1};
};

/// The device that RIMETREE_DEVICE names, or a simulated one.
std::string chosen_device() {
  const char* named = std::getenv("RIMETREE_DEVICE");
  return named != nullptr && *named != 0 ? named : "simulated";
}

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

void check(const Options& options) {
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
  const Options options{.shapes = true, .smearing = true, .weights = true};
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
      const Options options{
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
                kIterations * (fluxes + (positions ? n * sizeof(psv::DeviceSource) : 0)));
      EXPECT_EQ(last.bytes_to_host - first.bytes_to_host,
                kIterations * 8 * (2 + n * ((jones ? 8 : 4) + (positions ? 3 : 0))));
      EXPECT_EQ(last.bytes_in_use, first.bytes_in_use) << "nothing is left behind";
      EXPECT_LT(at.value->value.real()[0], chi_square);
      expect_equal(at, host.evaluate(), magnitudes(host, options.n_baseline), *host.built, 2e-12);
    }
}

TEST(PsvCompareDevice, ChangedDataGoUpOnce) {
  const Options options;
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
            n_row * (sizeof(psv::DeviceRow) + 4 * kChannels * 3 * sizeof(double)));
}

TEST(PsvCompareDevice, TheDataOfSeveralTimeSlotGroupsStay) {
  const Options options{.smearing = true};
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
  const Options options{.n_source = 40, .n_baseline = 12, .shapes = true, .smearing = true, .n_term = 2};
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
  const Options options{.spectra = true, .shapes = true, .smearing = true, .n_term = 2, .weights = true};
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
  const Options options{.n_source = 2, .n_baseline = 3000, .polarised = false};
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
