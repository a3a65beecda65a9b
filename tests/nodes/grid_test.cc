// Grid: the centres of the cells along any axis.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TEST(GridNode, GivesAnyAxis) {
  TestForest forest;
  std::array<AxisGrid, kAxes> axes;
  for (int i = 0; i < kAxes; ++i) axes[i] = {{1.0 + i, 2.0 + i}, {1, 1}};
  forest.request.cells = std::make_shared<const Cells>(axes);
  for (int i = 0; i < kAxes; ++i)
    forest.node("x" + std::to_string(i), "Grid", {}, {{"axis", std::string(kAxisNames[i])}});
  for (int i = 0; i < kAxes; ++i) {
    const ResultPtr x = forest.evaluate("x" + std::to_string(i));
    ASSERT_EQ(x->value.cells().extent[i], 2);
    EXPECT_EQ(x->value.cells_per_element(), 2u);
    EXPECT_EQ(x->value.real()[0], 1.0 + i);
    EXPECT_EQ(x->value.real()[1], 2.0 + i);
  }
}

TEST(GridNode, RefusesUnknownAxes) {
  EXPECT_THROW(TestForest().node("x", "Grid", {}, {{"axis", std::string("baseline")}}).evaluate("x"), ForestError);
}

}  // namespace
}  // namespace rimetree::test
