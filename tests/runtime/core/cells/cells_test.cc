// Cells: the grid of one evaluation and its fingerprint.
#include "runtime/core/cells/cells.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "runtime/core/error.h"

namespace rimetree {
namespace {

const AxisGrid kTime{{10, 20, 30}, {10, 10, 10}};
const AxisGrid kFrequency{{1e9, 2e9}, {1e8, 2e8}};

TEST(Cells, ShapeFollowsTheAxes) {
  const Cells cells = Cells::time_frequency(kTime, kFrequency);
  EXPECT_EQ(cells.shape(), (CellShape{{3, 2, 1, 1}}));
  EXPECT_TRUE(cells.has(Axis::time));
  EXPECT_FALSE(cells.has(Axis::l));
  EXPECT_EQ(cells.require(Axis::frequency).centre[1], 2e9);
  EXPECT_EQ(Cells({AxisGrid{}, AxisGrid{}, AxisGrid{}, AxisGrid{}}).shape(), CellShape{});
}

TEST(Cells, AnAxisThatIsNotThereIsNamed) {
  try {
    Cells::time_frequency(kTime, {}).require(Axis::frequency);
    FAIL() << "found an axis that is not there";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("freq"), std::string::npos) << error.what();
  }
}

TEST(Cells, BadGridsAreRefused) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();
  for (const AxisGrid& bad : {AxisGrid{{1, 2}, {1}}, AxisGrid{{1}, {-1}}, AxisGrid{{1}, {kNaN}}, AxisGrid{{kNaN}, {1}},
                              AxisGrid{{1, kInfinity}, {1, 1}}, AxisGrid{{1}, {kInfinity}}, AxisGrid{{}, {1}}}) {
    EXPECT_THROW(Cells::time_frequency(bad, kFrequency), Error);
    EXPECT_THROW(Cells::time_frequency(kTime, bad), Error);
  }
  try {
    Cells::time_frequency(kTime, {{1, 2}, {1}});
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the freq axis has 2 centres but 1 widths");
  }
}

TEST(Cells, EqualGridsHaveEqualFingerprintsAndOthersDiffer) {
  EXPECT_EQ(Cells::time_frequency(kTime, kFrequency).fingerprint(),
            Cells::time_frequency(kTime, kFrequency).fingerprint());
  std::set<std::uint64_t> seen{Cells::time_frequency(kTime, kFrequency).fingerprint()};
  AxisGrid centre = kTime, width = kTime;
  centre.centre[2] = std::nextafter(30.0, 31.0);
  width.width[0] = 9;
  const AxisGrid shorter{{10, 20}, {10, 10}};
  for (const AxisGrid& other : {centre, width, shorter, AxisGrid{}})
    EXPECT_TRUE(seen.insert(Cells::time_frequency(other, kFrequency).fingerprint()).second);
  EXPECT_TRUE(seen.insert(Cells::time_frequency(kFrequency, kTime).fingerprint()).second) << "axes exchanged";
  EXPECT_TRUE(seen.insert(Cells({AxisGrid{}, AxisGrid{}, kTime, kFrequency}).fingerprint()).second);
  // What is one axis' end is not the next one's beginning.
  EXPECT_NE(Cells::time_frequency({{1, 2}, {1, 1}}, {{3}, {1}}).fingerprint(),
            Cells::time_frequency({{1}, {1}}, {{2, 3}, {1, 1}}).fingerprint());
}

}  // namespace
}  // namespace rimetree
