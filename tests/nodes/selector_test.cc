// Selector: elements, slices and lists, with their flags.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TestForest cube() {
  TestForest forest;  // [2,2,3]: element [i,j,k] holds 100 i + 10 j + k
  forest.constant("cube", array({2, 2, 3}, {0, 1, 2, 10, 11, 12, 100, 101, 102, 110, 111, 112}));
  return forest;
}
std::vector<double> selected(StateValue index, bool multi = false) {
  TestForest forest = cube();
  const ResultPtr x = forest.node("x", "Selector", {"cube"}, {{"index", index}, {"multi", multi}}).evaluate("x");
  expect_ok(x);
  std::vector<double> values;
  for (std::size_t e = 0; e < x->value.dims().size(); ++e) values.push_back(value_at(x->value, e).re);
  return values;
}

TEST(SelectorNode, TakesElementsSlicesAndLists) {
  EXPECT_EQ(selected(array({3}, {1, 0, 2})), (std::vector<double>{102}));
  EXPECT_EQ(selected(array({3}, {1, -1, 2})), (std::vector<double>{102, 112}));
  EXPECT_EQ(selected(array({3}, {-1, 1, -1})), (std::vector<double>{10, 11, 12, 110, 111, 112}));
  EXPECT_EQ(selected(std::int64_t{4}), (std::vector<double>{11}));
  EXPECT_EQ(selected(array({3}, {11, 0, 4}), true), (std::vector<double>{112, 0, 11}));
}

TEST(SelectorNode, TakesRowsForTheFirstDimensions) {
  EXPECT_EQ(selected(array({1, 1}, {1})), (std::vector<double>{100, 101, 102, 110, 111, 112}));
  EXPECT_EQ(selected(array({1, 2}, {-1, 1})), (std::vector<double>{10, 11, 12, 110, 111, 112}));
  EXPECT_EQ(selected(array({1, 3}, {1, 0, 2})), (std::vector<double>{102}));
  EXPECT_EQ(selected(array({3, 3}, {1, 0, 2, 0, 0, 0, 0, 1, 1}), true), (std::vector<double>{102, 0, 11}));
  EXPECT_EQ(selected(array({2, 2}, {1, 0, 0, 1}), true), (std::vector<double>{100, 101, 102, 10, 11, 12}));
  EXPECT_EQ(selected(array({2, 3}, {1, -1, 2, 0, -1, 0}), true), (std::vector<double>{102, 112, 0, 10}));
}

TEST(SelectorNode, GivesTheDimensionsTakenWhole) {
  TestForest forest = cube();
  forest.node("slice", "Selector", {"cube"}, {{"index", array({3}, {-1, 1, -1})}});
  forest.node("element", "Selector", {"cube"}, {{"index", array({3}, {1, 1, 1})}});
  forest.node("row", "Selector", {"cube"}, {{"index", array({1, 1}, {1})}});
  forest.node("rows", "Selector", {"cube"}, {{"index", array({3, 2}, {1, -1, 0, -1, 1, -1})}, {"multi", true}});
  EXPECT_TRUE((forest.evaluate("slice")->value.dims() == TensorShape{2, 3}));
  EXPECT_TRUE((forest.evaluate("row")->value.dims() == TensorShape{2, 3}));
  EXPECT_TRUE((forest.evaluate("rows")->value.dims() == TensorShape{3, 2, 3}));
  EXPECT_TRUE(forest.evaluate("element")->value.dims().is_scalar());
}

TEST(SelectorNode, RefusesWhatIsNotThere) {
  for (const StateArray& index : {array({3}, {2, 0, 0}), array({2}, {0, 0}), array({3}, {0, 0, -2}),
                                  array({1, 4}, {0, 0, 0, 0}), array({2, 1}, {0, 1}), array({1, 1, 1}, {0})})
    EXPECT_THROW(cube().node("x", "Selector", {"cube"}, {{"index", index}}).evaluate("x"), ForestError);
}

TEST(SelectorNode, RefusesRowsThatTakeDifferentDimensionsWhole) {
  TestForest forest = cube();
  forest.node("x", "Selector", {"cube"}, {{"index", array({2, 2}, {0, -1, -1, 0})}, {"multi", true}});
  EXPECT_THROW(forest.evaluate("x"), ForestError);
}

TEST(SelectorNode, KeepsFlagsWithTheirElement) {
  TestForest forest;
  forest.constant("v", array({2}, {5, 6})).flagged("f", "v", array({2, 1, 1}, {0, 3}));
  forest.node("first", "Selector", {"f"}, {{"index", std::int64_t{0}}});
  forest.node("second", "Selector", {"f"}, {{"index", std::int64_t{1}}});
  EXPECT_EQ(flag_at(forest.evaluate("first")->flags, 0), 0);
  EXPECT_EQ(flag_at(forest.evaluate("second")->flags, 0), 3);
}

}  // namespace
}  // namespace rimetree::test
