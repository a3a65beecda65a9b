#include "runtime/ms/tile_writer.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "runtime/ms/inspect.h"
#include "runtime/ms/tile_reader.h"
#include "tests/runtime/ms/small_set.h"

namespace rimetree::ms {
namespace {

ReadSelection coordinates(std::size_t time_slots) {
  ReadSelection selection;
  selection.rows.time_slots = time_slots;
  return selection;
}

/// Puts coded() values into a column of a tile.
void fill(Tile* tile, const std::string& column) {
  auto& values = tile->columns[column];
  values.assign(tile->n_visibility(), {});
  std::size_t i = 0;
  for (const std::int64_t row : tile->row) {
    for (std::size_t f = 0; f < tile->n_channel(); ++f) {
      for (std::size_t c = 0; c < tile->n_correlation(); ++c) values[i++] = coded(row, tile->first_channel + f, c);
    }
  }
}

/// The whole cell of one row.
std::vector<std::complex<float>> cell(const MeasurementSet& ms, const std::string& column, std::int64_t row) {
  const CellShape shape = ms.cell_shape(ms.table().ints("DATA_DESC_ID", row, 1)[0]);
  std::vector<std::complex<float>> values(shape.n_channel * shape.n_correlation);
  ms.table().read_cells(column, {row}, {shape, 0, shape.n_channel}, values.data());
  return values;
}

void expect_coded(const MeasurementSet& ms, const std::string& column, std::int64_t row) {
  const auto values = cell(ms, column, row);
  const std::size_t n = ms.polarization(0).correlation_type.size();
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], coded(row, i / n, i % n)) << "row " << row;
}

TEST(TileWriter, writes_a_new_column_for_every_number_of_correlations) {
  const TemporaryFolder folder;
  for (const std::vector<int>& types : {std::vector<int>{9}, {5, 8}, {9, 10, 11, 12}}) {
    MsDescription description = small_description();
    description.correlation_type = types;
    description.overwrite = true;
    create(folder / "a.ms", description);
    {
      MeasurementSet ms(folder / "a.ms", Access::kUpdate);
      const TileReader reader(ms, coordinates(4));
      TileWriter writer(ms, "MODEL_DATA");
      for (std::size_t i = 0; i < reader.tiles().size(); ++i) {
        Tile tile = reader.read(i);
        fill(&tile, "MODEL_DATA");
        writer.write(tile);
      }
      writer.finish();
      EXPECT_EQ(writer.rows_written(), 36);
    }
    const MeasurementSet ms(folder / "a.ms");
    EXPECT_TRUE(read_progress(ms.path()).empty());
    for (std::int64_t row = 0; row < ms.n_row(); ++row) expect_coded(ms, "MODEL_DATA", row);
    EXPECT_EQ(cell(ms, "DATA", 5), std::vector<std::complex<float>>(5 * types.size()));
  }
}

TEST(TileWriter, cells_that_no_tile_covers_are_zero_and_of_the_right_shape) {
  const TemporaryFolder folder;
  MsDescription description = small_description();
  description.spectral_windows.push_back(window_of(2e9, -5e5, 3));
  create(folder / "a.ms", description);
  MeasurementSet ms(folder / "a.ms", Access::kUpdate);
  ReadSelection selection = coordinates(2);
  selection.rows.data_desc_id = 1;
  const TileReader reader(ms, selection);
  TileWriter writer(ms, "MODEL_DATA");
  Tile tile = reader.read(1);
  fill(&tile, "MODEL_DATA");
  writer.write(tile);
  writer.finish();
  for (std::int64_t row = 0; row < ms.n_row(); ++row) {
    if (std::count(tile.row.begin(), tile.row.end(), row)) {
      expect_coded(ms, "MODEL_DATA", row);
    } else {
      const auto values = cell(ms, "MODEL_DATA", row);
      EXPECT_EQ(values, std::vector<std::complex<float>>(values.size()));
    }
  }
}

TEST(TileWriter, a_range_of_channels_leaves_the_others) {
  const TemporaryFolder folder;
  create(folder / "a.ms", small_description());
  write_coded(folder / "a.ms");
  MeasurementSet ms(folder / "a.ms", Access::kUpdate);
  ReadSelection selection = coordinates(100);
  selection.channels = ChannelRange{1, 3};
  const TileReader reader(ms, selection);
  Tile tile = reader.read(0);
  tile.columns["DATA"].assign(tile.n_visibility(), {-7, 7});
  tile.row[4] = -1;  // absent rows are skipped
  TileWriter writer(ms, "DATA");
  writer.write(tile);
  writer.finish();
  const auto values = cell(ms, "DATA", 0);
  EXPECT_EQ(values[0], coded(0, 0, 0));
  EXPECT_EQ(values[4], std::complex<float>(-7, 7));
  EXPECT_EQ(values[11], std::complex<float>(-7, 7));
  EXPECT_EQ(values[12], coded(0, 3, 0));
  expect_coded(ms, "DATA", 4 * 6);  // baseline 0, time 4
}

