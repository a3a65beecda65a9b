#include "runtime/ms/set/left_out.h"

#include <algorithm>
#include <optional>

#include "runtime/ms/tiles/tile_reader.h"
#include "tests/runtime/ms/small_set.h"

namespace rimetree::ms {
namespace {

/// A set of 5 channels and 4 correlations with coded() values, of which one visibility is left out: channel 2, YX.
class LeftOutTest : public ::testing::Test {
 protected:
  LeftOutTest() {
    create(folder_ / "a.ms", small_description());
    write_coded(folder_ / "a.ms");
    ms_.emplace(folder_ / "a.ms");
    LeftOutRows rows{1, 3, 4, {kRow}, {0, 0}};  // channels 1 to 3
    rows.bits[0] = 1u << 1;                     // the seventh
    ms_->left_out().leave_out(rows);
  }
  /// The baseline and slot of the row in the only tile of a reader.
  static std::size_t place(const Tile& tile) {
    return static_cast<std::size_t>(std::find(tile.row.begin(), tile.row.end(), kRow) - tile.row.begin());
  }
  static constexpr std::int64_t kRow = 7;
  TemporaryFolder folder_;
  std::optional<MeasurementSet> ms_;
};

TEST_F(LeftOutTest, IsFlaggedWhereItIsRead) {
  ReadSelection selection;
  selection.rows.time_slots = 100;
  const Tile tile = TileReader(*ms_, selection).read(0);
  for (std::size_t i = 0; i < tile.flag.size(); ++i) EXPECT_EQ(tile.flag[i], i == (place(tile) * 5 + 2) * 4 + 2);
  selection.channels = ChannelRange{2, 3};
  const Tile part = TileReader(*ms_, selection).read(0);
  EXPECT_EQ(std::accumulate(part.flag.begin(), part.flag.end(), 0), 1);
  EXPECT_EQ(part.flag[place(part) * 4 + 2], 1);
  ms_->left_out().forget({kRow});
  const Tile whole = TileReader(*ms_, selection).read(0);
  EXPECT_EQ(std::accumulate(whole.flag.begin(), whole.flag.end(), 0), 0);
}

TEST_F(LeftOutTest, IsInNoMean) {
  ReadSelection selection;
  selection.columns = {"DATA"};
  selection.rows.time_slots = 100;
  selection.rows.averaging.channels = 5;
  const Tile tile = TileReader(*ms_, selection).read(0);
  for (std::size_t c = 0; c < 4; ++c) {
    std::complex<float> sum = 0;
    for (std::size_t f = 0; f < 5; ++f)
      if (c != 2 || f != 2) sum += coded(kRow, f, c);
    const std::size_t at = place(tile) * 4 + c;
    EXPECT_NEAR(std::abs(tile.columns.at("DATA")[at] - sum / (c == 2 ? 4.0f : 5.0f)), 0, 1e-3);
    EXPECT_EQ(tile.weight[at], c == 2 ? 4.0f : 5.0f);
  }
}

}  // namespace
}  // namespace rimetree::ms
