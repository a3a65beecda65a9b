// Plan: batches, what is kept, and memory.
#include "runtime/evaluate/plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/test_nodes.h"

namespace rimetree {
namespace {

using test::ForestUnderTest;

const std::map<std::string, StateValue> kDomain_{{"depends_on", std::vector<std::string>{"domain"}}};
const std::map<std::string, StateValue> kParameter_{{"depends_on", std::vector<std::string>{"parameter"}}};
constexpr std::uint64_t kNumber = sizeof(Complex<double>);

std::map<std::string, StateValue> shape(const std::vector<double>& extents) {
  return {{"shape", StateArray{{static_cast<std::int64_t>(extents.size())}, NumberType::real, extents}}};
}

TEST(Plan, NodesOfOneLevelClassStateAndShapeShareABatch) {
  ForestUnderTest under_test;
  under_test.node("a", "Leaf", {}, {{"value", 1.0}});
  under_test.node("b", "Leaf", {}, {{"value", 2.0}});  // per-node fields do not part
  under_test.node("d", "Leaf", {}, kDomain_);          // another state
  under_test.node("x", "Combine", {"a"});
  under_test.node("y", "Combine", {"b"});
  under_test.node("f", "Combine", {"b"}, {{"factor", 2.0}});  // another state
  under_test.node("w", "Whole", {"b"});                       // another class
  under_test.node("n", "Combine", {"a", "b"});                // another number of children
  under_test.node("z", "Combine", {"x"});                     // another level
  const auto forest = under_test.build();
  const Plan plan(*forest);
  const auto batch = [&](const std::string& name) { return plan.batch_of(forest->find(name)); };
  EXPECT_EQ(batch("a"), batch("b"));
  EXPECT_EQ(batch("x"), batch("y"));
  std::vector<int> different{batch("a"), batch("d"), batch("x"), batch("f"), batch("w"), batch("n"), batch("z")};
  std::sort(different.begin(), different.end());
  EXPECT_EQ(std::unique(different.begin(), different.end()), different.end());
  EXPECT_EQ(plan.batches().size(), 7u);
}

TEST(Plan, ChildrenOfOtherDimensionsPartABatch) {
  ForestUnderTest under_test;
  under_test.node("two", "Shaped", {}, shape({2}));
  under_test.node("three", "Shaped", {}, shape({3}));
  under_test.node("scalar", "Leaf");
  under_test.node("p", "Slots", {"two"});
  under_test.node("q", "Slots", {"three"});
  under_test.node("r", "Slots", {"two", "scalar"});
  under_test.node("s", "Slots", {"two"});
  const auto forest = under_test.build();
  const Plan plan(*forest);
  const auto batch = [&](const std::string& name) { return plan.batch_of(forest->find(name)); };
  EXPECT_EQ(batch("p"), batch("s"));
  EXPECT_NE(batch("p"), batch("q"));
  EXPECT_NE(batch("p"), batch("r")) << "an optional child given and not given";
}

TEST(Plan, BatchesComeAfterThoseOfTheirChildrenAndHoldEveryNodeOnce) {
  ForestUnderTest under_test;
  under_test.node("leaf", "Leaf");
  for (int level = 0; level < 4; ++level)
    for (int i = 0; i < 3; ++i) {
      const std::string below = level == 0 ? "leaf" : "n" + std::to_string(level - 1) + std::to_string(i);
      under_test.node("n" + std::to_string(level) + std::to_string(i), i == 0 ? "Whole" : "Combine", {below});
    }
  const auto forest = under_test.build();
  const Plan plan(*forest);
  std::vector<int> position(forest->size(), -1);
  int count = 0;
  for (std::size_t b = 0; b < plan.batches().size(); ++b)
    for (const int node : plan.batches()[b].nodes) {
      EXPECT_EQ(position[node], -1);
      EXPECT_EQ(plan.batch_of(node), static_cast<int>(b));
      EXPECT_EQ(plan.batches()[b].level, forest->level(node));
      position[node] = static_cast<int>(b);
      ++count;
    }
  EXPECT_EQ(count, static_cast<int>(forest->size()));
  for (int node = 0; node < count; ++node)
    for (const int child : forest->children(node)) EXPECT_LT(position[child], position[node]);
}

TEST(Plan, KeepsWhatAChangeAboveDoesNotTouch) {
  ForestUnderTest under_test;
  under_test.node("c", "Leaf");
  under_test.node("cc", "Combine", {"c"});
  under_test.node("d", "Leaf", {}, kDomain_);
  under_test.node("cd", "Combine", {"cc", "d"});
  under_test.node("p", "Leaf", {}, kParameter_);
  under_test.node("top", "Combine", {"cd", "p"});
  const auto forest = under_test.build();
  const Plan plan(*forest);
  const auto keeps = [&](const std::string& name) { return plan.keeps(forest->find(name)); };
  EXPECT_FALSE(keeps("c")) << "only cc needs it, and that depends on nothing more";
  EXPECT_TRUE(keeps("cc")) << "constant below something that is not";
  EXPECT_FALSE(keeps("d"));
  EXPECT_TRUE(keeps("cd")) << "stays when parameters change";
  EXPECT_TRUE(keeps("p")) << "cd may change without it";
  EXPECT_TRUE(keeps("top")) << "a root";
}

TEST(Plan, BytesFollowDimensionsAndAxes) {
  ForestUnderTest under_test;
  under_test.node("constant", "Leaf");
  under_test.node("domain", "Leaf", {}, kDomain_);
  under_test.node("above", "Slots", {"domain"});
  under_test.node("matrix", "Shaped", {}, shape({100, 2, 2}));
  const auto forest = under_test.build();
  const Plan plan(*forest);
  const CellShape cells{{5, 7, 1, 1}};
  EXPECT_EQ(plan.result_bytes(0, cells), kNumber);
  EXPECT_EQ(plan.result_bytes(1, cells), 35 * kNumber);
  EXPECT_EQ(plan.result_bytes(2, cells), 3 * 35 * kNumber) << "varies where its child does";
  EXPECT_EQ(plan.result_bytes(3, cells), 400 * kNumber);
}

TEST(Plan, BelowIsEverythingNeededInOrder) {
  ForestUnderTest under_test;
  under_test.node("a", "Leaf");
  under_test.node("b", "Leaf");
  under_test.node("x", "Combine", {"a"});
  under_test.node("y", "Combine", {"b"});
  under_test.node("top", "Combine", {"x", "a"});
  const auto forest = under_test.build();
  const Plan plan(*forest);
  EXPECT_EQ(plan.below(std::vector<int>{4}), (std::vector<int>{0, 2, 4}));
  EXPECT_EQ(plan.below(std::vector<int>{3, 2}), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_TRUE(plan.below({}).empty());
}

TEST(Plan, PeakCountsWhatIsAliveTogether) {
  ForestUnderTest under_test;
  under_test.node("d", "Leaf", {}, kDomain_);
  under_test.node("n1", "Combine", {"d"});
  under_test.node("n2", "Combine", {"n1"});
  under_test.node("n3", "Combine", {"n2"});
  const auto forest = under_test.build();
  const Plan plan(*forest);
  const CellShape cells{{10, 10, 1, 1}};
  EXPECT_EQ(plan.peak_bytes(std::vector<int>{3}, cells), 200 * kNumber) << "a chain holds two at a time";
  EXPECT_EQ(plan.peak_bytes(std::vector<int>{0}, cells), 100 * kNumber);
}

class Waves : public ::testing::Test {
 protected:
  void SetUp() override {
    under_test.node("shared", "Leaf");
    for (int i = 0; i < 20; ++i) {
      const std::string id = std::to_string(i);
      under_test.node("d" + id, "Leaf", {}, kDomain_);
      under_test.node("v" + id, "Combine", {"d" + id, "shared"});
      roots.push_back(2 * i + 2);
    }
    forest = under_test.build();
  }
  ForestUnderTest under_test;
  std::shared_ptr<Forest> forest;
  std::vector<int> roots;
  const CellShape cells{{10, 10, 1, 1}};
};

TEST_F(Waves, OneIfTheBudgetAllows) {
  const Plan plan(*forest);
  const auto waves = plan.waves(roots, cells, plan.peak_bytes(roots, cells));
  ASSERT_EQ(waves.size(), 1u);
  EXPECT_EQ(waves[0], roots);
  EXPECT_EQ(plan.waves(roots, cells, plan.peak_bytes(roots, cells) - 1).size(), 2u);
}

TEST_F(Waves, HoldEveryRootOnceInOrderAndHonourTheBudget) {
  const Plan plan(*forest);
  for (const std::uint64_t budget : {20000u, 10000u, 5000u, 3300u}) {
    std::vector<int> together;
    for (const auto& wave : plan.waves(roots, cells, budget)) {
      EXPECT_LE(plan.peak_bytes(wave, cells), budget);
      together.insert(together.end(), wave.begin(), wave.end());
    }
    EXPECT_EQ(together, roots);
  }
}

TEST_F(Waves, AreNoSmallPortionsWhereRootsShareMostOfWhatTheyNeed) {
  const Plan plan(*forest);
  const std::uint64_t all = plan.peak_bytes(roots, cells);
  EXPECT_GT(plan.portions(roots, cells, all, all / 4).size(), 1u) << "each has its own leaf";

  ForestUnderTest sharing;
  std::vector<std::string> leaves;
  for (int i = 0; i < 20; ++i) {
    leaves.push_back("s" + std::to_string(i));
    sharing.node(leaves.back(), "Leaf", {}, kDomain_);
  }
  std::vector<int> sharers;
  for (int i = 0; i < 4; ++i) {
    sharing.node("v" + std::to_string(i), "Combine", leaves);
    sharers.push_back(20 + i);
  }
  const auto forest_of_sharers = sharing.build();
  const Plan of_sharers(*forest_of_sharers);
  const std::uint64_t peak = of_sharers.peak_bytes(sharers, cells);
  EXPECT_EQ(of_sharers.portions(sharers, cells, peak, peak / 4).size(), 1u);
  EXPECT_GT(of_sharers.portions(sharers, cells, peak - 1, peak / 4).size(), 1u) << "the budget is kept";
}

TEST_F(Waves, OneRootEachWhereEvenThatIsTooMuch) {
  const Plan plan(*forest);
  const auto waves = plan.waves(roots, cells, 1);
  EXPECT_EQ(waves.size(), roots.size());
  EXPECT_TRUE(plan.waves({}, cells, 1).empty());
}

}  // namespace
}  // namespace rimetree
