#include "runtime/ms/tiles/join_windows.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/ms/tables/error.h"

namespace rimetree::ms {
namespace {

/// Rows of all baselines and times but those left out; every number says where it is from.
Tile window(int data_desc_id, std::vector<Baseline> baselines, std::vector<double> time_s,
            std::vector<double> frequency_hz, std::vector<std::size_t> absent = {}) {
  Tile tile;
  tile.data_desc_id = data_desc_id;
  tile.field_id = 3;
  tile.baselines = std::move(baselines);
  tile.time_s = std::move(time_s);
  tile.interval_s.assign(tile.n_time(), 10);
  tile.frequency_hz = std::move(frequency_hz);
  tile.channel_width_hz.assign(tile.n_channel(), 1e6 * (data_desc_id + 1));
  tile.correlation_type = {9, 12};
  tile.flag.assign(tile.n_visibility(), 1);
  tile.weight.assign(tile.n_visibility(), 0);
  auto& data = tile.columns["DATA"];
  data.assign(tile.n_visibility(), {});
  tile.exposure_s.assign(tile.n_row(), 0);
  tile.uvw_m.assign(3 * tile.n_row(), 0);
  tile.uvw_rate_m_s.assign(3 * tile.n_row(), 0);
  for (std::size_t r = 0; r < tile.n_row(); ++r) {
    const bool missing = std::find(absent.begin(), absent.end(), r) != absent.end();
    tile.row.push_back(missing ? -1 : static_cast<std::int64_t>(100 * data_desc_id + r));
    if (missing) continue;
    tile.exposure_s[r] = 9;
    const Baseline& pair = tile.baselines[r / tile.n_time()];
    for (std::size_t i = 0; i < 3; ++i) {
      tile.uvw_m[3 * r + i] = 100 * pair.antenna1 + pair.antenna2 + 0.1 * i;
      tile.uvw_rate_m_s[3 * r + i] = -tile.uvw_m[3 * r + i];
    }
    for (std::size_t f = 0; f < tile.n_channel(); ++f)
      for (std::size_t c = 0; c < 2; ++c) {
        const std::size_t at = (r * tile.n_channel() + f) * 2 + c;
        data[at] = {static_cast<float>(tile.frequency_hz[f] + c), static_cast<float>(tile.row.back())};
        tile.flag[at] = 0;
        tile.weight[at] = static_cast<float>(data_desc_id + 1);
      }
  }
  return tile;
}

std::complex<float> datum(const Tile& tile, std::size_t b, std::size_t t, std::size_t f, std::size_t c) {
  return tile.columns.at("DATA")[((b * tile.n_time() + t) * tile.n_channel() + f) * 2 + c];
}

Tile joined_of(const std::vector<Tile>& tiles) {
  return join_windows(tiles, [&](std::size_t index) { return tiles.at(index); });
}

TEST(JoinWindows, channels_stand_one_after_the_other) {
  const Tile joined =
      joined_of({window(0, {{0, 1}, {0, 2}}, {100, 110}, {7, 8}), window(1, {{0, 1}, {0, 2}}, {100, 110}, {3})});
  EXPECT_EQ(joined.frequency_hz, (std::vector<double>{7, 8, 3}));
  EXPECT_EQ(joined.channel_width_hz, (std::vector<double>{1e6, 1e6, 2e6}));
  EXPECT_EQ(joined.row, (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(joined.field_id, 3);
  EXPECT_EQ(datum(joined, 1, 0, 1, 1), std::complex<float>(9, 2));
  EXPECT_EQ(datum(joined, 1, 0, 2, 0), std::complex<float>(3, 102));
  EXPECT_EQ(joined.weight[2 * 2], 2);  // the third channel of the first row
  EXPECT_EQ(joined.flag, std::vector<std::uint8_t>(joined.n_visibility(), 0));
}

TEST(JoinWindows, what_a_window_lacks_is_flagged_there) {
  // The second window has another baseline, begins a slot later, and its times jitter; the first lacks a row.
  const Tile joined = joined_of(
      {window(0, {{0, 1}, {0, 2}}, {100, 110}, {7, 8}, {1}), window(1, {{0, 1}, {1, 2}}, {110.002, 120}, {3})});
  EXPECT_EQ(joined.baselines, (std::vector<Baseline>{{0, 1}, {0, 2}, {1, 2}}));
  ASSERT_EQ(joined.n_time(), 3u);
  EXPECT_NEAR(joined.time_s[1], 110.001, 1e-9);
  EXPECT_EQ(joined.interval_s, std::vector<double>(3, 10));
  // Row by row: of the first window where it has it, else of the second.
  EXPECT_EQ(joined.row, (std::vector<std::int64_t>{0, 100, 101, 2, 3, -1, -1, 102, 103}));
  const auto flagged = [&](std::size_t b, std::size_t t, std::size_t f) {
    const std::size_t at = ((b * 3 + t) * 3 + f) * 2;
    EXPECT_EQ(joined.flag[at], joined.flag[at + 1]);
    EXPECT_EQ(joined.weight[at] > 0, joined.flag[at] == 0);
    return joined.flag[at] != 0;
  };
  for (std::size_t b = 0; b < 3; ++b)
    for (std::size_t t = 0; t < 3; ++t) {
      const bool first = (b == 0 && t == 0) || (b == 1 && t < 2), second = b != 1 && t > 0;
      EXPECT_EQ(flagged(b, t, 0), !first) << b << t;
      EXPECT_EQ(flagged(b, t, 1), !first) << b << t;
      EXPECT_EQ(flagged(b, t, 2), !second) << b << t;
      const double u = first || second ? 100 * joined.baselines[b].antenna1 + joined.baselines[b].antenna2 : 0;
      EXPECT_EQ(joined.uvw_m[3 * (b * 3 + t)], u);
      EXPECT_EQ(joined.uvw_rate_m_s[3 * (b * 3 + t)], -u);
      EXPECT_EQ(joined.exposure_s[b * 3 + t], first || second ? 9 : 0);
    }
  EXPECT_EQ(datum(joined, 2, 2, 2, 0), std::complex<float>(3, 103));
}

TEST(JoinWindows, other_correlations_are_refused) {
  Tile other = window(1, {{0, 1}}, {100}, {3});
  other.correlation_type = {5, 8};
  EXPECT_THROW(joined_of({window(0, {{0, 1}}, {100}, {7}), other}), MsError);
}

TilePlan plan_of(const std::vector<std::tuple<int, int, double, double>>& tiles) {
  TilePlan plan;
  for (const auto& [data_desc_id, field_id, first_s, last_s] : tiles) {
    TileKey key;
    key.data_desc_id = data_desc_id, key.field_id = field_id;
    key.first_time_s = first_s, key.last_time_s = last_s;
    plan.tiles.push_back(key);
  }
  return plan;
}

TEST(JoinWindows, tiles_of_a_field_go_together_in_their_order) {
  using Groups = std::vector<std::vector<std::size_t>>;
  EXPECT_EQ(windows_together(plan_of({{0, 0, 0, 9}, {1, 0, 0, 9}, {0, 1, 10, 19}, {0, 0, 20, 29}, {1, 0, 20, 25}})),
            (Groups{{0, 1}, {2}, {3, 4}}));
  // The second window lacks the first slots: its first tile goes on into the second of the other.
  EXPECT_THROW(windows_together(plan_of({{0, 0, 0, 9}, {1, 0, 5, 14}, {0, 0, 10, 19}, {1, 0, 15, 19}})), MsError);
}

}  // namespace
}  // namespace rimetree::ms
