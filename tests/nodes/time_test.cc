// Time: the centres of the cells, and what happens without them.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TEST(TimeNode, GivesCellCentres) {
  TestForest forest;
  forest.request.cells = cells({10, 20, 40}, {1e9, 2e9});
  const ResultPtr x = forest.node("x", "Time").evaluate("x");
  const std::vector<double> expected{10, 20, 40};
  ASSERT_EQ(x->value.cells()[Axis::time], static_cast<int>(expected.size()));
  ASSERT_EQ(x->value.cells_per_element(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(x->value.real()[i], expected[i]);
}

TEST(TimeNode, FailsWithoutTheAxis) {
  TestForest forest;
  forest.request.cells = std::make_shared<const Cells>(std::array<AxisGrid, kAxes>{});
  const ResultPtr x = forest.node("x", "Time").evaluate("x");
  ASSERT_EQ(x->status, Result::Status::failed);
  EXPECT_NE(x->failures[0].message.find("no time axis"), std::string::npos);
}

}  // namespace
}  // namespace rimetree::test
