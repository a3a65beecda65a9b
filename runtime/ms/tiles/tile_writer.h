// Writes one column of visibilities of a Measurement Set tile by tile, and can be interrupted at any instant.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "runtime/core/cells/tile.h"
#include "runtime/ms/set/measurement_set.h"
#include "runtime/ms/set/progress_journal.h"

namespace rimetree::ms {

struct WriteOptions {
  bool flags = false;  ///< also write Tile::flag to FLAG and FLAG_ROW
  std::int64_t rows_expected =
      0;                         ///< rows that all tiles hold together (TileReader::n_row), for the journal; 0: unknown
  bool continues = false;        ///< take up the journal that a writer with more_follow left
  bool more_follow = false;      ///< finish() leaves the journal: another writer of the column continues
  double sync_interval_s = 1.0;  ///< data and journal go to the disk at most this often; 0: after every tile
  std::uint64_t spare_bytes = 64u << 20;  ///< room left on the disk beside a new column
};

/// Throws MsError where a TileWriter of this column would: its name, its type and shape if it exists, permissions, room
/// on the disk. Writes nothing.
void check_writable(const MeasurementSet& ms, const std::string& column, std::uint64_t spare_bytes = 64u << 20);

/// From the first change of the column to finish() a journal in the Measurement Set says up to which time it is
/// complete (progress_journal.h): of a run that ends before it has written anything there is none. The journal never
/// runs ahead of the data: both go to the disk, the data first. If finish() is not reached (exception, Ctrl-C, kill -9,
/// power) the journal stays and the set stays readable. One writer per column; tiles must come in the order of
/// TileReader::tiles(). May be called from another thread than a TileReader of the same MeasurementSet.
class TileWriter {
 public:
  /// Checks that the set and its files can be written and that the disk has room, and creates the column if there is
  /// none: complex, tiled, shaped like DATA, every cell defined and zero. Cells of an existing
  /// column that are not defined become zero; others keep what they hold. Throws MsError, then nothing has changed.
  TileWriter(MeasurementSet& ms, std::string column, WriteOptions options = {});
  /// Flushes and brings the journal up to date; errors are swallowed (the journal then lags behind).
  ~TileWriter();
  TileWriter(const TileWriter&) = delete;
  TileWriter& operator=(const TileWriter&) = delete;

  /// Writes tile.columns[column()] into the rows of the tile; rows that are absent are skipped. Throws MsError if the
  /// column is not there or of the wrong size, if the tile does not fit its data description, or if writing fails.
  /// `flags_changed`: false where the flags of the tile are those that the set has.
  void write(const Tile& tile, bool flags_changed = true);

  /// Everything to the disk; removes the journal unless more follow. Call once, after the last tile.
  void finish();

  const std::string& column() const { return column_; }
  std::int64_t rows_written() const { return progress_.rows_written; }

 private:
  void take_up_journal();
  void prepare_column();
  void begin();
  CellPart part_of(const Tile& tile) const;
  void write_flags(const Tile& tile, const CellPart& part, const std::vector<std::size_t>& positions,
                   const std::vector<std::int64_t>& rows);
  void store();

  MeasurementSet& ms_;
  std::string column_;
  WriteOptions options_;
  Progress progress_;
  std::map<std::pair<int, int>, double> complete_until_s_;  ///< by data description and field
  std::chrono::steady_clock::time_point stored_;
  bool begun_ = false;  ///< whether anything of the column is other than before, or is about to be
  bool finished_ = false;
};

}  // namespace rimetree::ms
