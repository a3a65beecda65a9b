// GaussNoise: moments and independence of the numbers, and that they do not depend on how cells are grouped.
#include <algorithm>

#include "tests/support/forest_fixture.h"
#include "tests/support/small_tile.h"

namespace rimetree::test {
namespace {

std::vector<double> range(double start, double step, int n) {
  std::vector<double> values;
  for (int i = 0; i < n; ++i) values.push_back(start + step * i);
  return values;
}
ResultPtr noise(const std::string& name, const std::vector<double>& time_s, const std::vector<double>& frequency_hz,
                const TestForest::Fields& state = {}) {
  TestForest forest;
  forest.request.cells = cells(time_s, frequency_hz);
  const ResultPtr x = forest.node(name, "GaussNoise", {}, state).evaluate(name);
  expect_ok(x);
  return x;
}

TEST(GaussNoiseNode, HasTheMomentsOfNormalDeviates) {
  const ResultPtr x = noise("n", range(5e9, 10, 200), range(1e9, 1e5, 200), {{"mean", 3.0}, {"stddev", 2.0}});
  const int n = 40000;
  double sum = 0, square = 0, within = 0, neighbours = 0;
  for (int i = 0; i < n; ++i) {
    const double z = (x->value.real()[i] - 3) / 2;
    sum += z;
    square += z * z;
    within += std::abs(z) < 1;
    if (i > 0) neighbours += z * (x->value.real()[i - 1] - 3) / 2;
  }
  // Five standard deviations of each estimate.
  EXPECT_NEAR(sum / n, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(square / n, 1, 5 * std::sqrt(2.0 / n));
  EXPECT_NEAR(within / n, 0.6826894921370859, 5 * std::sqrt(0.2166 / n));
  EXPECT_NEAR(neighbours / n, 0, 5 / std::sqrt(n));
}

TEST(GaussNoiseNode, DoesNotDependOnHowCellsAreGrouped) {
  const ResultPtr all = noise("n", {5e9, 5e9 + 10, 5e9 + 20}, {1e9, 2e9}), part = noise("n", {5e9 + 20}, {2e9});
  EXPECT_EQ(value_at(part->value, 0).re, value_at(all->value, 0, 2, 1).re);
}

TEST(GaussNoiseNode, DependsOnNameSeedElementTimeAndFrequency) {
  const double x = value_at(noise("n", {5e9}, {1e9})->value, 0).re;
  EXPECT_EQ(x, value_at(noise("n", {5e9}, {1e9})->value, 0).re);
  EXPECT_NE(x, value_at(noise("other", {5e9}, {1e9})->value, 0).re);
  EXPECT_NE(x, value_at(noise("n", {5e9}, {1e9}, {{"seed", std::int64_t{1}}})->value, 0).re);
  EXPECT_NE(x, value_at(noise("n", {5e9 + 42949.67296}, {1e9})->value, 0).re);  // 2^32 times 10 us
  EXPECT_NE(x, value_at(noise("n", {5e9}, {1e9 + 4294967.296})->value, 0).re);  // 2^32 mHz
  const ResultPtr matrix = noise("n", {5e9}, {1e9}, {{"dims", array({2}, {2, 2})}});
  EXPECT_EQ(value_at(matrix->value, 0).re, x);
  EXPECT_NE(value_at(matrix->value, 1).re, x);
}

/// Several data descriptions may be of one window, fields be correlated at once, baselines be there twice: all had the
/// same noise, also where cells were those of the tile before.
TEST(GaussNoiseNode, DependsOnTheRowsOfAMeasurementSet) {
  TestForest forest;
  forest.request.cells = cells({5e9}, {1e9});
  forest.node("n", "GaussNoise");
  std::vector<double> found;
  Tile tile = small_tile(*forest.request.cells, {9, 10, 11, 12});
  forest.request.tile = &tile;
  const auto evaluate = [&](int data_desc_id, int field_id, int layer) {
    tile.data_desc_id = data_desc_id, tile.field_id = field_id, tile.layer = layer;
    ++forest.request.data_id;
    return value_at(forest.evaluate("n")->value, 0).re;
  };
  for (const int window : {0, 1})
    for (const int field : {0, 1})
      for (const int layer : {0, 1}) found.push_back(evaluate(window, field, layer));
  EXPECT_EQ(found[0], evaluate(0, 0, 0));
  std::sort(found.begin(), found.end());
  EXPECT_EQ(std::unique(found.begin(), found.end()) - found.begin(), 8);
}

/// As in windows whose frequencies nobody has filled in, and where windows overlap.
TEST(GaussNoiseNode, IsIndependentInChannelsOfOneFrequency) {
  const ResultPtr x = noise("n", {5e9}, {1e9, 1e9, 2e9, 1e9});
  std::vector<double> found(x->value.real(), x->value.real() + 4);
  EXPECT_EQ(found[0], noise("n", {5e9}, {1e9})->value.real()[0]);
  EXPECT_EQ(found[2], noise("n", {5e9}, {2e9})->value.real()[0]);
  std::sort(found.begin(), found.end());
  EXPECT_EQ(std::unique(found.begin(), found.end()) - found.begin(), 4);
}

/// They had the same noise within a millisecond and within a hertz.
TEST(GaussNoiseNode, IsIndependentInCellsThatAreNearEachOther) {
  const ResultPtr x = noise("n", range(5e9, 1e-4, 200), range(1e9, 0.01, 200));
  double neighbours = 0, above = 0;
  for (int t = 1; t < 200; ++t)
    for (int f = 1; f < 200; ++f) {
      const auto at = [&](int time, int frequency) { return x->value.real()[200 * time + frequency]; };
      neighbours += at(t, f) * at(t, f - 1);
      above += at(t, f) * at(t - 1, f);
    }
  EXPECT_NEAR(neighbours / 39601, 0, 5 / std::sqrt(39601));
  EXPECT_NEAR(above / 39601, 0, 5 / std::sqrt(39601));
}

TEST(GaussNoiseNode, RefusesCellsThatWouldHaveTheSameNoise) {
  for (const auto& request : {cells({5e9, 5e9 + 2e-6}, {1e9}), cells({5e9}, {1e9, 1e9 + 1e-5})}) {
    TestForest forest;
    forest.request.cells = request;
    const ResultPtr x = forest.node("n", "GaussNoise").evaluate("n");
    ASSERT_EQ(x->failures.size(), 1u);
    EXPECT_NE(x->failures[0].message.find("would have the same noise"), std::string::npos);
  }
  EXPECT_TRUE(noise("n", {5e9, 5e9}, {1e9})->ok()) << "one cell twice";
}

TEST(GaussNoiseNode, IsComplexIfAskedFor) {
  const ResultPtr x = noise("n", range(5e9, 10, 100), range(1e9, 1e5, 100), {{"complex", true}});
  ASSERT_TRUE(x->value.is_complex());
  double re = 0, im = 0, both = 0;
  for (int i = 0; i < 10000; ++i) {
    const Complex<double> z = x->value.complex()[i];
    re += z.re * z.re;
    im += z.im * z.im;
    both += z.re * z.im;
  }
  EXPECT_NEAR(re / 10000, 1, 0.071);
  EXPECT_NEAR(im / 10000, 1, 0.071);
  EXPECT_NEAR(both / 10000, 0, 0.05);
}

}  // namespace
}  // namespace rimetree::test
