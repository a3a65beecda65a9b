#include "runtime/ms/set/measurement_set.h"

#include <fstream>

#include "runtime/ms/set/row_index.h"
#include "runtime/ms/tiles/tile_reader.h"
#include "tests/runtime/ms/small_set.h"

namespace rimetree::ms {
namespace {

TEST(MeasurementSet, says_what_is_not_a_measurement_set) {
  const TemporaryFolder folder;
  EXPECT_CONTAINS(error_of([&] { MeasurementSet(folder / "none.ms"); }), "no such file");
  std::ofstream(folder / "plain.txt") << "text";
  EXPECT_CONTAINS(error_of([&] { MeasurementSet(folder / "plain.txt"); }), "plain file");
  std::filesystem::create_directory(folder / "empty");
  EXPECT_CONTAINS(error_of([&] { MeasurementSet(folder / "empty"); }), "without table.dat");
  create(folder / "a.ms", small_description());
  EXPECT_CONTAINS(error_of([&] { MeasurementSet(folder / "a.ms/ANTENNA"); }), "no Measurement Set: column TIME");
}

TEST(MeasurementSet, says_which_file_is_broken) {
  const TemporaryFolder folder;
  create(folder / "a.ms", small_description());
  std::filesystem::remove_all(folder / "a.ms/SPECTRAL_WINDOW");
  EXPECT_CONTAINS(error_of([&] { MeasurementSet(folder / "a.ms"); }), "SPECTRAL_WINDOW");
  create(folder / "b.ms", small_description());
  std::ofstream(folder / "b.ms/table.dat") << "scrambled";
  EXPECT_CONTAINS(error_of([&] { MeasurementSet(folder / "b.ms"); }), "opening " + (folder / "b.ms"));
}

TEST(MeasurementSet, repairs_headers_that_a_killed_process_left_half_written) {
  namespace fs = std::filesystem;
  const TemporaryFolder folder;
  const std::string path = folder / "a.ms";
  create(path, small_description());
  write_coded(path);
  int spoilt = 0;
  for (int i = 0; i < 20; ++i) {
    const std::string name = "table.f" + std::to_string(i);
    if (!fs::exists(path + "/" + name + "_TSM0")) continue;
    fs::copy_file(path + "/" + name, path + "/rimetree." + name + ".backup");
    std::ofstream(path + "/" + name) << "";
    ++spoilt;
  }
  ASSERT_GT(spoilt, 2);
  {
    const MeasurementSet ms(path);
    std::vector<std::complex<float>> values(20);
    ms.table().read_cells("DATA", {7}, {{5, 4}, 0, 5}, values.data());
    EXPECT_EQ(values[19], coded(7, 4, 3));
  }
  const MeasurementSet ms(path, Access::kUpdate);
  for (const auto& entry : fs::directory_iterator(path)) {
    EXPECT_EQ(entry.path().filename().string().find("backup"), std::string::npos) << entry.path();
  }
}

TEST(MeasurementSet, names_the_columns_that_can_be_read) {
  const TemporaryFolder folder;
  create(folder / "a.ms", small_description());
  const MeasurementSet ms(folder / "a.ms");
  const std::string missing = error_of([&] { ms.require_visibilities("CORRECTED_DATA"); });
  EXPECT_CONTAINS(missing, "no column CORRECTED_DATA");
  EXPECT_CONTAINS(missing, "columns of visibilities are: DATA");
  EXPECT_CONTAINS(error_of([&] { ms.require_visibilities("WEIGHT"); }), "real numbers");
  EXPECT_CONTAINS(error_of([&] { ms.require_visibilities("TIME"); }), "expected an array of Complex per row");
  EXPECT_CONTAINS(error_of([&] { ms.cell_shape(1); }), "no DATA_DESC_ID 1");
}

TEST(MeasurementSet, ids_outside_their_table_are_found) {
  const TemporaryFolder folder;
  create(folder / "a.ms", small_description());
  {
    MeasurementSet ms(folder / "a.ms", Access::kUpdate);
    ms.table().write_ints("ANTENNA2", {7}, {9});
  }
  const MeasurementSet ms(folder / "a.ms");
  const std::string message = error_of([&] { read_row_index(ms); });
  EXPECT_CONTAINS(message, "column ANTENNA2");
  EXPECT_CONTAINS(message, "row 7");
  EXPECT_CONTAINS(message, "got 9");
}

TEST(MeasurementSet, correlation_names) {
  EXPECT_EQ(correlation_name(5), "RR");
  EXPECT_EQ(correlation_name(8), "LL");
  EXPECT_EQ(correlation_name(10), "XY");
  EXPECT_EQ(correlation_name(1), "I");
  EXPECT_EQ(correlation_name(77), "?77");
}

}  // namespace
}  // namespace rimetree::ms
