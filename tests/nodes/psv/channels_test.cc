// Channels cut into runs: what is regular but for rounding is one.
#include <gtest/gtest.h>

#include <cmath>

#include "nodes/psv/kernel.h"

namespace rimetree::testing {
namespace {

constexpr std::size_t kChannels = 50;

/// Channels of a spacing that is not representable, with the differences of neighbours as widths.
struct Rounded {
  std::vector<double> frequency, width;
  explicit Rounded(double spacing_hz = 1e7 / 3) {
    for (std::size_t k = 0; k <= kChannels; ++k) frequency.push_back(1e9 + spacing_hz * double(k));
    for (std::size_t k = 0; k < kChannels; ++k) width.push_back(frequency[k + 1] - frequency[k]);
    frequency.pop_back();
  }
  psv::Channels cut() const { return psv::analyse_channels(frequency.data(), width.data(), frequency.size()); }
};

TEST(PsvChannels, WidthsThatAreRoundedMakeOneRun) {
  const psv::Channels channels = Rounded().cut();
  ASSERT_EQ(channels.cut[0].runs.size(), 1u);
  EXPECT_EQ(channels.cut[0].runs[0].count, kChannels);
  EXPECT_GT(channels.cut[0].largest_width_error, 0);
  EXPECT_LT(channels.cut[0].largest_width_error, 1e-6);
  // For paths on which that could be seen.
  for (const psv::ChannelCut& cut : {channels.cut[1], channels.cut[2], channels.cut[3]}) {
    EXPECT_GT(cut.runs.size(), 1u);
    EXPECT_EQ(cut.largest_width_error, 0);
  }
}

TEST(PsvChannels, WidthsThatAreTheSameNeedOneCutOnly) {
  Rounded grid;
  grid.width.assign(kChannels, 1e7 / 3);
  const psv::Channels channels = grid.cut();
  EXPECT_EQ(channels.cut[0].runs.size(), 1u);
  EXPECT_EQ(channels.cut[0].largest_width_error, 0);
  EXPECT_TRUE(channels.cut[1].runs.empty());
}

TEST(PsvChannels, WidthsThatDifferDoNotGoTogether) {
  Rounded grid;
  for (std::size_t k = kChannels / 2; k < kChannels; ++k) grid.width[k] *= 1 + 1e-12;
  EXPECT_EQ(grid.cut().cut[0].runs.size(), 2u);
}

}  // namespace
}  // namespace rimetree::testing
