// Interpolate against functions that are linear along each dimension, at entries, between and beyond them.
#include <cmath>

#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

/// Of a table [3,4,2]: (2 i - j + i j, 10 j).
double looked_up(std::vector<double> place, int which, const std::string& outside = "nan") {
  std::vector<double> table;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j) table.insert(table.end(), {2.0 * i - j + i * j, 10.0 * j});
  TestForest forest;
  forest.constant("table", array({3, 4, 2}, table)).constant("place", array({2}, place));
  const ResultPtr x = forest.node("x", "Interpolate", {"table", "place"}, {{"outside", outside}}).evaluate("x");
  expect_ok(x);
  return value_at(x->value, static_cast<std::size_t>(which)).re;
}

TEST(InterpolateNode, IsExactWhereTheTableIsLinearAlongEachDimension) {
  for (const auto& [i, j] : {std::pair(0.0, 0.0), {2.0, 3.0}, {1.0, 2.0}, {0.25, 2.5}, {1.9, 0.1}, {2.0, 2.75}}) {
    EXPECT_NEAR(looked_up({i, j}, 0), 2 * i - j + i * j, 1e-14) << i << " " << j;
    EXPECT_NEAR(looked_up({i, j}, 1), 10 * j, 1e-13) << i << " " << j;
  }
}

TEST(InterpolateNode, SaysWhatThereIsBeyondTheTable) {
  for (const std::vector<double>& place : {std::vector<double>{-0.001, 1}, {2.5, 1}, {1, -3}, {1, 3.0001}}) {
    EXPECT_TRUE(std::isnan(looked_up(place, 1)));
    EXPECT_EQ(looked_up(place, 1, "zero"), 0);
  }
  EXPECT_EQ(looked_up({-5, 1.5}, 1, "edge"), 15);
  EXPECT_EQ(looked_up({1, 99}, 0, "edge"), 2 * 1 - 3 + 1 * 3);
  for (const char* outside : {"nan", "zero", "edge"})
    EXPECT_TRUE(std::isnan(looked_up({std::nan(""), 1}, 0, outside))) << outside;
}

TEST(InterpolateNode, IsNotSpoiltByEntriesThatDoNotCount) {
  TestForest forest;
  forest.constant("table", array({3}, {1, std::nan(""), 5})).constant("place", array({3, 1}, {0, 2, 0.5}));
  const ResultPtr x = forest.node("x", "Interpolate", {"table", "place"}).evaluate("x");
  expect_ok(x);
  EXPECT_EQ(value_at(x->value, 0).re, 1);
  EXPECT_EQ(value_at(x->value, 1).re, 5);
  EXPECT_TRUE(std::isnan(value_at(x->value, 2).re));
}

TEST(InterpolateNode, TakesNoComplexPlaces) {
  TestForest forest;
  forest.constant("table", array({2}, {1, 2})).constant("place", complex_array({1}, {{0.5, 1}}));
  const ResultPtr x = forest.node("x", "Interpolate", {"table", "place"}).evaluate("x");
  ASSERT_EQ(x->failures.size(), 1u);
  EXPECT_EQ(x->failures[0].message, "child \"place\" must be real, but is complex");
}

TEST(InterpolateNode, TakesTablesOfOneEntry) {
  TestForest forest;
  forest.constant("table", array({1}, {7})).constant("place", array({2, 1}, {0, 0.1}));
  const ResultPtr x =
      forest.node("x", "Interpolate", {"table", "place"}, {{"outside", std::string("edge")}}).evaluate("x");
  expect_ok(x);
  EXPECT_EQ(value_at(x->value, 0).re, 7);
  EXPECT_EQ(value_at(x->value, 1).re, 7);
}

}  // namespace
}  // namespace rimetree::test
