#include "runtime/ms/tiles/tile_writer.h"

#include <cmath>
#include <thread>

#include "tests/runtime/ms/coded_tiles.h"

namespace rimetree::ms {
namespace {

TEST(TileWriter, writes_a_new_column_for_every_number_of_correlations) {
  const TemporaryFolder folder;
  for (const std::vector<int>& types : {std::vector<int>{9}, {5, 8}, {9, 10, 11, 12}}) {
    MsDescription description = small_description();
    description.correlation_type = types;
    description.overwrite = true;
    create(folder / "a.ms", description);
    {
      MeasurementSet ms(folder / "a.ms", Access::kUpdate);
      const TileReader reader(ms, coordinates(4));
      TileWriter writer(ms, "MODEL_DATA");
      for (std::size_t i = 0; i < reader.tiles().size(); ++i) {
        Tile tile = reader.read(i);
        fill(&tile, "MODEL_DATA");
        writer.write(tile);
      }
      writer.finish();
      EXPECT_EQ(writer.rows_written(), 36);
    }
    const MeasurementSet ms(folder / "a.ms");
    EXPECT_TRUE(read_progress(ms.path()).empty());
    for (std::int64_t row = 0; row < ms.n_row(); ++row) expect_coded(ms, "MODEL_DATA", row);
    EXPECT_EQ(cell(ms, "DATA", 5), std::vector<std::complex<float>>(5 * types.size()));
  }
}

TEST(TileWriter, cells_that_no_tile_covers_are_zero_and_of_the_right_shape) {
  const TemporaryFolder folder;
  MsDescription description = small_description();
  description.spectral_windows.push_back(window_of(2e9, -5e5, 3));
  create(folder / "a.ms", description);
  MeasurementSet ms(folder / "a.ms", Access::kUpdate);
  ReadSelection selection = coordinates(2);
  selection.rows.data_desc_id = 1;
  const TileReader reader(ms, selection);
  TileWriter writer(ms, "MODEL_DATA");
  Tile tile = reader.read(1);
  fill(&tile, "MODEL_DATA");
  writer.write(tile);
  writer.finish();
  for (std::int64_t row = 0; row < ms.n_row(); ++row) {
    if (std::count(tile.row.begin(), tile.row.end(), row)) {
      expect_coded(ms, "MODEL_DATA", row);
    } else {
      const auto values = cell(ms, "MODEL_DATA", row);
      EXPECT_EQ(values, std::vector<std::complex<float>>(values.size()));
    }
  }
}

// WEIGHT is the mean of the channels that have a weight, SIGMA the noise that goes with it; of other rows nothing
// changes, and a part of the channels counts with what the others have already.
TEST(TileWriter, weights_of_rows_follow_those_of_channels) {
  const TemporaryFolder folder;
  MsDescription description = small_description();
  description.weight_spectrum = true;
  create(folder / "a.ms", description);
  MeasurementSet ms(folder / "a.ms", Access::kUpdate);
  const std::size_t n_channel = ms.cell_shape(0).n_channel, n_correlation = ms.cell_shape(0).n_correlation;
  ReadSelection selection = coordinates(1);
  const TileReader reader(ms, selection);
  TileWriter writer(ms, "WEIGHT_SPECTRUM");
  Tile tile = reader.read(0);
  auto& values = tile.columns["WEIGHT_SPECTRUM"];
  for (std::size_t i = 0; i < tile.n_visibility(); ++i) {
    const std::size_t correlation = i % n_correlation, channel = i / n_correlation % n_channel;
    values.emplace_back(correlation == 0 || channel == 0 ? 0.0f : 4.0f * static_cast<float>(channel));
  }
  writer.write(tile);
  writer.finish();
  std::vector<float> weight(n_correlation), sigma(n_correlation);
  const auto read = [&](std::int64_t row) {
    ms.table().read_vectors("WEIGHT", {row}, n_correlation, weight.data());
    ms.table().read_vectors("SIGMA", {row}, n_correlation, sigma.data());
  };
  for (const std::int64_t row : tile.row) {
    read(row);
    EXPECT_EQ(weight[0], 0);
    EXPECT_EQ(sigma[0], 0);
    const float mean = 2.0f * static_cast<float>(n_channel);  // of 4, 8, ... 4 (n - 1)
    for (std::size_t k = 1; k < n_correlation; ++k) {
      EXPECT_FLOAT_EQ(weight[k], mean);
      EXPECT_FLOAT_EQ(sigma[k], 1 / std::sqrt(mean));
    }
  }
  std::int64_t other = 0;
  while (std::count(tile.row.begin(), tile.row.end(), other) > 0) ++other;
  read(other);
  for (std::size_t k = 0; k < n_correlation; ++k) EXPECT_EQ(weight[k], 1);
}

TEST(TileWriter, a_range_of_channels_leaves_the_others) {
  const TemporaryFolder folder;
  create(folder / "a.ms", small_description());
  write_coded(folder / "a.ms");
  MeasurementSet ms(folder / "a.ms", Access::kUpdate);
  ReadSelection selection = coordinates(100);
  selection.channels = ChannelRange{1, 3};
  const TileReader reader(ms, selection);
  Tile tile = reader.read(0);
  tile.columns["DATA"].assign(tile.n_visibility(), {-7, 7});
  tile.row[4] = -1;  // absent rows are skipped
  TileWriter writer(ms, "DATA");
  writer.write(tile);
  writer.finish();
  const auto values = cell(ms, "DATA", 0);
  EXPECT_EQ(values[0], coded(0, 0, 0));
  EXPECT_EQ(values[4], std::complex<float>(-7, 7));
  EXPECT_EQ(values[11], std::complex<float>(-7, 7));
  EXPECT_EQ(values[12], coded(0, 3, 0));
  expect_coded(ms, "DATA", 4 * 6);  // baseline 0, time 4
}

TEST(TileWriter, flags) {
  const TemporaryFolder folder;
  create(folder / "a.ms", small_description(3, 2));
  MeasurementSet ms(folder / "a.ms", Access::kUpdate);
  const TileReader reader(ms, coordinates(2));
  Tile tile = reader.read(0);
  fill(&tile, "DATA");
  tile.flag[1] = 1;                                              // row 0
  std::fill_n(tile.flag.begin() + 3 * 20, 20, std::uint8_t{1});  // baseline 1, time 1: row 4
  WriteOptions options;
  options.flags = true;
  TileWriter writer(ms, "DATA", options);
  writer.write(tile);
  writer.finish();
  EXPECT_EQ(ms.table().bools("FLAG_ROW", 0, 6), (std::vector<std::uint8_t>{0, 0, 0, 0, 1, 0}));
  EXPECT_EQ(reader.read(0).flag, tile.flag);
}

TEST(TileWriter, refuses_what_does_not_fit) {
  const TemporaryFolder folder;
  create(folder / "a.ms", small_description());
  {
    MeasurementSet ms(folder / "a.ms");
    EXPECT_CONTAINS(error_of([&] { TileWriter(ms, "MODEL_DATA"); }), "opened for reading only");
  }
  MeasurementSet ms(folder / "a.ms", Access::kUpdate);
  EXPECT_CONTAINS(error_of([&] { TileWriter(ms, "MODEL DATA"); }), "cannot be called");
  EXPECT_CONTAINS(error_of([&] { TileWriter(ms, "UVW"); }), "expected an array of Complex");
  WriteOptions greedy;
  greedy.spare_bytes = std::uint64_t{1} << 60;
  EXPECT_CONTAINS(error_of([&] { TileWriter(ms, "MODEL_DATA", greedy); }), " of disk, but only ");
  EXPECT_CONTAINS(error_of([&] { TileWriter(ms, "MODEL_DATA", greedy); }), " shall stay free); free some space");
  EXPECT_FALSE(ms.has_column("MODEL_DATA"));
  EXPECT_TRUE(read_progress(ms.path()).empty());

  const TileReader reader(ms, coordinates(1));
  TileWriter writer(ms, "MODEL_DATA");
  Tile tile = reader.read(0);
  EXPECT_CONTAINS(error_of([&] { writer.write(tile); }), "holds no column MODEL_DATA");
  tile.columns["MODEL_DATA"].resize(3);
  EXPECT_CONTAINS(error_of([&] { writer.write(tile); }), "expected 120 values");
  fill(&tile, "MODEL_DATA");
  tile.first_channel = 2;
  EXPECT_CONTAINS(error_of([&] { writer.write(tile); }), "does not fit DATA_DESC_ID 0");
}

TEST(TileWriter, a_reader_and_a_writer_work_at_the_same_time) {
  const TemporaryFolder folder;
  create(folder / "a.ms", small_description(4, 60));
  write_coded(folder / "a.ms");
  MeasurementSet ms(folder / "a.ms", Access::kUpdate);
  ReadSelection selection = coordinates(1);
  selection.columns = {"DATA"};
  const TileReader reader(ms, selection);
  TileWriter writer(ms, "CORRECTED_DATA");
  Tile next = reader.read(0);
  for (std::size_t i = 0; i < reader.tiles().size(); ++i) {
    Tile now = std::move(next);
    now.columns["CORRECTED_DATA"] = now.columns["DATA"];
    std::thread writing([&] { writer.write(now); });
    if (i + 1 < reader.tiles().size()) next = reader.read(i + 1);
    writing.join();
  }
  writer.finish();
  for (std::int64_t row = 0; row < ms.n_row(); ++row) expect_coded(ms, "CORRECTED_DATA", row);
}

}  // namespace
}  // namespace rimetree::ms
