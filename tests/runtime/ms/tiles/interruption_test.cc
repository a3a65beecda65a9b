// What is left when writing ends early: by an exception, a full disk, kill -9.
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "runtime/ms/inspect/inspect.h"
#include "runtime/ms/tiles/tile_writer.h"
#include "tests/runtime/ms/coded_tiles.h"

namespace rimetree::ms {
namespace {

TEST(Interruption, an_exception_leaves_a_journal_and_a_readable_set) {
  const TemporaryFolder folder;
  create(folder / "a.ms", small_description());
  MeasurementSet ms(folder / "a.ms", Access::kUpdate);
  const TileReader reader(ms, coordinates(2));
  try {
    WriteOptions options;
    options.rows_expected = 36;
    TileWriter writer(ms, "MODEL_DATA", options);
    Tile tile = reader.read(0);
    fill(&tile, "MODEL_DATA");
    writer.write(tile);
    throw std::runtime_error("Ctrl-C");
  } catch (const std::runtime_error&) {
  }
  const MsSummary summary = inspect(ms);
  ASSERT_EQ(summary.progress.size(), 1u);
  EXPECT_EQ(summary.progress[0].column, "MODEL_DATA");
  EXPECT_EQ(summary.progress[0].rows_written, 12);
  ASSERT_EQ(summary.progress[0].complete.size(), 1u);
  EXPECT_DOUBLE_EQ(summary.progress[0].complete[0].time_s, 5.0e9 + 8);
  EXPECT_CONTAINS(describe(summary.progress[0]), "12 of 36 rows");
  bool warned = false;
  for (const std::string& warning : summary.warnings) warned |= warning.find("incomplete") != std::string::npos;
  EXPECT_TRUE(warned);
  TileWriter again(ms, "MODEL_DATA");
  again.finish();
  EXPECT_TRUE(read_progress(ms.path()).empty());
}

/// Its journal of "0 of 36 rows" had kept solutions from being applied to the column in place, and what was known of it
/// was lost.
TEST(Interruption, a_run_that_has_written_nothing_leaves_no_trace) {
  const TemporaryFolder folder;
  create(folder / "a.ms", small_description());
  MeasurementSet ms(folder / "a.ms", Access::kUpdate);
  const std::string note = folder / "a.ms/rimetree.DATA.applied";
  std::ofstream(note) << "G";
  { const TileWriter writer(ms, "DATA"); }
  EXPECT_TRUE(read_progress(ms.path()).empty());
  EXPECT_TRUE(std::filesystem::exists(note));
  Progress interrupted;
  interrupted.column = "DATA";
  interrupted.started = "then";
  interrupted.rows_written = 12;
  interrupted.rows_expected = 36;
  store_progress(ms.path(), interrupted);
  { const TileWriter writer(ms, "DATA"); }
  ASSERT_EQ(read_progress(ms.path()).size(), 1u);
  EXPECT_EQ(read_progress(ms.path())[0].rows_written, 12);

  const TileReader reader(ms, coordinates(2));
  WriteOptions options;
  options.sync_interval_s = 1e6;
  TileWriter writer(ms, "DATA", options);
  Tile tile = reader.read(0);
  fill(&tile, "DATA");
  writer.write(tile);
  EXPECT_EQ(read_progress(ms.path())[0].rows_written, 0) << "from before the first row is written";
  EXPECT_FALSE(std::filesystem::exists(note));
  writer.finish();
  EXPECT_TRUE(read_progress(ms.path()).empty());
}

/// Writes tile after tile without end, as a process of its own.
[[noreturn]] void write_for_ever(const std::string& path) {
  try {
    MeasurementSet ms(path, Access::kUpdate);
    const TileReader reader(ms, coordinates(1));
    WriteOptions options;
    options.sync_interval_s = 0;
    options.rows_expected = static_cast<std::int64_t>(reader.n_row());
    TileWriter writer(ms, "MODEL_DATA", options);
    for (std::size_t i = 0; i < reader.tiles().size(); ++i) {
      Tile tile = reader.read(i);
      fill(&tile, "MODEL_DATA");
      writer.write(tile);
    }
    for (;;) ::pause();
  } catch (...) {
    ::_exit(3);
  }
}

TEST(Interruption, kill_9_while_writing_leaves_a_readable_set_and_a_journal_that_tells_the_truth) {
  for (const int wait_ms : {0, 3, 10, 30, 80, 200}) {
    const TemporaryFolder folder;
    const std::string path = folder / "a.ms";
    MsDescription description = small_description(4, 200);
    description.spectral_windows = {window_of(1e9, 1e6, 64)};
    if (wait_ms % 20 == 10) description.spectral_windows.push_back(window_of(2e9, 1e6, 32));
    create(path, description);
    const pid_t child = ::fork();
    if (child == 0) write_for_ever(path);
    const std::string journal = progress_path(path, "MODEL_DATA");
    for (int i = 0; i < 5000 && !std::filesystem::exists(journal); ++i) ::usleep(1000);
    ::usleep(1000 * wait_ms);
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer failed by itself";

    const MeasurementSet ms(path);
    const std::vector<Progress> found = read_progress(path);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].rows_expected, static_cast<std::int64_t>(ms.n_row()));
    EXPECT_EQ(cell(ms, "DATA", ms.n_row() - 1).front(), std::complex<float>());
    if (found[0].creating) continue;
    std::int64_t complete = 0;
    for (std::int64_t row = 0; row < ms.n_row(); ++row) {
      const double time_s = ms.table().doubles("TIME", row, 1)[0];
      const int id = ms.table().ints("DATA_DESC_ID", row, 1)[0];
      const auto values = cell(ms, "MODEL_DATA", row);  // throws if it cannot be read
      for (const CompleteUntil& until : found[0].complete) {
        if (until.data_desc_id != id || time_s > until.time_s) continue;
        ++complete;
        expect_coded(ms, "MODEL_DATA", row);
      }
    }
    EXPECT_EQ(complete, found[0].rows_written);
  }
}

