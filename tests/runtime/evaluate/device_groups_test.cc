// Chains of nodes as one program on a device: what single nodes give, without memory in between.
#include <gtest/gtest.h>

#include "tests/runtime/evaluate/device_trial.h"
#include "tests/support/chosen_device.h"
#include "tests/support/random_rime.h"

namespace rimetree::test {
namespace {

TEST(DeviceGroups, WhatIsInBetweenTakesNoMemoryThere) {
  const ManyNodeTree tree{.n_baseline = 6, .n_source = 8, .n_time = 8, .n_channel = 16};
  Trial fused = Trial::of(tree, "simulated"), one_by_one = Trial::of(tree, "simulated", 0, false);
  fused.evaluate(tree.cells());
  one_by_one.evaluate(tree.cells());
  const std::size_t plane = tree.n_time * tree.n_channel * sizeof(Complex<double>);
  const std::size_t results = tree.n_baseline * 4 * plane;
  EXPECT_GT(one_by_one.report().arrays.peak_bytes, results + tree.n_baseline * tree.n_source * plane) << "phases";
  EXPECT_LT(fused.report().arrays.peak_bytes, 2 * results);
  EXPECT_EQ(fused.report().bytes_to_host, one_by_one.report().bytes_to_host);
}

/// Long sums are programs whose operations do not go along with the launch.
TEST(DeviceGroups, LongProgramsGoUpOnce) {
  const ManyNodeTree tree{.n_baseline = 2, .n_source = 40, .n_time = 3, .n_channel = 4};
  Trial host = Trial::of(tree, "none"), device = Trial::of(tree, "simulated");
  expect_as_on_the_host(*device.evaluator, device.evaluate(tree.cells(0)), host.evaluate(tree.cells(0)));
  const DeviceReport before = device.report();
  expect_as_on_the_host(*device.evaluator, device.evaluate(tree.cells(1)), host.evaluate(tree.cells(1)));
  EXPECT_EQ(device.report().bytes_to_device - before.bytes_to_device, 2 * tree.n_time * sizeof(double))
      << "centres and widths of the times";
}

/// flagged = |data|^2 and more, of data that ZeroFlagger flags; what is flagged stays so, element by element.
TEST(DeviceGroups, FlagsAreThoseOfTheNodesOneByOne) {
  TestForest tree;
  tree.constant("a", array({2, 2, 3}, {1, 0, 3, 4, 5, 6, 0, 8, 9, 10, 11, 12}), 2);
  tree.node("flagged", "ZeroFlagger", {"a"}).node("square", "Multiply", {"flagged", "flagged"});
  tree.node("chain", "Add", {"square", "a"}).node("last", "Sqrt", {"chain"});
  Trial host(tree.specs(), "none", {"last"}), device(tree.specs(), chosen_device(), {"last"});
  const auto expected = host.evaluate(tree.request.cells), got = device.evaluate(tree.request.cells);
  expect_same_numbers(got, expected);
  EXPECT_FALSE(got.front()->flags.empty());
  EXPECT_EQ(device.timing("Sqrt").on_devices, 1u);
  EXPECT_EQ(device.timing("Add").on_devices, 1u);
}

/// Where a part has a consumer elsewhere it is a node by itself, on the device like the programs that read it.
TEST(DeviceGroups, WhatIsSharedIsMadeOnce) {
  TestForest tree;
  tree.constant("a", array({2, 3}, {1, 2, 3, 4, 5, 6}), 2);
  tree.node("shared", "Sin", {"a"}).node("x", "Cos", {"shared"}).node("y", "Exp", {"shared"});
  tree.node("sum", "Add", {"x", "y"}).node("elsewhere", "Negate", {"shared"});
  const std::vector<std::string> roots{"sum", "elsewhere"};
  Trial host(tree.specs(), "none", roots), device(tree.specs(), "simulated", roots);
  expect_same_numbers(device.evaluate(tree.request.cells), host.evaluate(tree.request.cells));
  EXPECT_EQ(device.timing("Sin").batches, 1u);
  EXPECT_EQ(device.timing("Sin").on_devices, 1u);
  EXPECT_EQ(device.timing("Cos").batches, 0u);
  EXPECT_EQ(device.report().bytes_to_host, 2 * 6 * sizeof(double));
}

/// Where all of its consumers are in one group it is in their program.
TEST(DeviceGroups, WhatIsSharedWithinAGroupIsInItsProgram) {
  TestForest tree;
  tree.constant("a", array({2, 3}, {1, 2, 3, 4, 5, 6}), 2);
  tree.node("shared", "Sin", {"a"}).node("x", "Cos", {"shared"}).node("y", "Exp", {"shared"});
  tree.node("sum", "Add", {"x", "y"});
  Trial host(tree.specs(), "none", {"sum"}), device(tree.specs(), "simulated", {"sum"});
  expect_same_numbers(device.evaluate(tree.request.cells), host.evaluate(tree.request.cells));
  EXPECT_EQ(device.timing("Sin").batches, 0u);
  EXPECT_EQ(device.timing("Sin").on_devices, 1u);
  EXPECT_EQ(device.report().bytes_to_host, 6 * sizeof(double));
}

/// Stacks are one program for all of their entries.
TEST(DeviceGroups, StacksAreMappedOver) {
  TestForest tree;
  std::vector<double> numbers, matrices;
  for (int i = 0; i < 20 * 3; ++i) numbers.push_back(0.1 * i - 1);
  for (int i = 0; i < 20 * 4; ++i) matrices.push_back(2 - 0.01 * i);
  tree.constant("a", array({20, 3}, numbers), 1).constant("m", array({20, 2, 2}, matrices));
  tree.node("sine", "Sin", {"a"}).node("terms", "MatrixMultiply", {"sine", "m"}).node("end", "Add", {"terms", "m"});
  tree.request.cells = cells({1, 2, 3}, {1e9});
  Trial host(tree.specs(), "none", {"end"}), device(tree.specs(), chosen_device(), {"end"});
  expect_same_numbers(device.evaluate(tree.request.cells), host.evaluate(tree.request.cells));
  EXPECT_EQ(device.timing("Sin").batches, 0u);
  EXPECT_EQ(device.timing("Sin").on_devices, 1u);
}

/// Large products of matrices and Selectors of many indices are programs like any other.
TEST(DeviceGroups, LargeMatricesAndManyIndicesRunThere) {
  TestForest tree;
  std::vector<double> numbers;
  for (int i = 0; i < 36; ++i) numbers.push_back(0.1 * i - 1);
  StateArray index = array({12}, {35, 0, 34, 1, 33, 2, 32, 3, 31, 4, 30, 5});
  tree.constant("m", array({6, 6}, numbers));
  tree.constant("t", array({2}, {1, 2}), 1).node("scaled", "Multiply", {"m", "t"});
  tree.node("product", "MatrixMultiply", {"scaled", "m"});
  tree.node("chosen", "Selector", {"product"}, {{"index", index}, {"multi", true}});
  Trial host(tree.specs(), "none", {"chosen"}), device(tree.specs(), chosen_device(), {"chosen"});
  expect_same_numbers(device.evaluate(tree.request.cells), host.evaluate(tree.request.cells));
  EXPECT_EQ(device.timing("Selector").on_devices, 1u);
  EXPECT_EQ(device.timing("MatrixMultiply").on_devices, 1u);
}

/// Chains of unknowns, also of stacks: values and derivatives are made without those of the nodes in between.
TEST(DeviceGroups, DerivativesTakeNoMemoryInBetween) {
  TestForest tree;
  std::vector<double> numbers;
  for (int i = 0; i < 20 * 12; ++i) numbers.push_back(0.02 * i - 1);
  tree.constant("a", array({20, 4, 3}, numbers), 2).parm("p", 0.5).parm("q", 2).parm("r", 3);
  tree.node("pa", "Multiply", {"p", "a"}).node("sine", "Sin", {"pa"}).node("z", "ToComplex", {"sine", "q"});
  tree.node("product", "Multiply", {"z", "pa"}).node("end", "Exp", {"product"});
  tree.request.cells = cells({1, 2, 3, 4}, {1e9, 1.1e9, 1.2e9});
  Trial host(tree.specs(), "none", {"end", "r"}), device(tree.specs(), chosen_device(), {"end", "r"}),
      one_by_one(tree.specs(), "simulated", {"end", "r"}, kAlways, 0, false);
  for (Trial* trial : {&host, &device, &one_by_one}) trial->request.derivatives = true;
  const auto got = device.evaluate(tree.request.cells);
  expect_same_numbers(got, host.evaluate(tree.request.cells));
  expect_same_numbers(got, one_by_one.evaluate(tree.request.cells));
  EXPECT_EQ(got.front()->derivatives.size(), 2u);
  for (const char* name : {"Sin", "ToComplex"}) {
    EXPECT_EQ(device.timing(name).batches, 0u) << name;
    EXPECT_EQ(device.timing(name).on_devices, 1u) << name;
  }
  EXPECT_LT(device.report().arrays.peak_bytes, one_by_one.report().arrays.peak_bytes * 2 / 3);
  EXPECT_EQ(device.report().bytes_to_host, one_by_one.report().bytes_to_host);
}

class RandomDeviceGroups : public ::testing::TestWithParam<std::tuple<Trouble, bool>> {};

INSTANTIATE_TEST_SUITE_P(Troubles, RandomDeviceGroups,
                         ::testing::Combine(::testing::Values(Trouble::none, Trouble::flagged,
                                                              Trouble::flagged_by_element, Trouble::missing,
                                                              Trouble::failing),
                                            ::testing::Bool()));

/// Groups of one batch may differ in all but class and state of their roots.
TEST_P(RandomDeviceGroups, GiveWhatTheHostGives) {
  const auto [trouble, derivatives] = GetParam();
  std::size_t n_derivative = 0;
  for (unsigned seed = 500; seed < 510; ++seed) {
    const RandomRime rime(seed, trouble);
    Trial host(rime.tree.specs(), "none", rime.roots), device(rime.tree.specs(), chosen_device(), rime.roots);
    host.request = device.request = rime.tree.request;
    host.request.derivatives = device.request.derivatives = derivatives;
    const auto got = device.evaluate(rime.tree.request.cells), expected = host.evaluate(rime.tree.request.cells);
    for (std::size_t i = 0; i < got.size(); ++i) {
      SCOPED_TRACE("seed " + std::to_string(seed) + " " + rime.roots[i]);
      expect_alike(*got[i], *expected[i], expect_close);
      n_derivative += got[i]->derivatives.size();
    }
    if (HasFailure()) return;
  }
  EXPECT_EQ(n_derivative > 0, derivatives);
}

}  // namespace
}  // namespace rimetree::test
