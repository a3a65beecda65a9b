#include "runtime/ms/inspect/inspect.h"

#include "runtime/ms/inspect/summary_json.h"
#include "tests/runtime/ms/small_set.h"

namespace rimetree::ms {
namespace {

bool warns(const MsSummary& summary, const std::string& part) {
  for (const std::string& warning : summary.warnings) {
    if (warning.find(part) != std::string::npos) return true;
  }
  return false;
}

TEST(Inspect, counts_rows_times_and_baselines) {
  const TemporaryFolder folder;
  MsDescription description = small_description(5, 7);
  description.antenna1.push_back(2);
  description.antenna2.push_back(2);
  number_uvw(&description);
  create(folder / "a.ms", description);
  const MsSummary summary = inspect(folder / "a.ms");
  EXPECT_EQ(summary.telescope, "TestArray");
  EXPECT_EQ(summary.n_row, 77);
  EXPECT_EQ(summary.n_time, 7);
  EXPECT_EQ(summary.n_baseline, 10);
  EXPECT_EQ(summary.n_autocorrelation, 7);
  EXPECT_EQ(summary.rows_of_antenna, (std::vector<std::int64_t>{28, 28, 35, 28, 28}));
  EXPECT_EQ(summary.first_time_s, 5.0e9);
  EXPECT_EQ(summary.last_time_s, 5.0e9 + 48);
  EXPECT_EQ(summary.spacing_s, 8);
  EXPECT_EQ(summary.exposures_s, std::vector<double>{8});
  ASSERT_EQ(summary.groups.size(), 1u);
  EXPECT_EQ(summary.groups[0].min_rows_per_time, 10);
  EXPECT_EQ(summary.groups[0].max_rows_per_time, 10);
  EXPECT_EQ(summary.groups[0].n_missing, 0);
  EXPECT_TRUE(summary.progress.empty());
  EXPECT_FALSE(summary.unsorted);
}

TEST(Inspect, missing_and_repeated_rows_and_unused_antennas) {
  const TemporaryFolder folder;
  MsDescription description = small_description(4, 3);
  description.antenna1 = {0, 0, 1};
  description.antenna2 = {1, 2, 2};
  description.antennas[1].position_m = {0, 0, 0};
  number_uvw(&description);
  create(folder / "a.ms", description);
  {
    MeasurementSet ms(folder / "a.ms", Access::kUpdate);
    ms.table().write_ints("ANTENNA2", {4}, {1});  // 0-2 at the second time becomes another 0-1
  }
  const MsSummary summary = inspect(folder / "a.ms");
  EXPECT_EQ(summary.groups[0].n_missing, 1);
  EXPECT_EQ(summary.groups[0].n_duplicate, 1);
  EXPECT_EQ(summary.groups[0].min_rows_per_time, 2);
  EXPECT_EQ(summary.groups[0].max_rows_per_time, 3);
  EXPECT_TRUE(warns(summary, "1 rows are missing"));
  EXPECT_TRUE(warns(summary, "repeat a baseline"));
  EXPECT_TRUE(warns(summary, "antennas without data: m003 (3)"));
  EXPECT_TRUE(warns(summary, "with data but at position 0: m001 (1)"));
}

TEST(Inspect, flags_and_weights) {
  const TemporaryFolder folder;
  MsDescription description = small_description(2, 4);
  description.weight_spectrum = true;
  create(folder / "a.ms", description);
  {
    MeasurementSet ms(folder / "a.ms", Access::kUpdate);
    ms.table().write_bools("FLAG_ROW", {1}, {1});
    std::vector<std::uint8_t> flags(20, 0);
    flags[0] = flags[1] = 1;
    const CellPart part{{5, 4}, 0, 5};
    ms.table().write_cells("FLAG", {2}, part, flags.data());
    std::vector<float> weights(20, 1);
    weights[1] = weights[2] = weights[3] = 0;
    ms.table().write_cells("WEIGHT_SPECTRUM", {2}, part, weights.data());
  }
  MsSummary summary = inspect(folder / "a.ms");
  EXPECT_DOUBLE_EQ(summary.flagged_fraction, 22.0 / 80);
  EXPECT_DOUBLE_EQ(summary.zero_weight_fraction, 3.0 / 80);
  EXPECT_DOUBLE_EQ(summary.usable_fraction, 56.0 / 80);
  EXPECT_EQ(summary.n_flag_row, 1);
  EXPECT_TRUE(warns(summary, "zero weight in WEIGHT_SPECTRUM"));
  EXPECT_EQ(summary.weight_column, "WEIGHT_SPECTRUM");
  EXPECT_EQ(summary.groups.at(0).weight_column, "WEIGHT_SPECTRUM");
  {
    MeasurementSet ms(folder / "a.ms", Access::kUpdate);
    ms.table().write_bools("FLAG_ROW", {0, 1, 2, 3}, {1, 1, 1, 1});
  }
  EXPECT_TRUE(warns(inspect(folder / "a.ms"), "every visibility is flagged"));
  InspectOptions quick;
  quick.scan_cells = false;
  EXPECT_FALSE(inspect(folder / "a.ms", quick).cells_scanned);
}

TEST(Inspect, channels) {
  SpectralWindow window = window_of(1e9, 1e6, 6);
  EXPECT_EQ(summarise_channels(window).order, "ascending");
  EXPECT_TRUE(summarise_channels(window).regular);
  window = window_of(1e9, -1e6, 6);
  EXPECT_EQ(summarise_channels(window).order, "descending");
  EXPECT_TRUE(summarise_channels(window).regular);
  EXPECT_TRUE(summarise_channels(window).negative_width);
  EXPECT_EQ(summarise_channels(window).width_hz, 1e6);
  EXPECT_EQ(summarise_channels(window).lowest_hz, 1e9 - 5e6);
  window = window_of(1e9, 1e6, 6);
  for (std::size_t i = 3; i < 6; ++i) window.frequency_hz[i] += 4e6;
  EXPECT_EQ(summarise_channels(window).gaps, 1u);
  EXPECT_FALSE(summarise_channels(window).regular);
  EXPECT_EQ(summarise_channels(window).spacing_hz, 1e6);
  std::swap(window.frequency_hz[0], window.frequency_hz[1]);
  EXPECT_EQ(summarise_channels(window).order, "irregular");
  EXPECT_EQ(summarise_channels(window_of(1e9, 2e6, 1)).order, "single");
  EXPECT_EQ(summarise_channels(window_of(1e9, 2e6, 1)).spacing_hz, 2e6);
  window = window_of(1e9, 1e6, 4);
  window.width_hz[2] = 3e6;
  EXPECT_FALSE(summarise_channels(window).equal_widths);
}

TEST(Inspect, exposures_that_bite) {
  const TemporaryFolder folder;
  MsDescription description = small_description(3, 5);
  description.exposure_s = 0.04;
  description.interval_s = 0.04;
  create(folder / "a.ms", description);
  EXPECT_TRUE(warns(inspect(folder / "a.ms"), "much less than the spacing"));
  description.exposure_s = 6;
  description.interval_s = 8;
  create(folder / "b.ms", description);
  EXPECT_TRUE(warns(inspect(folder / "b.ms"), "EXPOSURE and INTERVAL differ"));
}

TEST(Inspect, json_is_complete_and_escaped) {
  const TemporaryFolder folder;
  MsDescription description = small_description(3, 2);
  description.telescope = "a \"quoted\" \\ name\n";
  create(folder / "a.ms", description);
  const std::string text = to_json(inspect(folder / "a.ms"));
  EXPECT_CONTAINS(text, "\"telescope\": \"a \\\"quoted\\\" \\\\ name\\u000a\"");
  EXPECT_CONTAINS(text, "\"correlations\": [\"XX\", \"XY\", \"YX\", \"YY\"]");
  EXPECT_CONTAINS(text, "\"family\": \"unknown\"");
  EXPECT_CONTAINS(text, "\"n_row\": 6");
  EXPECT_CONTAINS(text, "\"first_time\": \"2017-04-27T08:53:20.000\"");
  EXPECT_EQ(text.front(), '{');
  EXPECT_EQ(text.back(), '}');
}

TEST(Inspect, a_set_without_rows) {
  const TemporaryFolder folder;
  MsDescription description = small_description(3, 1);
  description.antenna1.clear();
  description.antenna2.clear();
  description.uvw_m.clear();
  create(folder / "a.ms", description);
  const MsSummary summary = inspect(folder / "a.ms");
  EXPECT_EQ(summary.n_row, 0);
  EXPECT_TRUE(warns(summary, "there are no rows"));
}

}  // namespace
}  // namespace rimetree::ms
