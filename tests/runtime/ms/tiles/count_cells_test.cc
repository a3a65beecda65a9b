#include "runtime/ms/tiles/count_cells.h"

#include <gtest/gtest.h>

#include <limits>

#include "runtime/ms/tables/error.h"

namespace rimetree::ms {
namespace {

constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN(),
                kInfinite = std::numeric_limits<float>::infinity();

/// Two baselines, two times, one channel and two hands, of which the first counts as parallel: each of magnitude 5.
struct Cells {
  std::vector<std::complex<float>> value = std::vector<std::complex<float>>(8, {3, -4});
  std::vector<float> weight = std::vector<float>(8, 2);
  std::vector<std::uint8_t> flag = std::vector<std::uint8_t>(8), hand{1, 0}, within;
  std::vector<std::int64_t> row{0, 1, 2, 3};
  CellCounts count(bool magnitudes = true) const {
    return count_cells(DataCells{2, 2, 1, 2, value, weight, flag, row, hand, within}, magnitudes);
  }
};

TEST(CountCells, good_data_of_each_baseline) {
  const CellCounts counts = Cells().count();
  EXPECT_EQ(counts.good, (std::vector<double>{4, 4}));
  EXPECT_EQ(counts.measured, (std::vector<double>{2, 2}));
  EXPECT_EQ(counts.magnitude, (std::vector<double>{10, 10}));
  EXPECT_EQ(counts.power, 8 * 2 * 25);
}

TEST(CountCells, what_is_bad_counts_nowhere) {
  for (int what = 0; what < 7; ++what) {
    Cells cells;
    if (what == 0) cells.flag[0] = 1;
    if (what == 1) cells.weight[0] = 0;
    if (what == 2) cells.weight[0] = -1;
    if (what == 3) cells.weight[0] = kNotANumber;
    if (what == 4) cells.weight[0] = kInfinite;
    if (what == 5) cells.value[0] = {kNotANumber, 0};
    if (what == 6) cells.value[0] = {0, kInfinite};
    const CellCounts counts = cells.count();
    EXPECT_EQ(counts.good, (std::vector<double>{3, 4})) << what;
    EXPECT_EQ(counts.measured, (std::vector<double>{1, 2})) << what;
    EXPECT_EQ(counts.magnitude, (std::vector<double>{5, 10})) << what;
    EXPECT_EQ(counts.power, 7 * 2 * 25) << what;
  }
  Cells absent;
  absent.row[3] = -1;
  EXPECT_EQ(absent.count().good, (std::vector<double>{4, 2}));
  EXPECT_EQ(absent.count().linked, (std::vector<std::uint8_t>{1, 1, 1, 0}));
}

TEST(CountCells, baselines_of_other_lengths_are_good_but_have_no_power) {
  Cells cells;
  cells.within = {1, 0, 0, 1};
  const CellCounts counts = cells.count();
  EXPECT_EQ(counts.good, (std::vector<double>{4, 4}));
  EXPECT_EQ(counts.power, 4 * 2 * 25);
  EXPECT_EQ(counts.linked, (std::vector<std::uint8_t>{1, 0, 0, 1}));
}

TEST(CountCells, each_channel_links_by_itself) {
  Cells cells;
  cells.flag = {0, 0, 1, 0, 1, 1, 0, 0};
  const CellCounts counts = count_cells(
      DataCells{2, 1, 2, 2, cells.value, cells.weight, cells.flag, std::span(cells.row).first(2), cells.hand, {}},
      true);
  EXPECT_EQ(counts.linked, (std::vector<std::uint8_t>{1, 1, 0, 1}));
}

TEST(CountCells, magnitudes_only_where_they_are_asked_for) {
  EXPECT_EQ(Cells().count(false).magnitude, (std::vector<double>{0, 0}));
  EXPECT_EQ(Cells().count(false).power, 8 * 2 * 25);
}

TEST(CountCells, values_that_single_precision_cannot_square_are_good) {
  Cells cells;
  cells.value[0] = {1e30F, 0};
  EXPECT_EQ(cells.count().good[0], 4);
  EXPECT_NEAR(cells.count().magnitude[0], 1e30, 1e24);
}

TEST(CountCells, sizes_that_do_not_fit_are_refused) {
  Cells cells;
  cells.weight.pop_back();
  EXPECT_THROW(cells.count(), MsError);
  EXPECT_EQ(count_cells(DataCells(), true).power, 0);
}

}  // namespace
}  // namespace rimetree::ms
