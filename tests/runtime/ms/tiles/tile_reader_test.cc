#include "runtime/ms/tiles/tile_reader.h"

#include <random>
#include <thread>

#include "runtime/math/conventions.h"
#include "tests/runtime/ms/small_set.h"

namespace rimetree::ms {
namespace {

ReadSelection data(std::size_t time_slots) {
  ReadSelection selection;
  selection.columns = {"DATA"};
  selection.rows.time_slots = time_slots;
  return selection;
}

/// Every present row of the tile holds coded() values and the coordinates that the table has in that row.
void expect_coded(const MeasurementSet& ms, const Tile& tile) {
  const auto times_s = ms.table().doubles("TIME", 0, ms.n_row());
  const auto antenna1 = ms.table().ints("ANTENNA1", 0, ms.n_row());
  const auto antenna2 = ms.table().ints("ANTENNA2", 0, ms.n_row());
  const auto& values = tile.columns.at("DATA");
  for (std::size_t b = 0; b < tile.n_baseline(); ++b) {
    for (std::size_t t = 0; t < tile.n_time(); ++t) {
      const std::size_t at = b * tile.n_time() + t;
      const std::int64_t row = tile.row[at];
      for (std::size_t f = 0; f < tile.n_channel(); ++f) {
        for (std::size_t c = 0; c < tile.n_correlation(); ++c) {
          const auto expected = row < 0 ? std::complex<float>() : coded(row, tile.first_channel + f, c);
          ASSERT_EQ(values[(at * tile.n_channel() + f) * tile.n_correlation() + c], expected);
        }
      }
      if (row < 0) continue;
      EXPECT_EQ(tile.baselines[b], (Baseline{antenna1[row], antenna2[row]}));
      EXPECT_NEAR(tile.time_s[t], times_s[row], 0.1);
      const std::vector<double> uvw_m = ms.table().double_cell("UVW", row);
      for (int k = 0; k < 3; ++k) EXPECT_EQ(tile.uvw_m[3 * at + k], uvw_m[k]);
    }
  }
}

TEST(TileReader, reads_every_row_once) {
  const TemporaryFolder folder;
  MsDescription description = small_description();
  description.spectral_windows.push_back(window_of(2e9, -5e5, 3));
  number_uvw(&description);
  create(folder / "a.ms", description);
  write_coded(folder / "a.ms");
  const MeasurementSet ms(folder / "a.ms");
  const TileReader reader(ms, data(4));
  ASSERT_EQ(reader.tiles().size(), 4u);
  EXPECT_EQ(reader.n_row(), 72u);
  std::vector<int> seen(72, 0);
  for (std::size_t i = 0; i < reader.tiles().size(); ++i) {
    const Tile tile = reader.read(i);
    EXPECT_EQ(tile.n_channel(), tile.data_desc_id == 0 ? 5u : 3u);
    EXPECT_EQ(tile.n_baseline(), 6u);
    expect_coded(ms, tile);
    for (const std::int64_t row : tile.row) ++seen[row];
    if (tile.data_desc_id == 1) {
      EXPECT_EQ(tile.frequency_hz[1], 2e9 - 5e5);
      EXPECT_EQ(tile.channel_width_hz[1], 5e5);
    }
  }
  EXPECT_EQ(seen, std::vector<int>(72, 1));
}

TEST(TileReader, shuffled_and_missing_rows_and_gaps_in_antenna_ids) {
  const TemporaryFolder folder;
  MsDescription description = small_description(6, 5);
  description.antenna1 = {0, 0, 2, 2, 5};  // antennas 1, 3 and 4 have no data; 5-2 is stored that way round
  description.antenna2 = {2, 5, 5, 2, 2};
  number_uvw(&description);
  create(folder / "a.ms", description);
  write_coded(folder / "a.ms");
  {
    MeasurementSet ms(folder / "a.ms", Access::kUpdate);
    std::vector<std::int64_t> rows(25), order(25);
    std::iota(rows.begin(), rows.end(), 0);
    order = rows;
    std::shuffle(order.begin(), order.end(), std::mt19937(3));
    std::vector<double> times_s;
    std::vector<int> antenna1, antenna2;
    for (const std::int64_t from : order) {
      times_s.push_back(description.time_s[from / 5]);
      antenna1.push_back(description.antenna1[from % 5]);
      antenna2.push_back(from == 6 ? 0
                                   : description.antenna2[from % 5]);  // 0-5 at the second time becomes 0-0: missing
    }
    ms.table().write_doubles("TIME", rows, times_s);
    ms.table().write_ints("ANTENNA1", rows, antenna1);
    ms.table().write_ints("ANTENNA2", rows, antenna2);
  }
  const MeasurementSet ms(folder / "a.ms");
  const TileReader reader(ms, data(3));
  ASSERT_EQ(reader.tiles().size(), 2u);
  const Tile tile = reader.read(0);
  EXPECT_EQ(tile.baselines, (std::vector<Baseline>{{0, 2}, {0, 5}, {2, 5}, {5, 2}}));
  expect_coded(ms, tile);
  expect_coded(ms, reader.read(1));
  const std::size_t absent = 1 * 3 + 1;
  EXPECT_EQ(tile.row[absent], -1);
  EXPECT_EQ(std::count(tile.row.begin(), tile.row.end(), -1), 1);
  EXPECT_EQ(tile.flag[absent * 20], 1);
  EXPECT_EQ(tile.weight[absent * 20], 0);
  EXPECT_EQ(tile.exposure_s[absent], 0);
  EXPECT_EQ(tile.find({5, 2}), 3);
  EXPECT_EQ(tile.find({2, 2}), -1);
}

TEST(TileReader, channel_range_and_correlation_counts) {
  const TemporaryFolder folder;
  for (const std::vector<int>& types : {std::vector<int>{9}, {5, 8}, {9, 10, 11, 12}}) {
    MsDescription description = small_description();
    description.correlation_type = types;
    description.overwrite = true;
    create(folder / "a.ms", description);
    write_coded(folder / "a.ms");
    const MeasurementSet ms(folder / "a.ms");
    ReadSelection selection = data(100);
    selection.channels = ChannelRange{1, 4};
    const Tile tile = TileReader(ms, selection).read(0);
    EXPECT_EQ(tile.n_channel(), 3u);
    EXPECT_EQ(tile.first_channel, 1u);
    EXPECT_EQ(tile.frequency_hz[0], 1.401e9);
    EXPECT_EQ(tile.correlation_type, types);
    expect_coded(ms, tile);
    selection.channels = ChannelRange{4, 6};
    EXPECT_CONTAINS(error_of([&] { TileReader(ms, selection); }), "has 5 channels");
  }
}

TEST(TileReader, flags_are_flag_or_flag_row_and_zero_weights_stay_zero) {
  const TemporaryFolder folder;
  for (const bool spectrum : {false, true}) {
    MsDescription description = small_description(3, 2);
    description.weight_spectrum = spectrum;
    description.overwrite = true;
    create(folder / "a.ms", description);
    const CellPart part{{5, 4}, 0, 5};
    {
      MeasurementSet ms(folder / "a.ms", Access::kUpdate);
      std::vector<std::uint8_t> flags(20, 0);
      flags[7] = 1;
      ms.table().write_cells("FLAG", {0}, part, flags.data());
      ms.table().write_bools("FLAG_ROW", {4}, {1});
      std::vector<float> weights(20, 2.5f);
      weights[3] = 0;
      if (spectrum) ms.table().write_cells("WEIGHT_SPECTRUM", {2}, part, weights.data());
    }
    const MeasurementSet ms(folder / "a.ms");
    const Tile tile = TileReader(ms, data(100)).read(0);  // [baseline, time]: row = 3 time + baseline
    const auto flagged = [&](std::size_t baseline, std::size_t time) {
      const auto first = tile.flag.begin() + static_cast<std::ptrdiff_t>((baseline * 2 + time) * 20);
      return std::count(first, first + 20, 1);
    };
    EXPECT_EQ(flagged(0, 0), 1);
    EXPECT_EQ(tile.flag[7], 1);
    EXPECT_EQ(flagged(1, 1), 20);
    EXPECT_EQ(flagged(2, 0), 0);
    const std::size_t row2 = 2 * 2 * 20;
    EXPECT_EQ(tile.weight[row2 + 3], spectrum ? 0.0f : 1.0f);
    EXPECT_EQ(tile.weight[row2 + 4], spectrum ? 2.5f : 1.0f);
    EXPECT_EQ(tile.weight[0], 1.0f);
  }
}

TEST(TileReader, uvw_rates_are_the_change_between_times) {
  // An independent check of sign and declination: rotate antenna positions through a small hour angle.
  const double dec_rad = -0.6, bx = 700, by = -350, bz = 420;
  const auto uvw_at = [&](double hour_angle) {
    const double s = std::sin(hour_angle), c = std::cos(hour_angle), sd = std::sin(dec_rad), cd = std::cos(dec_rad);
    return std::vector<double>{s * bx + c * by, -sd * c * bx + sd * s * by + cd * bz,
                               cd * c * bx - cd * s * by + sd * bz};
  };
  const TemporaryFolder folder;
  MsDescription description = small_description(2, 3);
  description.uvw_m.clear();
  for (int i = -1; i <= 1; ++i) {
    for (const double value : uvw_at(0.3 + i * 8.0 * kEarthRotation_rad_s)) description.uvw_m.push_back(value);
  }
  create(folder / "a.ms", description);
  const MeasurementSet ms(folder / "a.ms");
  const Tile tile = TileReader(ms, ReadSelection()).read(0);
  for (int k = 0; k < 3; ++k) {
    const double difference = (tile.uvw_m[6 + k] - tile.uvw_m[k]) / 16;
    // A central difference over 2 * 5.8e-4 rad is good to (5.8e-4)^2 / 6 = 6e-8 of the largest rate.
    EXPECT_NEAR(tile.uvw_rate_m_s[3 + k], difference, 1e-7 * 900 * kEarthRotation_rad_s);
  }
}

TEST(TileReader, memory_budget_decides_the_number_of_time_slots) {
  const TemporaryFolder folder;
  MsDescription description = small_description(4, 40);
  create(folder / "a.ms", description);
  const MeasurementSet ms(folder / "a.ms");
  TileReader reader(ms, data(40));
  const std::size_t all = reader.largest_bytes(1);
  EXPECT_EQ(reader.fit(all, 1000, 1), 1000u);
  const std::size_t slots = reader.fit(all / 4, 1000, 1);
  EXPECT_LE(reader.largest_bytes(1), all / 4);
  EXPECT_GE(slots, 9u);
  EXPECT_EQ(reader.tiles().size(), (40 + slots - 1) / slots);
  EXPECT_CONTAINS(error_of([&] { reader.fit(100, 10, 1); }), "one time slot");
}

TEST(TileReader, several_threads_read_at_once) {
  const TemporaryFolder folder;
  create(folder / "a.ms", small_description(4, 20));
  write_coded(folder / "a.ms");
  const MeasurementSet ms(folder / "a.ms");
  const TileReader reader(ms, data(1));
  std::vector<std::thread> threads;
  for (std::size_t first = 0; first < 4; ++first) {
    threads.emplace_back([&, first] {
      for (std::size_t i = first; i < reader.tiles().size(); i += 4) expect_coded(ms, reader.read(i));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(TileReader, says_what_cannot_be_read) {
  const TemporaryFolder folder;
  create(folder / "a.ms", small_description());
  const MeasurementSet ms(folder / "a.ms");
  ReadSelection selection = data(1);
  selection.columns = {"MODEL_DATA"};
  EXPECT_CONTAINS(error_of([&] { TileReader(ms, selection); }), "no column MODEL_DATA");
  selection = data(1);
  selection.rows.field_id = 3;
  EXPECT_CONTAINS(error_of([&] { TileReader(ms, selection); }), "no FIELD_ID 3");
  selection = data(1);
  selection.rows.data_desc_id = 2;
  EXPECT_CONTAINS(error_of([&] { TileReader(ms, selection); }), "no DATA_DESC_ID 2");
}

}  // namespace
}  // namespace rimetree::ms
