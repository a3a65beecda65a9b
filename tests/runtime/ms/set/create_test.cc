#include "runtime/ms/set/create.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <fstream>

#include "runtime/ms/inspect/inspect.h"
#include "runtime/ms/tiles/tile_reader.h"
#include "tests/runtime/ms/small_set.h"

namespace rimetree::ms {
namespace {

TEST(Create, metadata_come_back_as_given) {
  const TemporaryFolder folder;
  MsDescription description = small_description();
  description.antennas[2].station = "pad 7";
  description.antennas[2].mount = "EQUATORIAL";
  create(folder / "a.ms", description);
  const MeasurementSet ms(folder / "a.ms");
  const Metadata& metadata = ms.metadata();
  ASSERT_EQ(metadata.antennas.size(), 4u);
  EXPECT_EQ(metadata.antennas[2].name, "m002");
  EXPECT_EQ(metadata.antennas[2].station, "pad 7");
  EXPECT_EQ(metadata.antennas[2].mount, "EQUATORIAL");
  EXPECT_EQ(metadata.antennas[2].position_m, description.antennas[2].position_m);
  EXPECT_EQ(metadata.antennas[2].diameter_m, 13.5);
  ASSERT_EQ(metadata.fields.size(), 1u);
  EXPECT_EQ(metadata.fields[0].name, "target");
  EXPECT_DOUBLE_EQ(metadata.fields[0].ra_rad, 1.2);
  EXPECT_DOUBLE_EQ(metadata.fields[0].dec_rad, -0.6);
  EXPECT_EQ(metadata.fields[0].frame, "J2000");
  EXPECT_EQ(metadata.spectral_windows[0].frequency_hz, description.spectral_windows[0].frequency_hz);
  EXPECT_EQ(metadata.polarizations[0].correlation_type, description.correlation_type);
  EXPECT_EQ(metadata.observations[0].telescope, "TestArray");
  EXPECT_EQ(ms.n_row(), 36);
  EXPECT_EQ(ms.visibility_columns(), std::vector<std::string>{"DATA"});
}

TEST(Create, a_phase_centre_in_icrs_stays_as_given) {
  const TemporaryFolder folder;
  MsDescription description = small_description();
  create(folder / "j2000.ms", description);
  description.fields[0].coordinates = "ICRS";
  create(folder / "icrs.ms", description);
  const Field j2000 = MeasurementSet(folder / "j2000.ms").metadata().fields[0];
  const Field icrs = MeasurementSet(folder / "icrs.ms").metadata().fields[0];
  EXPECT_EQ(icrs.frame, "ICRS");
  EXPECT_EQ(icrs.coordinates, "ICRS");
  EXPECT_EQ(j2000.coordinates, "J2000");
  // The frames differ by up to 23 mas (1.1e-7 rad), sky models do not tell which is theirs: neither is turned.
  EXPECT_DOUBLE_EQ(icrs.ra_rad, j2000.ra_rad);
  EXPECT_DOUBLE_EQ(icrs.dec_rad, j2000.dec_rad);
  description.fields.push_back(small_description().fields[0]);
  EXPECT_CONTAINS(error_of([&] { create(folder / "both.ms", description); }), "all J2000 or all ICRS");
}

TEST(Create, rows_come_back_as_given) {
  const TemporaryFolder folder;
  MsDescription description = small_description(3, 2);
  description.exposure_s = 7.5;
  number_uvw(&description);
  create(folder / "a.ms", description);
  const MeasurementSet ms(folder / "a.ms");
  const CasacoreTable& table = ms.table();
  EXPECT_EQ(table.ints("ANTENNA1", 0, 6), (std::vector<int>{0, 0, 1, 0, 0, 1}));
  EXPECT_EQ(table.ints("ANTENNA2", 0, 6), (std::vector<int>{1, 2, 2, 1, 2, 2}));
  EXPECT_EQ(table.doubles("TIME", 2, 2), (std::vector<double>{5.0e9, 5.0e9 + 8}));
  EXPECT_EQ(table.doubles("TIME_CENTROID", 5, 1), std::vector<double>{5.0e9 + 8});
  EXPECT_EQ(table.doubles("EXPOSURE", 0, 1), std::vector<double>{7.5});
  EXPECT_EQ(table.doubles("INTERVAL", 0, 1), std::vector<double>{8});
  EXPECT_EQ(table.double_cell("UVW", 4), (std::vector<double>{13, 14, 15}));
}

TEST(Create, every_number_and_kind_of_correlations) {
  const TemporaryFolder folder;
  for (const std::vector<int>& types :
       {std::vector<int>{9}, {9, 12}, {9, 10, 11, 12}, {5}, {8}, {5, 8}, {5, 6, 7, 8}}) {
    MsDescription description = small_description();
    description.correlation_type = types;
    description.overwrite = true;
    create(folder / "a.ms", description);
    const MeasurementSet ms(folder / "a.ms");
    EXPECT_EQ(ms.polarization(0).correlation_type, types);
    EXPECT_EQ(ms.table().cell_shape("DATA", 0), (std::vector<std::size_t>{5, types.size()}));
    EXPECT_EQ(ms.table().cell_shape("WEIGHT", 0), std::vector<std::size_t>{types.size()});
  }
}

TEST(Create, several_spectral_windows_fields_columns_and_autocorrelations) {
  const TemporaryFolder folder;
  MsDescription description = small_description(3, 4);
  description.antenna1.push_back(1);
  description.antenna2.push_back(1);
  description.spectral_windows.push_back(window_of(2e9, -5e5, 2));
  description.fields.push_back(description.fields[0]);
  description.fields[1].name = "calibrator";
  description.field_of_time = {0, 0, 1, 1};
  description.columns = {"DATA", "MODEL_DATA"};
  description.weight_spectrum = true;
  number_uvw(&description);
  create(folder / "a.ms", description);
  const MsSummary summary = inspect(folder / "a.ms");
  EXPECT_EQ(summary.n_row, 4 * 2 * 4);
  EXPECT_EQ(summary.n_autocorrelation, 8);
  EXPECT_EQ(summary.groups.size(), 4u);
  EXPECT_EQ(summary.rows_of_field, (std::vector<std::int64_t>{16, 16}));
  EXPECT_EQ(summary.rows_of_data_description, (std::vector<std::int64_t>{16, 16}));
  EXPECT_EQ(summary.channels[1].order, "descending");
  EXPECT_TRUE(summary.channels[1].negative_width);
  ASSERT_EQ(summary.columns.size(), 2u);
  EXPECT_TRUE(summary.columns[1].variable_shape);
  EXPECT_EQ(summary.weight_column, "WEIGHT_SPECTRUM");
  EXPECT_EQ(summary.flagged_fraction, 0);
  EXPECT_EQ(summary.zero_weight_fraction, 0);
}

// A second process had removed what the first one was writing, which then ended by an abort.
TEST(Create, is_done_by_one_process_at_a_time) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.ms", partial = path + ".partial";
  std::filesystem::create_directory(partial);
  std::ofstream(partial + "/left by a process that was killed") << "text";
  const int other = ::open(partial.c_str(), O_RDONLY | O_DIRECTORY);  // as another process has it
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  EXPECT_CONTAINS(error_of([&] { create(path, small_description()); }), "another program is creating it");
  EXPECT_FALSE(std::filesystem::is_empty(partial));
  ::close(other);
  create(path, small_description());
  EXPECT_EQ(MeasurementSet(path).n_row(), inspect(path).n_row);
  EXPECT_FALSE(std::filesystem::exists(partial));
}

TEST(Create, appears_whole_or_not_at_all) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.ms";
  create(path, small_description());
  EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
  EXPECT_CONTAINS(error_of([&] { create(path, small_description()); }), "exists");