TEST(TileWriter, flags) {
  const TemporaryFolder folder;
  create(folder / "a.ms", small_description(3, 2));
  MeasurementSet ms(folder / "a.ms", Access::kUpdate);
  const TileReader reader(ms, coordinates(2));
  Tile tile = reader.read(0);
  fill(&tile, "DATA");
  tile.flag[1] = 1;                                              // row 0
  std::fill_n(tile.flag.begin() + 3 * 20, 20, std::uint8_t{1});  // baseline 1, time 1: row 4
  WriteOptions options;
  options.flags = true;
  TileWriter writer(ms, "DATA", options);
  writer.write(tile);
  writer.finish();
  EXPECT_EQ(ms.table().bools("FLAG_ROW", 0, 6), (std::vector<std::uint8_t>{0, 0, 0, 0, 1, 0}));
  EXPECT_EQ(reader.read(0).flag, tile.flag);
}

TEST(TileWriter, refuses_what_does_not_fit) {
  const TemporaryFolder folder;
  create(folder / "a.ms", small_description());
  {
    MeasurementSet ms(folder / "a.ms");
    EXPECT_CONTAINS(error_of([&] { TileWriter(ms, "MODEL_DATA"); }), "opened for reading only");
  }
  MeasurementSet ms(folder / "a.ms", Access::kUpdate);
  EXPECT_CONTAINS(error_of([&] { TileWriter(ms, "MODEL DATA"); }), "cannot be called");
  EXPECT_CONTAINS(error_of([&] { TileWriter(ms, "UVW"); }), "expected an array of Complex");
  WriteOptions greedy;
  greedy.spare_bytes = std::uint64_t{1} << 60;
  EXPECT_CONTAINS(error_of([&] { TileWriter(ms, "MODEL_DATA", greedy); }), "MiB of disk");
  EXPECT_FALSE(ms.has_column("MODEL_DATA"));
  EXPECT_TRUE(read_progress(ms.path()).empty());

  const TileReader reader(ms, coordinates(1));
  TileWriter writer(ms, "MODEL_DATA");
  Tile tile = reader.read(0);
  EXPECT_CONTAINS(error_of([&] { writer.write(tile); }), "holds no column MODEL_DATA");
  tile.columns["MODEL_DATA"].resize(3);
  EXPECT_CONTAINS(error_of([&] { writer.write(tile); }), "expected 120 values");
  fill(&tile, "MODEL_DATA");
  tile.first_channel = 2;
  EXPECT_CONTAINS(error_of([&] { writer.write(tile); }), "does not fit DATA_DESC_ID 0");
}

TEST(TileWriter, an_exception_leaves_a_journal_and_a_readable_set) {
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

TEST(TileWriter, kill_9_while_writing_leaves_a_readable_set_and_a_journal_that_tells_the_truth) {
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

TEST(TileWriter, a_full_disk_leaves_the_set_as_it_was) {
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

TEST(TileWriter, a_column_whose_creation_was_interrupted_is_cleared) {
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

TEST(TileWriter, a_reader_and_a_writer_work_at_the_same_time) {
  const TemporaryFolder folder;
  create(folder / "a.ms", small_description(4, 60));
  write_coded(folder / "a.ms");
  MeasurementSet ms(folder / "a.ms", Access::kUpdate);
  ReadSelection selection = coordinates(1);
  selection.columns = {"DATA"};
  const TileReader reader(ms, selection);
  TileWriter writer(ms, "CORRECTED_DATA");
  Tile next = reader.read(0);
  for (std::size_t i = 0; i < reader.tiles().size(); ++i) {
    Tile now = std::move(next);
    now.columns["CORRECTED_DATA"] = now.columns["DATA"];
    std::thread writing([&] { writer.write(now); });
    if (i + 1 < reader.tiles().size()) next = reader.read(i + 1);
    writing.join();
  }
  writer.finish();
  for (std::int64_t row = 0; row < ms.n_row(); ++row) expect_coded(ms, "CORRECTED_DATA", row);
}

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
