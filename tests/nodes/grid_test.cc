// Grid: the centres of the cells along any axis, or their widths.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TEST(GridNode, GivesAnyAxis) {
  TestForest forest;
  std::array<AxisGrid, kAxes> axes;
  for (int i = 0; i < kAxes; ++i) axes[i] = {{1.0 + i, 2.0 + i}, {0.5 + i, 0.25 + i}};
  forest.request.cells = std::make_shared<const Cells>(axes);
  for (int i = 0; i < kAxes; ++i)
    for (const bool width : {false, true})
      forest.node((width ? "width" : "x") + std::to_string(i), "Grid", {},
                  {{"axis", std::string(kAxisNames[i])}, {"width", width}});
  for (int i = 0; i < kAxes; ++i) {
    const ResultPtr x = forest.evaluate("x" + std::to_string(i));
    ASSERT_EQ(x->value.cells().extent[i], 2);
    EXPECT_EQ(x->value.cells_per_element(), 2u);
    EXPECT_EQ(x->value.real()[0], 1.0 + i);
    EXPECT_EQ(x->value.real()[1], 2.0 + i);
    const ResultPtr width = forest.evaluate("width" + std::to_string(i));
    ASSERT_EQ(width->value.cells().extent[i], 2);
    EXPECT_EQ(width->value.real()[0], 0.5 + i);
    EXPECT_EQ(width->value.real()[1], 0.25 + i);
  }
}

TEST(GridNode, RefusesUnknownAxes) {
  EXPECT_THROW(TestForest().node("x", "Grid", {}, {{"axis", std::string("baseline")}}).evaluate("x"), ForestError);
}

}  // namespace
}  // namespace rimetree::test
