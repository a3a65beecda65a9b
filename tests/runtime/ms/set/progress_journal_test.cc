#include "runtime/ms/set/progress_journal.h"

#include <fstream>

#include "tests/runtime/ms/small_set.h"

namespace rimetree::ms {
namespace {

TEST(ProgressJournal, comes_back_as_stored) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "a.ms");
  Progress progress;
  progress.column = "MODEL_DATA";
  progress.started = "2026-01-02T03:04:05.000";
  progress.rows_written = 5;
  progress.rows_expected = 9;
  progress.complete = {{1, 2, 5.0e9 + 0.125}};
  store_progress(folder / "a.ms", progress);
  std::ofstream(folder / "a.ms/rimetree.BROKEN.progress") << "half";
  const std::vector<Progress> found = read_progress(folder / "a.ms");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].rows_expected, -1);
  EXPECT_CONTAINS(describe(found[0]), "cannot be read");
  EXPECT_EQ(found[1].rows_written, 5);
  EXPECT_EQ(found[1].complete[0].time_s, 5.0e9 + 0.125);
  EXPECT_EQ(found[1].complete[0].field_id, 2);
}

TEST(ProgressJournal, times_are_utc_dates) {
  EXPECT_EQ(utc_text(51544.5 * 86400), "2000-01-01T12:00:00.000");
  EXPECT_EQ(utc_text(40587.0 * 86400 + 59.9996), "1970-01-01T00:01:00.000");
  EXPECT_EQ(utc_text(0), "1858-11-17T00:00:00.000");
  EXPECT_EQ(utc_text(NAN), "?");
}

}  // namespace
}  // namespace rimetree::ms
