// What tables hold that are no Measurement Sets, here parts of one. Images of CASA are read in Python's tests.
#include "runtime/ms/tables/table_contents.h"

#include "tests/runtime/ms/small_set.h"

namespace rimetree::ms {
namespace {

TEST(TableContents, ReadsKeywordsAndColumnsThatThereAre) {
  const TemporaryFolder folder;
  create(folder / "a.ms", small_description());
  const std::string json = table_as_json(folder / "a.ms/SPECTRAL_WINDOW", {"NAME", "no such column", "NUM_CHAN"});
  for (const char* part : {"\"keywords\"", "\"rows\"", "\"0\"", "\"NAME\"", "\"NUM_CHAN\""})
    EXPECT_NE(json.find(part), std::string::npos) << part << " in " << json;
  EXPECT_EQ(json.find("no such column"), std::string::npos);
  EXPECT_EQ(table_as_json(folder / "a.ms/SPECTRAL_WINDOW", {}).find("NAME"), std::string::npos);
  EXPECT_THROW(table_as_json(folder / "none", {}), MsError);
}

TEST(TableContents, ReadsTheArrayOfTheOnlyRow) {
  const TemporaryFolder folder;
  MsDescription description = small_description();
  create(folder / "a.ms", description);
  const PixelArray found = read_pixels(folder / "a.ms/SPECTRAL_WINDOW", "CHAN_FREQ");
  EXPECT_EQ(found.values, description.spectral_windows.at(0).frequency_hz);
  EXPECT_EQ(found.shape, std::vector<std::size_t>{found.values.size()});
  EXPECT_EQ(read_pixels(folder / "a.ms/FIELD", "PHASE_DIR").shape,
            (std::vector<std::size_t>{1, 2}));                                    // the fastest last
  EXPECT_THROW(read_pixels(folder / "a.ms/POLARIZATION", "CORR_TYPE"), MsError);  // whole numbers
  EXPECT_THROW(read_pixels(folder / "a.ms/ANTENNA", "POSITION"), MsError);        // several rows
  EXPECT_THROW(read_pixels(folder / "a.ms/FIELD", "none"), MsError);
}

}  // namespace
}  // namespace rimetree::ms
