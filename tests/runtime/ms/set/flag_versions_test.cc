// Flags saved as a table and restored, and what does not fit.
#include "runtime/ms/set/flag_versions.h"

#include <random>

#include "tests/runtime/ms/small_set.h"

namespace rimetree::ms {
namespace {

struct Flags {
  std::vector<std::vector<std::uint8_t>> cells;
  std::vector<std::uint8_t> rows;
  friend bool operator==(const Flags& a, const Flags& b) { return a.cells == b.cells && a.rows == b.rows; }
};

Flags read(const std::string& path) {
  const MeasurementSet ms(path);
  Flags flags{{}, ms.table().bools("FLAG_ROW", 0, ms.n_row())};
  const std::vector<int> ids = ms.table().ints("DATA_DESC_ID", 0, ms.n_row());
  for (std::int64_t row = 0; row < ms.n_row(); ++row) {
    const CellShape shape = ms.cell_shape(ids[row]);
    flags.cells.emplace_back(shape.n_channel * shape.n_correlation);
    ms.table().read_cells("FLAG", {row}, {shape, 0, shape.n_channel}, flags.cells.back().data());
  }
  return flags;
}

void flag_at_random(const std::string& path, unsigned seed, double share) {
  std::mt19937 random(seed);
  std::bernoulli_distribution flagged(share);
  MeasurementSet ms(path, Access::kUpdate);
  const std::vector<int> ids = ms.table().ints("DATA_DESC_ID", 0, ms.n_row());
  for (std::int64_t row = 0; row < ms.n_row(); ++row) {
    const CellShape shape = ms.cell_shape(ids[row]);
    std::vector<std::uint8_t> flags(shape.n_channel * shape.n_correlation);
    for (std::uint8_t& flag : flags) flag = flagged(random);
    ms.table().write_cells("FLAG", {row}, {shape, 0, shape.n_channel}, flags.data());
    ms.table().write_bools("FLAG_ROW", {row}, {static_cast<std::uint8_t>(flagged(random))});
  }
}

TEST(FlagVersions, come_back_bit_by_bit_from_windows_of_different_shape) {
  const TemporaryFolder folder;
  MsDescription description = small_description(3, 4);
  description.spectral_windows = {window_of(1.4e9, 1e6, 5), window_of(1.5e9, 1e6, 2)};
  create(folder / "a.ms", description);
  flag_at_random(folder / "a.ms", 1, 0.2);
  const Flags before = read(folder / "a.ms");
  save_flags(folder / "a.ms", folder / "flags.first");
  flag_at_random(folder / "a.ms", 2, 0.9);
  EXPECT_FALSE(read(folder / "a.ms") == before);
  const FlagChange change = restore_flags(folder / "a.ms", folder / "flags.first", 0);
  EXPECT_TRUE(read(folder / "a.ms") == before);
  EXPECT_EQ(change.visibilities, 12 * (20 + 8));
  std::int64_t flagged = 0;
  for (std::size_t row = 0; row < before.rows.size(); ++row) {
    for (const std::uint8_t flag : before.cells[row]) flagged += flag != 0 || before.rows[row] != 0;
  }
  EXPECT_EQ(change.after, flagged);
  EXPECT_GT(change.before, flagged);
}

TEST(FlagVersions, of_another_set_are_refused_and_nothing_changes) {
  const TemporaryFolder folder;
  create(folder / "a.ms", small_description(3, 4));
  create(folder / "b.ms", small_description(3, 5));
  MsDescription wide = small_description(3, 4);
  wide.spectral_windows = {window_of(1.4e9, 1e6, 7)};
  create(folder / "c.ms", wide);
  save_flags(folder / "a.ms", folder / "flags.a");
  const Flags before = read(folder / "c.ms");
  EXPECT_CONTAINS(error_of([&] { restore_flags(folder / "b.ms", folder / "flags.a", 0); }), "are of 12 rows, but");
  EXPECT_CONTAINS(error_of([&] { restore_flags(folder / "c.ms", folder / "flags.a", 0); }),
                  "7 channels x 4 correlations");
  EXPECT_TRUE(read(folder / "c.ms") == before);
}

}  // namespace
}  // namespace rimetree::ms
