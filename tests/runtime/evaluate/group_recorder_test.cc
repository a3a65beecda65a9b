// What a group of nodes writes: as a whole, or item by item.
#include "runtime/evaluate/group_recorder.h"

#include <gtest/gtest.h>

#include "tests/support/forest_fixture.h"

namespace rimetree {
namespace {

using test::array, test::TestForest;

/// The outputs of sin(x) + x as a group, where x has so many entries.
std::vector<program::Output> outputs_of(std::int64_t entries, std::size_t n_item) {
  TestForest tree;
  tree.constant("x", array({entries}, std::vector<double>(static_cast<std::size_t>(entries), 0.5)));
  tree.node("sine", "Sin", {"x"}).node("sum", "Add", {"sine", "x"});
  const auto forest = Forest::build(tree.specs(), test::registry());
  Evaluator evaluator(forest, {.device = {"none", 0}});
  const ResultPtr x = evaluator.evaluate(tree.request, std::vector<int>{forest->find("x")})[0];
  FusedGroup group;
  group.members = {forest->find("sine"), forest->find("sum")};
  group.leaves = {forest->find("x")};
  group.links = {0, ~0, 0};
  group.n_item = n_item;
  const Result* const results[] = {x.get()};
  return GroupRecorder(*forest, group, results).record_outputs();
}

// A stride along items would have a program take cells and items for axes along which its outcome varies.
TEST(GroupRecorder, NodesAsAWholeHaveNoStrideOfItems) {
  const auto outputs = outputs_of(3, 1);
  ASSERT_EQ(outputs.size(), 3u);
  for (std::size_t e = 0; e < 3; ++e) {
    EXPECT_EQ(outputs[e].element, static_cast<std::int32_t>(e));
    EXPECT_EQ(outputs[e].item_stride, 0);
  }
}

TEST(GroupRecorder, OfStacksOneItemIsRecorded) {
  const auto outputs = outputs_of(12, 12);
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].item_stride, 1);
}

}  // namespace
}  // namespace rimetree
