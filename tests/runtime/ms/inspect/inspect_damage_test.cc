// Sets with something wrong in them: inspect() must name it, and must not contradict itself.
#include <limits>
#include <numeric>

#include "runtime/ms/inspect/inspect.h"
#include "runtime/ms/inspect/summary_json.h"
#include "tests/runtime/ms/small_set.h"
#include "tests/runtime/ms/tables/casacore_feed_table.h"

namespace rimetree::ms {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
const CellPart kWhole{{5, 4}, 0, 5};

std::string warnings(const MsSummary& summary) {
  std::string text;
  for (const std::string& warning : summary.warnings) text += warning + "\n";
  return text;
}

TEST(InspectDamage, visibilities_and_weights_that_are_no_numbers) {
  const TemporaryFolder folder;
  MsDescription description = small_description(3, 4);  // 12 rows of 20 visibilities
  description.weight_spectrum = true;
  create(folder / "a.ms", description);
  write_coded(folder / "a.ms");
  {
    MeasurementSet ms(folder / "a.ms", Access::kUpdate);
    std::vector<std::complex<float>> values(20, 1.0f);
    values[3] = {kNan, 0};
    values[4] = {0, std::numeric_limits<float>::infinity()};
    ms.table().write_cells("DATA", {5}, kWhole, values.data());
    std::vector<std::uint8_t> flags(20, 0);
    flags[3] = 1;
    ms.table().write_cells("FLAG", {5}, kWhole, flags.data());
    std::vector<float> weights(20, 1);
    weights[0] = -1;
    weights[1] = kNan;
    weights[2] = 0;
    ms.table().write_cells("WEIGHT_SPECTRUM", {7}, kWhole, weights.data());
  }
  const MsSummary summary = inspect(folder / "a.ms");
  ASSERT_EQ(summary.columns.size(), 1u);
  EXPECT_EQ(summary.columns[0].n_looked_at, 240);
  EXPECT_EQ(summary.columns[0].n_not_finite, 2);
  EXPECT_EQ(summary.columns[0].n_usable_not_finite, 1);
  EXPECT_DOUBLE_EQ(summary.negative_weight_fraction, 1.0 / 240);
  EXPECT_DOUBLE_EQ(summary.not_finite_weight_fraction, 1.0 / 240);
  EXPECT_DOUBLE_EQ(summary.zero_weight_fraction, 1.0 / 240);
  EXPECT_DOUBLE_EQ(summary.usable_fraction, 236.0 / 240);
  EXPECT_CONTAINS(warnings(summary), "0.833333 % of the values in DATA are not finite");
  EXPECT_CONTAINS(warnings(summary), "0.416667 % without being flagged");
  EXPECT_CONTAINS(warnings(summary), "negative weight");
  EXPECT_CONTAINS(warnings(summary), "a weight that is not a number");
}

TEST(InspectDamage, uvw_that_are_no_numbers) {
  const TemporaryFolder folder;
  MsDescription description = small_description(3, 4);
  number_uvw(&description);
  description.uvw_m[3 * 4 + 1] = std::numeric_limits<double>::quiet_NaN();
  create(folder / "a.ms", description);
  const MsSummary summary = inspect(folder / "a.ms");
  EXPECT_EQ(summary.n_uvw_not_finite, 1);
  EXPECT_CONTAINS(warnings(summary), "1 rows have UVW that are not finite");
}

TEST(InspectDamage, antennas_that_are_flagged_or_dead) {
  const TemporaryFolder folder;
  create(folder / "a.ms", small_description(5, 3));
  {
    MeasurementSet ms(folder / "a.ms", Access::kUpdate);
    const std::vector<int> p = ms.table().ints("ANTENNA1", 0, ms.n_row()),
                           q = ms.table().ints("ANTENNA2", 0, ms.n_row());
    const std::vector<std::uint8_t> all(20, 1);
    for (std::int64_t row = 0; row < ms.n_row(); ++row) {
      const bool dead = p[row] == 1 || q[row] == 1;
      const std::vector<std::complex<float>> values(20, dead ? 1e-5f : 3.0f);
      ms.table().write_cells("DATA", {row}, kWhole, values.data());
      if (p[row] == 3 || q[row] == 3) ms.table().write_cells("FLAG", {row}, kWhole, all.data());
    }
  }
  const MsSummary summary = inspect(folder / "a.ms");
  EXPECT_TRUE(summary.antenna_cells[1].dead);
  EXPECT_FALSE(summary.antenna_cells[0].dead);
  EXPECT_FALSE(summary.antenna_cells[3].dead);  // nothing is known of it
  EXPECT_EQ(summary.antenna_cells[3].usable, 0);
  EXPECT_CONTAINS(warnings(summary), "everything is flagged or without weight: m003 (3)");
  EXPECT_CONTAINS(warnings(summary),
                  "look dead (unflagged, but less than a thousandth of the usual amplitude): m001 (1)");
  EXPECT_EQ(warnings(summary).find("m000"), std::string::npos);
}

TEST(InspectDamage, interference_makes_no_antenna_look_dead_and_most_may_be) {
  const TemporaryFolder folder;
  create(folder / "a.ms", small_description(5, 3));
  const auto fill = [&](const std::function<std::vector<std::complex<float>>(int, int)>& of) {
    MeasurementSet ms(folder / "a.ms", Access::kUpdate);
    const std::vector<int> p = ms.table().ints("ANTENNA1", 0, ms.n_row()),
                           q = ms.table().ints("ANTENNA2", 0, ms.n_row());
    for (std::int64_t row = 0; row < ms.n_row(); ++row) {
      const std::vector<std::complex<float>> values = of(p[row], q[row]);
      ms.table().write_cells("DATA", {row}, kWhole, values.data());
    }
  };
  const auto dead = [&] {
    std::string names;
    for (const AntennaCells& cells : inspect(folder / "a.ms").antenna_cells) names += cells.dead ? "x" : "-";
    return names;
  };
  fill([](int p, int q) {  // one channel of baselines of three antennas: the mean power is a million times as large
    std::vector<std::complex<float>> values(20, 3.0f);
    if (p < 3 && q < 3) values[0] = 3e6f;
    return values;
  });
  EXPECT_EQ(dead(), "-----");
  for (const float level : {0.0f, 1e-5f}) {  // more than half of them, of which one has no other than dead ones but two
    fill([&](int p, int q) { return std::vector<std::complex<float>>(20, p < 2 || q < 2 ? level : 3.0f); });
    EXPECT_EQ(dead(), "xx---");
  }
  fill([](int p, int q) { return std::vector<std::complex<float>>(20, p < 3 || q < 3 ? 0.0f : 3.0f); });
  EXPECT_EQ(dead(), "xxx--");
}

TEST(InspectDamage, antennas_without_any_number_are_named) {
  const TemporaryFolder folder;
  create(folder / "a.ms", small_description(4, 2));
  {
    MeasurementSet ms(folder / "a.ms", Access::kUpdate);
    const std::vector<int> p = ms.table().ints("ANTENNA1", 0, ms.n_row()),
                           q = ms.table().ints("ANTENNA2", 0, ms.n_row());
    for (std::int64_t row = 0; row < ms.n_row(); ++row) {
      const std::vector<std::complex<float>> values(20, p[row] == 2 || q[row] == 2 ? kNan : 3.0f);
      ms.table().write_cells("DATA", {row}, kWhole, values.data());
    }
  }
  EXPECT_CONTAINS(warnings(inspect(folder / "a.ms")), "antennas of which no unflagged value is finite: m002 (2)\n");
}

TEST(InspectDamage, a_new_set_of_zeros_has_no_dead_antennas) {
  const TemporaryFolder folder;
  create(folder / "a.ms", small_description(4, 2));
  const MsSummary summary = inspect(folder / "a.ms");
  EXPECT_TRUE(summary.columns[0].all_zero);
  EXPECT_EQ(warnings(summary).find("dead"), std::string::npos);
}

TEST(InspectDamage, antennas_the_other_way_round_are_not_missing) {
  const TemporaryFolder folder;
  const MsDescription description = small_description(3, 4);
  create(folder / "a.ms", description);
  {
    MeasurementSet ms(folder / "a.ms", Access::kUpdate);
    ms.table().write_ints("ANTENNA1", {3, 6}, {1, 1});  // 0-1 at the second and third time
    ms.table().write_ints("ANTENNA2", {3, 6}, {0, 0});
  }
  const MsSummary summary = inspect(folder / "a.ms");
  EXPECT_EQ(summary.n_baseline, 3);
  EXPECT_EQ(summary.groups[0].n_baseline, 3);
  EXPECT_EQ(summary.groups[0].n_missing, 0);
  EXPECT_EQ(summary.groups[0].n_duplicate, 0);
  EXPECT_EQ(summary.groups[0].n_swapped, 2);
  EXPECT_CONTAINS(warnings(summary), "2 rows have their antennas the other way round");
}

TEST(InspectDamage, equal_warnings_of_windows_and_many_names_are_one_line) {
  const TemporaryFolder folder;
  MsDescription description = small_description(4, 1);
  description.spectral_windows.assign(16, window_of(1.4e9, -1e6, 5));
  const Antenna antenna = description.antennas[0];
  for (int i = 0; i < 30; ++i) {
    description.antennas.push_back(antenna);
    description.antennas.back().name = "spare" + std::to_string(i);
  }
  create(folder / "a.ms", description);
  const std::string text = warnings(inspect(folder / "a.ms"));
  EXPECT_CONTAINS(text, "spectral windows 0 1 2 3 4 5 6 7 8 9 10 11 ... (16 in all): channels descend");
  EXPECT_EQ(text.find("channels descend"), text.rfind("channels descend"));
  EXPECT_CONTAINS(text, "spare11 (15) ... (30 in all)");
}

TEST(InspectDamage, antennas_with_other_feeds_than_the_correlations) {
  const TemporaryFolder folder;
  create(folder / "a.ms", small_description());  // XX XY YX YY
  write_feed(folder / "a.ms", 0, {"X"});         // one receptor
  EXPECT_EQ(warnings(inspect(folder / "a.ms")).find("FEED"), std::string::npos);
  write_feed(folder / "a.ms", 1, {"Y", "X"});
  write_feed(folder / "a.ms", 3, {"R", "L"});
  const std::string text = warnings(inspect(folder / "a.ms"));
  EXPECT_CONTAINS(text, "other feeds than X Y, as the correlations have: m001 (1, Y X) m003 (3, R L);");
}

TEST(InspectDamage, antennas_that_are_flagged_as_a_whole) {
  const TemporaryFolder folder;
  create(folder / "a.ms", small_description());
  EXPECT_EQ(warnings(inspect(folder / "a.ms")).find("FLAG_ROW"), std::string::npos);
  {
    CasacoreTable antennas(folder / "a.ms/ANTENNA", Access::kUpdate);
    antennas.write_bools("FLAG_ROW", {2}, {1});
  }
  EXPECT_CONTAINS(warnings(inspect(folder / "a.ms")),
                  "FLAG_ROW of table ANTENNA says that they are flagged: m002 (2);");
}

TEST(InspectDamage, a_data_description_without_its_window) {
  const TemporaryFolder folder;
  create(folder / "a.ms", small_description());
  {
    CasacoreTable descriptions(folder / "a.ms/DATA_DESCRIPTION", Access::kUpdate);
    descriptions.write_ints("SPECTRAL_WINDOW_ID", {0}, {3});
  }
  const std::string message = error_of([&] { MeasurementSet(folder / "a.ms").rows(); });
  EXPECT_CONTAINS(message, "expected a row of table SPECTRAL_WINDOW, which has row 0 only, got 3");
  EXPECT_EQ(inspect(folder / "a.ms").rows_problem, message);
}

/// What is left of a window that was taken out had kept the whole set from being opened.
TEST(InspectDamage, a_data_description_without_its_window_that_no_row_is_of) {
  const TemporaryFolder folder;
  MsDescription description = small_description();
  description.spectral_windows.push_back(description.spectral_windows.front());
  create(folder / "a.ms", description);
  {
    CasacoreTable descriptions(folder / "a.ms/DATA_DESCRIPTION", Access::kUpdate);
    descriptions.write_ints("SPECTRAL_WINDOW_ID", {1}, {7});
    CasacoreTable main(folder / "a.ms", Access::kUpdate);
    std::vector<std::int64_t> rows(static_cast<std::size_t>(main.n_row()));
    std::iota(rows.begin(), rows.end(), 0);
    main.write_ints("DATA_DESC_ID", rows, std::vector<int>(rows.size(), 0));
  }
  const MsSummary summary = inspect(folder / "a.ms");
  EXPECT_EQ(summary.rows_problem, "");
  EXPECT_CONTAINS(warnings(summary), "row 1: expected a row of table SPECTRAL_WINDOW, which has rows 0 to 1, got 7");
  EXPECT_CONTAINS(warnings(summary), "no row of the set is of it, and it is passed over");
  EXPECT_NE(to_json(summary).find("\"spectral_window_id\": -1"), std::string::npos);
  const MeasurementSet ms(folder / "a.ms");
  EXPECT_EQ(ms.rows_in_one_order()->n_row(), ms.n_row());
  EXPECT_CONTAINS(error_of([&] { ms.spectral_window(1); }), "got 7");
}

}  // namespace
}  // namespace rimetree::ms