/// Runs `action` in a process of its own that can write no file beyond `bytes`, as on a full disk; true if it threw
/// MsError with advice.
bool fails_well_on_a_full_disk(rlim_t bytes, const std::function<void()>& action) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, bytes};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    int code = 1;
    try {
      action();
    } catch (const MsError& error) {
      code = std::string(error.what()).find("disk full") == std::string::npos ? 2 : 0;
    }
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(Interruption, a_full_disk_leaves_the_set_as_it_was) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.ms";
  MsDescription description = small_description(6, 50);
  description.spectral_windows = {window_of(1e9, 1e6, 64)};
  create(path, description);  // DATA takes 1.5 MB
  EXPECT_TRUE(fails_well_on_a_full_disk(500000, [&] {
    MeasurementSet ms(path, Access::kUpdate);
    TileWriter writer(ms, "MODEL_DATA");
  }));
  EXPECT_TRUE(read_progress(path).empty());
  MeasurementSet ms(path, Access::kUpdate);
  EXPECT_FALSE(ms.has_column("MODEL_DATA"));
  EXPECT_EQ(TileReader(ms, coordinates(100)).read(0).n_row(), 750u);
  TileWriter(ms, "MODEL_DATA").finish();
  EXPECT_TRUE(ms.has_column("MODEL_DATA"));

  const std::string other = folder / "b.ms";
  EXPECT_TRUE(fails_well_on_a_full_disk(500000, [&] { create(other, description); }));
  EXPECT_FALSE(std::filesystem::exists(other));
  EXPECT_FALSE(std::filesystem::exists(other + ".partial"));
}

TEST(Interruption, a_column_whose_creation_was_interrupted_is_cleared) {
  const TemporaryFolder folder;
  MsDescription description = small_description();
  description.columns = {"DATA", "MODEL_DATA"};
  create(folder / "a.ms", description);
  write_coded(folder / "a.ms", "MODEL_DATA");
  Progress interrupted;
  interrupted.column = "MODEL_DATA";
  interrupted.creating = true;
  interrupted.started = "then";
  store_progress(folder / "a.ms", interrupted);
  MeasurementSet ms(folder / "a.ms", Access::kUpdate);
  TileWriter writer(ms, "MODEL_DATA");
  writer.finish();
  EXPECT_EQ(cell(ms, "MODEL_DATA", 3), std::vector<std::complex<float>>(20));
}

}  // namespace
}  // namespace rimetree::ms
