// What read_antenna_fields() finds in sets of LOFAR, and in sets that are none.
#include "runtime/ms/tables/antenna_fields.h"

#include "tests/runtime/ms/small_set.h"
#include "tests/runtime/ms/tables/casacore_lofar_table.h"

namespace rimetree::ms {
namespace {

const std::vector<double> kAxes{1, 0, 0, 0, 0, 1, 0, -1, 0};

/// Two elements, of which the second is dead for Y, this far from where the antenna is.
LofarRow row_of(const MsDescription& description, int antenna, const std::string& name, double away_m) {
  const auto& at = description.antennas[static_cast<std::size_t>(antenna)].position_m;
  return {antenna,
          name,
          {at[0] + away_m, at[1], at[2]},
          kAxes,
          {1, 2, 3, 4, 5, 6},
          {false, false, false, true},
          {0.5, 0, 0, 0, 0.5, 0, 0, 0, 0.5}};
}

std::string told(const std::string& path) {
  try {
    read_antenna_fields(path);
  } catch (const MsError& error) {
    return error.what();
  }
  return "";
}

TEST(AntennaFields, are_read) {
  const TemporaryFolder folder;
  const MsDescription description = small_description(3, 2);
  create(folder / "a.ms", description);
  add_lofar_tables(folder / "a.ms", {row_of(description, 0, "HBA", 0), row_of(description, 2, "LBA", 10)}, 1.0, -0.5);
  const AntennaFields found = read_antenna_fields(folder / "a.ms");
  EXPECT_EQ(found.n_antenna, 3u);
  ASSERT_EQ(found.fields.size(), 2u);
  const AntennaField &high = found.fields[0], &low = found.fields[1];
  EXPECT_EQ(high.antenna_id, 0);
  EXPECT_EQ(high.name, "HBA");
  EXPECT_TRUE(std::equal(kAxes.begin(), kAxes.end(), high.axes.begin()));
  EXPECT_EQ(high.elements_m, (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(high.is_dead, (std::vector<std::uint8_t>{0, 0, 0, 1}));
  EXPECT_EQ(high.tile_elements_m.size(), 9u);
  EXPECT_EQ(low.antenna_id, 2);
  EXPECT_EQ(low.elements_m, (std::vector<double>{11, 2, 3, 14, 5, 6}));  // from the antenna, not from the field
  EXPECT_TRUE(low.tile_elements_m.empty());
  ASSERT_EQ(found.station_directions_rad.size(), 1u);
  EXPECT_NEAR(found.station_directions_rad[0][0], 1.2, 1e-12);
  EXPECT_NEAR(found.station_directions_rad[0][1], -0.6, 1e-12);
  ASSERT_EQ(found.tile_directions_rad.size(), 1u);
  EXPECT_NEAR(found.tile_directions_rad[0][0], 1.0, 1e-12);
  EXPECT_NEAR(found.tile_directions_rad[0][1], -0.5, 1e-12);
}

TEST(AntennaFields, that_do_not_fit_are_told) {
  const TemporaryFolder folder;
  const MsDescription description = small_description(3, 2);
  create(folder / "none.ms", description);
  EXPECT_NE(told(folder / "none.ms").find("no sub-table LOFAR_ANTENNA_FIELD"), std::string::npos);
  LofarRow beyond = row_of(description, 0, "HBA", 0), short_of_flags = beyond, odd = beyond;
  beyond.antenna_id = 3;
  short_of_flags.flags.resize(2);
  odd.axes.resize(6);
  for (const auto& [name, row, said] :
       {std::tuple("beyond.ms", beyond, "there is no antenna 3"),
        std::tuple("flags.ms", short_of_flags, "ELEMENT_FLAG"), std::tuple("axes.ms", odd, "COORDINATE_AXES")}) {
    create(folder / name, description);
    add_lofar_tables(folder / name, {row}, 1.0, -0.5);
    EXPECT_NE(told(folder / name).find(said), std::string::npos) << told(folder / name);
  }
}

}  // namespace
}  // namespace rimetree::ms
