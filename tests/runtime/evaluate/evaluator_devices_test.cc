// Trees of many nodes, evaluated node by node, on the device that RIMETREE_DEVICE names: what the host gives. And on a
// simulated one: every byte counted, every allocation failing.
#include <gtest/gtest.h>

#include "tests/runtime/evaluate/device_trial.h"
#include "tests/support/chosen_device.h"

namespace rimetree::test {
namespace {

TEST(EvaluatorDevices, ATreeOfManyNodesGivesWhatItGivesOnTheHost) {
  const ManyNodeTree tree{.n_baseline = 6, .n_source = 3, .n_time = 4, .n_channel = 5};
  for (const bool fuse : {false, true}) {
    SCOPED_TRACE(fuse ? "as one program" : "node by node");
    Trial host = Trial::of(tree, "none"), device = Trial::of(tree, chosen_device(), 0, fuse);
    for (const std::size_t tile : {0, 1}) {
      expect_as_on_the_host(*device.evaluator, device.evaluate(tree.cells(tile)), host.evaluate(tree.cells(tile)));
      for (const char* name : {"VisPhaseShift", "TFSmearFactor", "MatrixMultiply", "Add"}) {
        EXPECT_EQ(device.timing(name).on_devices, device.timing(name).evaluations) << name;
        const bool by_itself = !fuse || std::string(name) == "Add";
        EXPECT_EQ(device.timing(name).batches, by_itself ? tile + 1 : 0) << "one launch: " << name;
        EXPECT_EQ(host.timing(name).on_devices, 0u) << name;
      }
    }
    EXPECT_EQ(device.evaluator->notes().list().size(), 5u) << "these and Stokes";
    EXPECT_TRUE(host.evaluator->notes().list().empty());
  }
}

TEST(EvaluatorDevices, OverHundredsOfEvaluationsOnlyWhatHasChangedGoesUp) {
  const ManyNodeTree tree{.n_baseline = 5, .n_source = 3, .n_time = 4, .n_channel = 6};
  Trial run = Trial::of(tree, "simulated");
  run.evaluate(tree.cells(0));
  const DeviceReport before = run.report();
  const std::size_t result_bytes = tree.n_baseline * 4 * tree.n_time * tree.n_channel * sizeof(Complex<double>);
  EXPECT_EQ(before.bytes_to_host, result_bytes);
  constexpr std::size_t kTiles = 300;
  for (std::size_t tile = 1; tile <= kTiles; ++tile) run.evaluate(tree.cells(tile));
  const DeviceReport after = run.report();
  EXPECT_EQ(after.bytes_to_device - before.bytes_to_device, kTiles * 2 * tree.n_time * sizeof(double))
      << "centres and widths of the times, which smearing asks for";
  EXPECT_EQ(after.bytes_to_host - before.bytes_to_host, kTiles * result_bytes);
  EXPECT_EQ(after.arrays.evictions, 0u);
  EXPECT_EQ(after.arrays.resident_bytes, before.arrays.resident_bytes) << "nothing is left behind";

  // One baseline's coordinates change: those of all go up, as they go together; nothing else.
  StateArray uvw = run.forest->node(run.forest->find("uvw:1")).state().array("value");
  std::vector<double> moved = uvw.data.vector();
  moved[0] += 1;
  uvw.data = moved;
  run.forest->set_state(run.forest->find("uvw:1"), {{"value", uvw}});
  run.evaluate(tree.cells(kTiles + 1));
  EXPECT_EQ(run.report().bytes_to_device - after.bytes_to_device,
            (tree.n_baseline * 6 + 2) * tree.n_time * sizeof(double));
}

TEST(EvaluatorDevices, EveryAllocationMayFail) {
  const ManyNodeTree tree{.n_baseline = 3, .n_source = 2, .n_time = 2, .n_channel = 3};
  Trial host = Trial::of(tree, "none");
  const auto first = host.evaluate(tree.cells(0)), second = host.evaluate(tree.cells(1));
  std::size_t n_allocation = 0;
  {
    Trial run = Trial::of(tree, "simulated");
    run.evaluate(tree.cells(0));
    run.evaluate(tree.cells(1));
    n_allocation = run.device().allocations_tried();
  }
  ASSERT_GT(n_allocation, 20u);
  for (std::size_t n = 1; n <= n_allocation; ++n)
    for (const std::size_t count : {std::size_t{1}, std::size_t{2}, n_allocation}) {
      Trial run = Trial::of(tree, "simulated");
      run.device().fail_allocations(n, count);
      expect_same_numbers(run.evaluate(tree.cells(0)), first);
      expect_same_numbers(run.evaluate(tree.cells(1)), second);
    }
}

TEST(EvaluatorDevices, ABatchThatFindsNoRoomIsDoneByTheHostAndSaysSo) {
  const ManyNodeTree tree{.n_baseline = 3, .n_source = 2, .n_time = 2, .n_channel = 3};
  Trial host = Trial::of(tree, "none"), tiny = Trial::of(tree, "simulated", 600);
  expect_same_numbers(tiny.evaluate(tree.cells()), host.evaluate(tree.cells()));
  EXPECT_LE(tiny.report().arrays.peak_bytes, 600u);
  ASSERT_FALSE(tiny.evaluator->warnings().list().empty());
  EXPECT_NE(tiny.evaluator->warnings().list()[0].find("is evaluated on the host"), std::string::npos);
}

TEST(EvaluatorDevices, WhereRoomIsShortResultsAreSavedToTheHostAndBroughtBack) {
  // All of a level is alive before the next one begins; half of it fits.
  const ManyNodeTree tree{.n_baseline = 8, .n_source = 4, .n_time = 4, .n_channel = 8};
  Trial host = Trial::of(tree, "none"), roomy = Trial::of(tree, "simulated");
  const auto expected = host.evaluate(tree.cells());
  expect_same_numbers(roomy.evaluate(tree.cells()), expected);
  const std::size_t needed = roomy.report().arrays.peak_bytes;
  bool spilled = false;
  for (const std::size_t part : {9, 8, 7, 6, 5, 4, 3, 2, 1}) {
    Trial run = Trial::of(tree, "simulated", needed * part / 10);
    expect_same_numbers(run.evaluate(tree.cells()), expected);
    EXPECT_LE(run.report().arrays.peak_bytes, needed * part / 10);
    spilled = spilled || run.report().arrays.spills > 0;
  }
  EXPECT_TRUE(spilled);
}

/// root = host class (a + b), where a and b are large enough.
TestForest small_tree() {
  TestForest tree;
  tree.constant("a", array({2, 3}, {1, 2, 3, 4, 5, 6}), 2).constant("b", array({2, 3}, {6, 5, 4, 3, 2, 1}), 2);
  tree.node("sum", "Add", {"a", "b"}).node("product", "Multiply", {"sum", "a"});
  return tree;
}

TEST(EvaluatorDevices, SmallBatchesStayOnTheHostUnlessTheirInputsAreThere) {
  TestForest tree = small_tree();
  const auto placed = [&](PlacementRule rule, const std::string& class_name) {
    Trial run(tree.specs(), "simulated", {"product"}, rule);
    expect_ok(run.evaluate(tree.request.cells).front());
    return run.timing(class_name).on_devices;
  };
  EXPECT_EQ(placed({1, false}, "Add"), 1u);
  EXPECT_EQ(placed({6, false}, "Add"), 1u);
  EXPECT_EQ(placed({7, false}, "Add"), 0u) << "it has six values";
  EXPECT_EQ(placed({7, false}, "Multiply"), 0u);
  EXPECT_EQ(placed({6, true}, "Add"), 0u) << "what it gives is less than what it is given";
  tree.node("outer", "Add", {"sum", "row"}).constant("row", array({1, 3}, {1, 2, 3}), 2);
  EXPECT_EQ(placed({6, false}, "Multiply"), 1u);
}

TEST(EvaluatorDevices, WhatNoDeviceReadsIsNotMadeThere) {
  TestForest tree = small_tree();
  tree.node("zeros", "ZeroFlagger", {"product"});  // of which only the host knows how
  Trial run(tree.specs(), "simulated", {"zeros"});
  expect_ok(run.evaluate(tree.request.cells).front());
  EXPECT_EQ(run.timing("Add").on_devices, 1u);
  EXPECT_EQ(run.timing("Multiply").on_devices, 1u) << "its input is there";
  EXPECT_EQ(run.timing("ZeroFlagger").on_devices, 0u);
  EXPECT_EQ(run.report().bytes_to_host, 6 * sizeof(double)) << "only the product";
  TestForest direct = small_tree();
  direct.node("other", "Add", {"a", "b"}).node("zeros", "ZeroFlagger", {"other"});
  Trial other(direct.specs(), "simulated", {"zeros"});
  expect_ok(other.evaluate(direct.request.cells).front());
  EXPECT_EQ(other.timing("Add").on_devices, 0u);
}

TEST(EvaluatorDevices, SeveralHostConsumersShareOneCopy) {
  TestForest tree = small_tree();
  tree.node("z0", "ZeroFlagger", {"sum"}).node("z1", "ZeroFlagger", {"sum"}, {{"oper", std::string("NE")}});
  tree.node("same", "Identity", {"sum"});
  Trial run(tree.specs(), "simulated", {"z0", "z1", "product"});
  for (const ResultPtr& result : run.evaluate(tree.request.cells)) expect_ok(result);
  EXPECT_EQ(run.timing("Add").on_devices, 1u);
  EXPECT_EQ(run.report().bytes_to_host, 2 * 6 * sizeof(double)) << "the sum, and the product as it is a root";
  Trial passed_on(tree.specs(), "simulated", {"same"});
  expect_ok(passed_on.evaluate(tree.request.cells).front());
  EXPECT_EQ(passed_on.report().bytes_to_host, 6 * sizeof(double));
}

TEST(EvaluatorDevices, MissingChildrenLeaveHoles) {
  TestForest tree = small_tree();
  tree.node("none", "TestMissing", {}, {{"dims", array({0}, {})}});
  tree.node("left", "Add", {"sum", "none", "product"}).node("all", "Add", {"sum", "b", "product"});
  tree.node("both", "Composer", {"left", "all"});
  Trial host(tree.specs(), "none", {"both"}), run(tree.specs(), chosen_device(), {"both"});
  expect_as_on_the_host(*run.evaluator, run.evaluate(tree.request.cells), host.evaluate(tree.request.cells));
  EXPECT_EQ(run.timing("Add").on_devices, 3u);
}

TEST(EvaluatorDevices, RealAndComplexNodesOfABatchAreLaunchedByThemselves) {
  TestForest tree = small_tree();
  tree.constant("z", complex_array({1, 3}, {{1, 2}, {3, 4}, {5, 6}}), 2);
  tree.node("x0", "Multiply", {"sum", "z"}).node("x1", "Multiply", {"sum", "b"}).node("x2", "Multiply", {"z", "z"});
  tree.node("both", "Composer", {"x0", "x1", "x2"});
  Trial host(tree.specs(), "none", {"both"}), run(tree.specs(), chosen_device(), {"both"});
  expect_as_on_the_host(*run.evaluator, run.evaluate(tree.request.cells), host.evaluate(tree.request.cells));
}

TEST(EvaluatorDevices, ManyArraysOfOneJob) {
  // Each result is a block of its own, as it is evaluated by itself; all go into one sum.
  TestForest tree = small_tree();
  TestForest::Children terms;
  std::vector<std::string> names;
  for (int i = 0; i < 2 * CellJob::kFewArrays; ++i) {
    names.push_back("term" + std::to_string(i));
    tree.parm("p" + std::to_string(i), i).node(names.back(), "Multiply", {"a", "p" + std::to_string(i)});
  }
  tree.node("all", "Add", names);
  Trial host(tree.specs(), "none", {"all"}), run(tree.specs(), chosen_device(), {"all"});
  host.request.cells = run.request.cells = tree.request.cells;
  for (const std::string& name : names) run.evaluator->evaluate(run.request, std::vector<int>{run.forest->find(name)});
  expect_as_on_the_host(*run.evaluator, run.evaluate(tree.request.cells), host.evaluate(tree.request.cells));
}

/// Residuals of three baselines of three antennas whose gains are unknown: real g0, g1 and a complex one made of g2 and
/// h2, each of the form c + d f with the coefficients c and d.
struct GainTree {
  static constexpr int kTimes = 2, kChannels = 3;

