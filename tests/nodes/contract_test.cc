// The contract that every node class keeps, checked on every class of the project's plugin and of
// others: broadcasting along axes of
// length 1, flags, failed and missing children, cells without axes, stacks of no sources, the same bits from any number
// of threads, and, in contract_derivatives_test.cc, derivatives and devices. Children are such as the class describes;
// tests/support/node_recipes.h has those that need more than that.
#include "tests/support/contract_fixture.h"

namespace rimetree::test {
namespace {

TEST_P(ContractTest, DescribesItself) {
  const NodeClass& node_class = registry().get(GetParam());
  EXPECT_FALSE(node_class.summary.empty());
  EXPECT_FALSE(node_class.result.empty());
  EXPECT_FALSE(node_class.reference.empty());
  for (const ChildSpec& spec : node_class.children) {
    EXPECT_FALSE(spec.label.empty());
    EXPECT_FALSE(spec.shape.empty()) << spec.label;
    EXPECT_FALSE(spec.doc.empty()) << spec.label;
  }
  for (const StateSpec& spec : node_class.state) EXPECT_FALSE(spec.doc.empty()) << spec.name;
}

TEST_P(ContractTest, BroadcastsAxesOfLengthOne) {
  if (recipe_.counts_cells) return;
  for (const auto& [in_time, in_frequency] : {std::pair(false, false), {true, false}, {false, true}}) {
    TestForest thin = forest(), full = forest();
    for (std::size_t slot = 0; slot < recipe_.children.size(); ++slot) {
      const StateValue value = values(slot, 2, in_time, in_frequency);
      thin.constant(child(slot), value, 2);
      full.constant(child(slot), on_all_cells(value), 2);
    }
    const ResultPtr a = thin.node("x", GetParam(), children(), recipe_.state).evaluate("x");
    const ResultPtr b = full.node("x", GetParam(), children(), recipe_.state).evaluate("x");
    expect_ok(a);
    expect_ok(b);
    // PSV chooses its method by what varies: there the two agree to rounding, for a flux of some Jy.
    expect_same(*a, *b, GetParam() == "PSV" ? 1e-12 : 0);
  }
}

TEST_P(ContractTest, LooksAtOtherCellsOnlyAlongTheAxesThatItSays) {
  constexpr std::size_t kTime = 1, kFrequency = 2, kCells = kTimes * kFrequencies;
  TestForest before = with_children(true, true);
  const ResultPtr a = before.node("x", GetParam(), children(), recipe_.state).evaluate("x");
  const AxisSet mixed = before.built->node(before.built->find("x")).traits().mixed_axes;
  for (std::size_t moved = 0; moved < recipe_.children.size(); ++moved) {
    TestForest after = forest();
    for (std::size_t slot = 0; slot < recipe_.children.size(); ++slot) {
      auto values_of = std::get<StateArray>(values(slot, 2, true, true));
      const auto others = std::get<StateArray>(child_values(slot + 50, recipe_.children[slot], 2, true, true));
      const std::size_t words = values_of.type == NumberType::complex ? 2 : 1;
      std::vector<double> numbers = values_of.data.vector();
      for (std::size_t i = 0; slot == moved && i < numbers.size(); ++i)
        if (i / words % kCells == kTime * kFrequencies + kFrequency) numbers[i] = others.data[i];
      values_of.data = numbers;
      after.constant(child(slot), values_of, 2);
    }
    const ResultPtr b = after.node("x", GetParam(), children(), recipe_.state).evaluate("x");
    expect_ok(b);
    for (std::size_t t = 0; t < kTimes; ++t)
      for (std::size_t f = 0; f < kFrequencies; ++f) {
        const bool in_time = t == kTime || (mixed & set_of(Axis::time)) != 0;
        if (in_time && (f == kFrequency || (mixed & set_of(Axis::frequency)) != 0)) continue;
        for (std::size_t e = 0; e < a->value.dims().size(); ++e)
          EXPECT_LE(abs(value_at(a->value, e, t, f) - value_at(b->value, e, t, f)), GetParam() == "PSV" ? 1e-12 : 0)
              << "child " << moved << " cell " << t << "," << f;
      }
  }
}

TEST_P(ContractTest, FlagsPropagate) {
  if (recipe_.flags == FlagRule::own) return;  // which the class's own test checks
  for (std::size_t slot = 0; slot < recipe_.children.size(); ++slot) {
    TestForest tree = with_children(true, true);
    tree.flagged("flagged", child(slot), array({1, 2, 3}, {0, 0, 0, 4, 0, 0}));
    TestForest::Children names = children();
    names[slot] = "flagged";
    const ResultPtr result = tree.node("x", GetParam(), names, recipe_.state).evaluate("x");
    expect_ok(result);
    std::int32_t at = 0, elsewhere = 0;
    for (std::size_t e = 0; e < std::max<std::size_t>(result->flags.planes(), 1); ++e) {
      at |= flag_at(result->flags, e, 1, 0);
      elsewhere |= flag_at(result->flags, e, 0, 0) | flag_at(result->flags, e, 1, 1);
    }
    EXPECT_EQ(at, 4) << "child " << slot;
    EXPECT_EQ(elsewhere, 0) << "child " << slot;
  }
}

TEST_P(ContractTest, FailedChildFails) {
  for (std::size_t slot = 0; slot < recipe_.children.size(); ++slot) {
    TestForest tree = with_children(false, false);
    tree.node("bad", "TestFailing", {}, {{"dims", dims_of(slot)}});
    TestForest::Children names = children();
    names[slot] = "bad";
    const ResultPtr result = tree.node("x", GetParam(), names, recipe_.state).evaluate("x");
    ASSERT_EQ(result->status, Result::Status::failed) << "child " << slot;
    ASSERT_EQ(result->failures.size(), 1u);
    EXPECT_EQ(result->failures[0].node, "bad");
    EXPECT_EQ(result->failures[0].message, "planted failure");
  }
}

TEST_P(ContractTest, MissingChildIsMissingOrLeftOut) {
  for (std::size_t slot = 0; slot < recipe_.children.size(); ++slot) {
    TestForest tree = with_children(false, false);
    tree.node("none", "TestMissing", {}, {{"dims", dims_of(slot)}});
    TestForest::Children names = children();
    names[slot] = "none";
    const ResultPtr result = tree.node("x", GetParam(), names, recipe_.state).evaluate("x");
    const bool skips = tree.built->node(tree.built->find("x")).traits().skips_missing;
    EXPECT_NE(result->status, Result::Status::failed) << "child " << slot;
    if (!skips) {
      EXPECT_EQ(result->status, Result::Status::missing) << "child " << slot;
    }
  }
}

TEST_P(ContractTest, CellsWithoutAxes) {
  TestForest tree = with_children(false, false);
  tree.request.cells = std::make_shared<const Cells>(std::array<AxisGrid, kAxes>{});
  tree.request.tile = nullptr;
  const ResultPtr result = tree.node("x", GetParam(), children(), recipe_.state).evaluate("x");
  ASSERT_NE(result->status, Result::Status::missing);
  if (result->ok()) {
    EXPECT_EQ(result->value.cells_per_element(), 1u);
  } else {
    const std::string& message = result->failures.at(0).message;
    EXPECT_TRUE(message.find("axis") != std::string::npos || message.find("Measurement Set") != std::string::npos)
        << message;
  }
}

TEST_P(ContractTest, StacksOfNoSources) {
  bool stacked = false;
  for (const ChildRecipe& child : recipe_.children)
    for (const auto extent : child.dims) stacked = stacked || extent < 0;
  if (!stacked) return;  // takes no stacks of sources
  TestForest tree = with_children(true, true, 0);
  expect_ok(tree.node("x", GetParam(), children(), recipe_.state).evaluate("x"));
}

TEST_P(ContractTest, SameBitsFromAnyNumberOfThreads) {
  ResultPtr results[2];
  for (const int threads : {1, 2}) {
    TestForest tree = with_children(true, true);
    TestForest::Children copies;
    for (int copy = 0; copy < 5; ++copy) {
      copies.push_back("x" + std::to_string(copy));
      tree.node(copies.back(), GetParam(), children(), recipe_.state);
    }
    tree.node("all", "Composer", copies);
    results[threads - 1] = tree.evaluate("all", threads);
    expect_ok(results[threads - 1]);
  }
  expect_same(*results[0], *results[1]);
}

INSTANTIATE_TEST_SUITE_P(AllClasses, ContractTest, testing::ValuesIn(all_classes()),
                         [](const auto& info) { return info.param; });

TEST(Contract, EveryRecipeIsOfAClass) {
  for (const auto& [name, recipe] : written_recipes()) EXPECT_NE(registry().find(name), nullptr) << name;
}

}  // namespace
}  // namespace rimetree::test
