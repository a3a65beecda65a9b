// Tables of solutions as they are created and read again, whole, and never over something else.
#include "runtime/ms/tables/calibration_table.h"

#include <fstream>

#include "runtime/ms/set/create_calibration.h"
#include "tests/runtime/ms/small_set.h"

namespace rimetree::ms {
namespace {

/// Three rows of two parameters, of so many channels.
CalibrationRows some_rows(int window_id, std::size_t n_channel) {
  CalibrationRows rows;
  rows.window_id = window_id;
  rows.time_s = {5e9, 5e9, 5e9 + 8};
  rows.interval_s = {8, 8, 0};
  rows.field_id = {0, 0, 0};
  rows.antenna_id = {2, 0, 1};
  rows.n_channel = n_channel, rows.n_parameter = 2;
  for (std::size_t i = 0; i < 3 * n_channel * 2; ++i) {
    const auto x = static_cast<float>(i);
    rows.values.emplace_back(x, -0.5F * x), rows.errors.push_back(0.25F * x), rows.flags.push_back(i % 3 == 0);
  }
  return rows;
}

CalibrationTable some_table(bool is_complex, std::size_t n_channel) {
  CalibrationTable table;
  table.kind = is_complex ? "B Jones" : "K Jones";
  table.basis = "linear", table.ms_name = "a.ms", table.is_complex = is_complex;
  table.rows = {some_rows(0, n_channel), some_rows(1, n_channel)};
  return table;
}

/// A set of two windows.
std::string made_set(const TemporaryFolder& folder) {
  MsDescription description = small_description();
  description.spectral_windows.push_back(window_of(2e9, 1e6, 5));
  create(folder / "a.ms", description);
  return folder / "a.ms";
}

TEST(CalibrationTable, IsReadAsItWasCreated) {
  const TemporaryFolder folder;
  const std::string set = made_set(folder), path = folder / "cal";
  for (const bool is_complex : {true, false})
    for (const std::size_t n_channel : {std::size_t{1}, std::size_t{5}}) {
      const CalibrationTable table = some_table(is_complex, n_channel);
      create_calibration_table(path, table, set, true);
      EXPECT_EQ(calibration_kind(path), table.kind);
      const CalibrationTable found = read_calibration_table(path);
      EXPECT_EQ(found.kind, table.kind);
      EXPECT_EQ(found.basis, "linear");
      EXPECT_EQ(found.ms_name, "a.ms");
      EXPECT_EQ(found.is_complex, is_complex);
      ASSERT_EQ(found.antennas.size(), 4U);
      EXPECT_EQ(found.antennas[2].name, "m002");
      ASSERT_EQ(found.windows.size(), 2U);
      EXPECT_EQ(found.windows[1].n_channel(), n_channel);
      const double middle_hz =
          std::accumulate(found.windows[1].frequency_hz.begin(), found.windows[1].frequency_hz.end(), 0.0) /
          static_cast<double>(n_channel);
      EXPECT_DOUBLE_EQ(middle_hz, 2.002e9);
      ASSERT_EQ(found.rows.size(), 2U);
      for (std::size_t k = 0; k < 2; ++k) {
        const CalibrationRows &own = found.rows[k], &expected = table.rows[k];
        EXPECT_EQ(own.window_id, expected.window_id);
        EXPECT_EQ(own.time_s, expected.time_s);
        EXPECT_EQ(own.interval_s, expected.interval_s);
        EXPECT_EQ(own.field_id, expected.field_id);
        EXPECT_EQ(own.antenna_id, expected.antenna_id);
        EXPECT_EQ(own.errors, expected.errors);
        EXPECT_EQ(own.flags, expected.flags);
        ASSERT_EQ(own.values.size(), expected.values.size());
        for (std::size_t i = 0; i < own.values.size(); ++i)
          EXPECT_EQ(own.values[i], is_complex ? expected.values[i] : expected.values[i].real()) << i;
      }
    }
}

TEST(CalibrationTable, IsNotWrittenOverSomethingElse) {
  const TemporaryFolder folder;
  const std::string set = made_set(folder);
  const CalibrationTable table = some_table(true, 1);
  create_calibration_table(folder / "cal", table, set, false);
  EXPECT_THROW(create_calibration_table(folder / "cal", table, set, false), MsError);
  EXPECT_THROW(create_calibration_table(set, table, set, true), MsError) << "a Measurement Set";
  std::ofstream(folder / "file") << "precious";
  EXPECT_THROW(create_calibration_table(folder / "file", table, set, true), MsError);
  EXPECT_EQ(std::filesystem::file_size(folder / "file"), 8U);
  EXPECT_THROW(create_calibration_table(folder / "none/cal", table, set, true), MsError);
  EXPECT_THROW(create_calibration_table(folder / "new", table, folder / "none.ms", true), MsError);
  EXPECT_FALSE(std::filesystem::exists(folder / "new"));
  EXPECT_FALSE(std::filesystem::exists(folder / "new.partial"));
}

TEST(CalibrationTable, IsNoOtherTable) {
  const TemporaryFolder folder;
  const std::string set = made_set(folder);
  EXPECT_EQ(calibration_kind(set), "");
  EXPECT_EQ(calibration_kind(folder / "none"), "");
  EXPECT_THROW(read_calibration_table(set), MsError);
  EXPECT_THROW(read_calibration_table(folder / "none"), MsError);
}

}  // namespace
}  // namespace rimetree::ms