  MsDescription other = small_description(3, 1);
  other.overwrite = true;
  create(path + "/", other);
  EXPECT_EQ(MeasurementSet(path).n_row(), 3);
  EXPECT_FALSE(std::filesystem::exists(path + ".replaced"));

  std::filesystem::create_directory(folder / "precious");
  std::ofstream(folder / "precious/thesis.txt") << "text";
  EXPECT_CONTAINS(error_of([&] { create(folder / "precious", other); }), "not a Measurement Set");
  EXPECT_TRUE(std::filesystem::exists(folder / "precious/thesis.txt"));
  EXPECT_CONTAINS(error_of([&] { create(folder / "nowhere/a.ms", other); }), "no directory");
}

TEST(Create, refuses_inconsistent_descriptions) {
  const TemporaryFolder folder;
  const auto message = [&](const std::function<void(MsDescription*)>& spoil) {
    MsDescription description = small_description();
    spoil(&description);
    const std::string text = error_of([&] { create(folder / "a.ms", description); });
    EXPECT_FALSE(std::filesystem::exists(folder / "a.ms"));
    return text;
  };
  EXPECT_CONTAINS(message([](MsDescription* d) { d->uvw_m.pop_back(); }), "expected 108 values, got 107");
  EXPECT_CONTAINS(message([](MsDescription* d) { d->antenna2[0] = 4; }), "there are 4 antennas");
  EXPECT_CONTAINS(message([](MsDescription* d) { d->correlation_type = {9, 10, 12}; }), "1, 2 or 4");
  EXPECT_CONTAINS(message([](MsDescription* d) { d->correlation_type = {8, 9}; }), "one kind of feed");
  EXPECT_CONTAINS(message([](MsDescription* d) { d->interval_s = 0; }), "positive");
  EXPECT_CONTAINS(message([](MsDescription* d) { std::swap(d->time_s[0], d->time_s[1]); }), "ascending");
  EXPECT_CONTAINS(message([](MsDescription* d) { d->spectral_windows.clear(); }), "no spectral window");
  EXPECT_CONTAINS(message([](MsDescription* d) { d->spectral_windows[0].width_hz.pop_back(); }), "expected 5");
  EXPECT_CONTAINS(message([](MsDescription* d) { d->field_of_time = {0, 0, 0, 0, 0, 1}; }), "field 1");
}

TEST(Create, size_estimate_is_close) {
  const TemporaryFolder folder;
  MsDescription description = small_description(6, 100);
  description.spectral_windows = {window_of(1e9, 1e6, 256)};
  number_uvw(&description);
  create(folder / "a.ms", description);
  double bytes = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder / "a.ms")) {
    if (file.is_regular_file()) bytes += static_cast<double>(file.file_size());
  }
  // The estimate decides whether the disk has room: tiles at the edges and sub-tables may add a little.
  EXPECT_NEAR(bytes / static_cast<double>(created_bytes(description)), 1, 0.15);
}

}  // namespace
}  // namespace rimetree::ms