  GainTree() {
    for (const char* parm : {"g0", "g1", "g2", "h2"})
      tree.node(parm, "Parm", {}, {{"value", line(0)}, {"freq_scale_hz", 1e9}, {"solvable", true}});
    tree.node("z2", "ToComplex", {"g2", "h2"});
    const std::pair<const char*, const char*> baselines[] = {{"g0", "g1"}, {"g0", "z2"}, {"g1", "z2"}};
    for (const auto& [p, q] : baselines) {
      const std::string own = std::to_string(roots.size());
      const int seed = 1 + static_cast<int>(roots.size());
      tree.constant("m" + own, matrix(seed), 2).constant("d" + own, matrix(seed + 10), 2);
      tree.node("v" + own, "MatrixMultiply", {p, "m" + own, q});
      tree.node("r" + own, "Condeq", {"data=d" + own, "model=v" + own}, {{"weight_factor", 0.5 + seed}});
      roots.push_back("r" + own);
    }
  }
  static StateValue line(double shift) { return array({1, 2}, {1.5 + shift, 0.25}); }
  /// [2,2] on all cells.
  static StateValue matrix(int seed) {
    std::vector<double> values;
    for (int i = 0; i < 2 * 4 * kTimes * kChannels; ++i) values.push_back(std::sin(1.0 + i * seed));
    return StateArray{{2, 2, kTimes, kChannels}, NumberType::complex, values};
  }
  Trial trial(const std::string& device, std::size_t budget_bytes = 0) const {
    Trial trial(tree.specs(), device, roots, kAlways, budget_bytes);
    trial.request.derivatives = true;
    return trial;
  }
  std::vector<ResultPtr> evaluate(Trial& trial) const { return trial.evaluate(tree.request.cells); }

