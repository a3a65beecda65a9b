// Correcting one tile: correlations in any order, Stokes I, counts. Against sums over matrix elements.
#include "runtime/ms/runs/correction.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "runtime/core/error.h"

namespace rimetree::ms {
namespace {

using Value = std::complex<double>;

/// Antennas 2, 5 and 7; 2 times, 3 channels, of which the last two have the same matrices.
struct Planted {
  Tile tile;
  InverseJones jones;
  std::mt19937 random{1};

  Planted(std::vector<int> types, bool diagonal) {
    tile.baselines = {{2, 5}, {2, 7}, {5, 5}, {5, 7}};
    tile.time_s = {0, 10};
    tile.frequency_hz = {1e9, 2e9, 3e9};
    tile.correlation_type = std::move(types);
    tile.row.resize(tile.n_row());
    for (std::size_t i = 0; i < tile.n_row(); ++i) tile.row[i] = static_cast<std::int64_t>(i);
    tile.flag.assign(tile.n_visibility(), 0);
    jones.antennas = {2, 5, 7};
    jones.diagonal = diagonal;
    jones.n_time = jones.n_frequency = 2;
    jones.time = {1, 0};
    jones.frequency = {0, 1, 1};
    std::normal_distribution<double> normal;
    for (std::size_t i = 0; i < 3 * 4 * (diagonal ? 2 : 4); ++i)
      jones.inverse.push_back({normal(random), normal(random)});
    jones.reason.assign(3 * 4 * 2, 0);
  }

  std::vector<std::complex<float>> values() {
    std::normal_distribution<float> normal;
    std::vector<std::complex<float>> values(tile.n_visibility());
    for (auto& value : values) value = {normal(random), normal(random)};
    return values;
  }

  /// Element ij of the inverse of an antenna's matrix on a cell.
  Value element(std::size_t antenna, std::size_t t, std::size_t f, std::size_t i, std::size_t j) const {
    const std::size_t cell = (antenna * 2 + jones.time[t]) * 2 + jones.frequency[f];
    if (jones.diagonal && i != j) return 0;
    const Complex<double> z = jones.diagonal ? jones.inverse[2 * cell + i] : jones.inverse[4 * cell + 2 * i + j];
    return {z.re, z.im};
  }
};

FlagCounts counts_of(const Planted& planted) { return FlagCounts(planted.jones.antennas); }

TEST(Correction, TakesCorrelationsInAnyOrder) {
  for (const bool diagonal : {true, false})
    for (const std::vector<int>& types : {std::vector<int>{9, 10, 11, 12}, {8, 6, 7, 5}, {12, 9, 11, 10}}) {
      Planted planted(types, diagonal);
      auto values = planted.values();
      const auto before = values;
      ThreadPool threads(2);
      FlagCounts counts = counts_of(planted);
      EXPECT_FALSE(correct(planted.tile, values, planted.jones, counts, threads));
      const std::size_t place[4][2] = {{0, 1}, {0, 2}, {1, 1}, {1, 2}};
      const auto data = [&](std::size_t cell, std::size_t element) {
        for (std::size_t c = 0; c < 4; ++c)
          if ((types[c] - 5) % 4 == static_cast<int>(element)) return Value(before[4 * cell + c]);
        return Value();
      };
      for (std::size_t cell = 0; cell < values.size() / 4; ++cell)
        for (std::size_t c = 0; c < 4; ++c) {
          const std::size_t f = cell % 3, t = cell / 3 % 2, k = cell / 6,
                            e = static_cast<std::size_t>(types[c] - 5) % 4;
          Value expected;
          for (std::size_t a = 0; a < 2; ++a)
            for (std::size_t b = 0; b < 2; ++b)
              expected += planted.element(place[k][0], t, f, e / 2, a) * data(cell, 2 * a + b) *
                          std::conj(planted.element(place[k][1], t, f, e % 2, b));
          EXPECT_NEAR(std::abs(Value(values[4 * cell + c]) - expected), 0, 2e-6);
        }
      EXPECT_EQ(counts.all, 4 * 24);
      EXPECT_EQ(counts.fresh, 0);
      EXPECT_TRUE(counts.usable);
      EXPECT_EQ(counts.all_of[1], 3 * 24);  // 5 with 2, with 7, and, once, with itself
    }
}

TEST(Correction, StokesIIsHalfTheSumOfBothFeeds) {
  Planted planted({1}, true);
  planted.jones.reason[1] = 2;  // one feed of antenna 2, at the times and channels of the first matrices
  auto values = planted.values();
  const auto before = values;
  ThreadPool threads(1);
  FlagCounts counts = counts_of(planted);
  EXPECT_TRUE(correct(planted.tile, values, planted.jones, counts, threads));
  const Value sum = planted.element(0, 1, 2, 0, 0) * std::conj(planted.element(1, 1, 2, 0, 0)) +
                    planted.element(0, 1, 2, 1, 1) * std::conj(planted.element(1, 1, 2, 1, 1));
  EXPECT_NEAR(std::abs(Value(values[5]) - 0.5 * sum * Value(before[5])), 0, 1e-6);
  EXPECT_EQ(counts.fresh, 2);  // of both baselines with antenna 2 one cell
  EXPECT_EQ(planted.tile.flag[3], 1);
  EXPECT_EQ(counts.because_of[0][2], 2);
  EXPECT_EQ(counts.lost_of[1], 1);
  EXPECT_EQ(counts.because_of[1][2], 0);
}

TEST(Correction, WholeMatricesGoAndWhatIsNotFinite) {
  Planted planted({9, 10, 11, 12}, false);
  auto values = planted.values();
  planted.tile.flag[4 + 1] = 1;
  planted.tile.row[1] = -1;  // not there: neither counted nor touched
  planted.tile.flag[12] = 0;
  values[13] = values[20] = std::numeric_limits<float>::infinity();
  values[24] = std::numeric_limits<float>::quiet_NaN();
  ThreadPool threads(1);
  FlagCounts counts = counts_of(planted);
  EXPECT_TRUE(correct(planted.tile, values, planted.jones, counts, threads));
  EXPECT_EQ(counts.all, 4 * 24 - 12);
  EXPECT_EQ(counts.flagged, 1);
  EXPECT_EQ(counts.fresh, 3 + 4);
  EXPECT_EQ(counts.because_of[0][0], 7);
  EXPECT_EQ(planted.tile.flag[13], 0);
  for (std::size_t c = 0; c < 4; ++c) EXPECT_EQ(planted.tile.flag[24 + c] + planted.tile.flag[4 + c], 2);
}

TEST(Correction, SaysWhatDoesNotFit) {
  ThreadPool threads(1);
  const auto error_of = [&](Planted planted) {
    auto values = planted.values();
    FlagCounts counts = counts_of(planted);
    try {
      correct(planted.tile, values, planted.jones, counts, threads);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(error_of(Planted({9, 12}, false)).find("all four correlations"), std::string::npos);
  EXPECT_NE(error_of(Planted({9, 2}, true)).find("correlation type 2"), std::string::npos);
  Planted other({9}, true);
  other.jones.antennas = {2, 5, 8};
  EXPECT_NE(error_of(other).find("antenna 7"), std::string::npos);
  Planted shorter({9}, true);
  shorter.jones.time = {0};
  EXPECT_NE(error_of(shorter).find("1 times and 3 channels"), std::string::npos);
}

}  // namespace
}  // namespace rimetree::ms