  TestForest tree;
  std::vector<std::string> roots;
};

TEST(EvaluatorDevices, DerivativesStayOnTheDeviceAndAreThoseOfTheHost) {
  const GainTree gains;
  Trial host = gains.trial("none"), run = gains.trial(chosen_device());
  const auto expected = gains.evaluate(host), got = gains.evaluate(run);
  expect_as_on_the_host(*run.evaluator, got, expected);
  for (const ResultPtr& residual : got) {
    EXPECT_EQ(residual->derivatives.size(), residual == got[0] ? 4u : 6u) << "of the unknowns of two antennas only";
    for (const Derivative& derivative : residual->derivatives)
      EXPECT_EQ(&derivative.value.device()->block(), &residual->value.device()->block());
  }
  for (const char* name : {"ToComplex", "MatrixMultiply", "Condeq"}) {
    EXPECT_EQ(run.timing(name).on_devices, run.timing(name).evaluations) << name;
    EXPECT_EQ(run.timing(name).batches, name == std::string("ToComplex") ? 1u : 2u) << name << ", of two levels";
  }
  const std::size_t n = 4 * GainTree::kTimes * GainTree::kChannels;
  EXPECT_EQ(run.report().bytes_to_host, (3 + 4 + 6 + 6) * n * sizeof(Complex<double>)) << "of the residuals only";
}

TEST(EvaluatorDevices, InAFitOnlyTheUnknownsGoUp) {
  const GainTree gains;
  Trial host = gains.trial("none"), run = gains.trial("simulated");
  const auto step_to = [&](double shift) {
    for (Trial* trial : {&host, &run})
      trial->forest->set_state(trial->forest->find("g1"), {{"value", GainTree::line(shift)}});
    expect_same_numbers(gains.evaluate(run), gains.evaluate(host));
  };
  gains.evaluate(run);
  step_to(1);  // from here on the same nodes are evaluated each time
  const DeviceReport before = run.report();
  constexpr int kSteps = 50;
  for (int step = 1; step <= kSteps; ++step) step_to(0.01 * step);
  EXPECT_EQ(run.report().bytes_to_device - before.bytes_to_device, kSteps * 3 * 4 * sizeof(double))
      << "g0 and g1 for one batch, g1 for the other, at three channels, aligned; derivatives are what they were";
  EXPECT_EQ(run.report().arrays.resident_bytes, before.arrays.resident_bytes) << "nothing is left behind";
}

TEST(EvaluatorDevices, EveryAllocationMayFailWithDerivatives) {
  const GainTree gains;
  Trial host = gains.trial("none"), all = gains.trial("simulated");
  const auto expected = gains.evaluate(host);
  gains.evaluate(all);
  const std::size_t n_allocation = all.device().allocations_tried();
  ASSERT_GT(n_allocation, 10u);
  bool any_on_host = false;
  for (std::size_t n = 1; n <= n_allocation; ++n)
    for (const std::size_t count : {std::size_t{1}, std::size_t{2}, n_allocation}) {
      Trial run = gains.trial("simulated");
      run.device().fail_allocations(n, count);
      expect_same_numbers(gains.evaluate(run), expected);
      any_on_host = any_on_host || !run.evaluator->warnings().list().empty();
    }
  EXPECT_TRUE(any_on_host);
  const std::size_t needed = all.report().arrays.peak_bytes;
  for (const std::size_t part : {9, 7, 5, 3, 1}) {
    Trial run = gains.trial("simulated", needed * part / 10);
    expect_same_numbers(gains.evaluate(run), expected);
    EXPECT_LE(run.report().arrays.peak_bytes, needed * part / 10);
  }
}

TEST(EvaluatorDevices, NodesWithAndWithoutDerivativesOfABatch) {
  TestForest tree = small_tree();
  tree.parm("p", 2).node("x0", "Multiply", {"product", "p"}).node("x1", "Multiply", {"product", "b"});
  tree.node("both", "Composer", {"x0", "x1"});
  Trial host(tree.specs(), "none", {"both"}), run(tree.specs(), "simulated", {"both"});
  host.request.derivatives = run.request.derivatives = true;
  const auto expected = host.evaluate(tree.request.cells), got = run.evaluate(tree.request.cells);
  expect_same_numbers(got, expected);
  ASSERT_EQ(got[0]->derivatives.size(), 1u);
  EXPECT_EQ(run.timing("Multiply").on_devices, 3u);
}

TEST(EvaluatorDevices, DerivativesCountForWhatALaunchIsWorth) {
  TestForest tree = small_tree();
  tree.parm("p", 2).node("scaled", "Multiply", {"a", "p"});
  const auto placed = [&](std::size_t least_values, bool derivatives) {
    Trial run(tree.specs(), "simulated", {"scaled"}, {least_values, false});
    run.request.derivatives = derivatives;
    expect_ok(run.evaluate(tree.request.cells).front());
    return run.timing("Multiply").on_devices;
  };
  EXPECT_EQ(placed(6, false), 1u);
  EXPECT_EQ(placed(12, false), 0u);
  EXPECT_EQ(placed(12, true), 1u);
  EXPECT_EQ(placed(13, true), 0u);
}

TEST(EvaluatorDevices, TheGradientIsTheHosts) {
  TestForest tree = small_tree();
  tree.parm("p", 2).node("scaled", "Multiply", {"product", "p"});
  tree.node("residual", "Condeq", {"data=a", "model=scaled"}).node("chi", "ChiSquare", {"residual"});
  Trial host(tree.specs(), "none", {"chi"}), run(tree.specs(), "simulated", {"chi"});
  host.request.cells = run.request.cells = tree.request.cells;
  auto expected = host.evaluator->value_and_gradient(host.request, host.roots[0]);
  auto got = run.evaluator->value_and_gradient(run.request, run.roots[0]);
  expect_same_numbers({got.value}, {expected.value});
  const int p = run.forest->find("p");
  ASSERT_EQ(got.gradient.of(p).size(), 1u);
  EXPECT_EQ(got.gradient.of(p)[0], expected.gradient.of(p)[0]);
  EXPECT_EQ(run.timing("Add").on_devices, 1u);
}

TEST(EvaluatorDevices, ResultsOutliveTheEvaluator) {
  TestForest tree = small_tree();
  ResultPtr result;
  {
    Trial run(tree.specs(), "simulated", {"product"});
    result = run.evaluate(tree.request.cells).front();
  }
  ASSERT_NE(result->value.device(), nullptr);
  EXPECT_EQ(result->value.real()[5], 42);
  EXPECT_TRUE(result->value.device()->block().on_device());
}

TEST(EvaluatorDevices, ForgettingLetsGoOfEverything) {
  const ManyNodeTree tree{.n_baseline = 2, .n_source = 2, .n_time = 2, .n_channel = 3};
  Trial run = Trial::of(tree, "simulated");
  run.evaluate(tree.cells());
  EXPECT_GT(run.report().arrays.resident_bytes, 0u);
  run.evaluator->forget();
  EXPECT_EQ(run.report().arrays.resident_bytes, 0u);
  run.evaluate(tree.cells());
}

}  // namespace
}  // namespace rimetree::test
