// What runs over the tiles of a Measurement Set that write columns have in common: while one tile is worked on the next
// is read and the one before is written, the journal says how far a column is complete, and memory serves again.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/core/threads/cancellation.h"
#include "runtime/ms/set/measurement_set.h"
#include "runtime/ms/tiles/tile_reader.h"
#include "runtime/ms/tiles/tile_writer.h"

namespace rimetree::ms {

/// Where several runs fill a column together, one for each field: all but the first continue, after all but the last
/// more follow, and `rows_expected` counts the rows of all (0: of this run). The journal stays until the last ends.
struct SharedColumn {
  bool continues = false, more_follow = false;
  std::int64_t rows_expected = 0;
};

struct RunProgress {
  std::size_t tiles_done = 0, tiles = 0;
  std::int64_t rows_done = 0, rows = 0;
  double time_s = 0;  ///< last time slot written, MJD seconds
};

/// What a run did and where its time went (seconds of wall time). Reading and writing go on while another tile is
/// evaluated; their times are those for which the run had to wait.
struct RunReport {
  std::size_t tiles = 0;
  std::int64_t rows = 0;          ///< rows read
  std::int64_t rows_written = 0;  ///< rows for which there was a value
  std::uint64_t missing = 0;      ///< Sinks without a value, summed over tiles
  std::size_t time_slots = 0;     ///< per tile
  double read_seconds = 0, write_seconds = 0, evaluate_seconds = 0, total_seconds = 0;
  double overhead_seconds = 0;       ///< evaluation and the loop around it, less node arithmetic and I/O
  std::vector<std::string> columns;  ///< written
  std::vector<std::string> warnings{};
};

/// One run: what lives from its first tile to its last.
class TileRun {
 public:
  /// A tile on its way: what is to be written of it, by column and baseline, and whether its flags are.
  struct InFlight {
    Tile tile;
    std::map<std::string, std::set<std::size_t>> written;
    bool flags_changed = true;
  };
  static constexpr std::size_t kTilesInFlight = 3;  ///< one being read, one worked on, one written
  static constexpr std::size_t kLeastInFlight = 2;  ///< one being read or worked on, one written

  virtual ~TileRun() = default;
  /// `progress` is called after every tile. Tiles written before an exception are complete, and the journals say so.
  void go(Cancellation* cancellation, const std::function<void(const RunProgress&)>& progress);
  const RunReport& report() const { return report_; }

 protected:
  /// `in_flight`: kTilesInFlight, or kLeastInFlight where reading and working together take less time than writing.
  TileRun(MeasurementSet& ms, SharedColumn shared, std::size_t in_flight = kTilesInFlight)
      : ms_(ms), shared_(shared), in_flight_(in_flight) {}

  /// Tiles of the reader that are one tile, on the thread that reads.
  virtual InFlight read(const std::vector<std::size_t>& parts) = 0;
  /// On the thread that called.
  virtual void work(InFlight& tile, const TileKey& key, Cancellation* cancellation) = 0;
  /// On the thread that writes.
  virtual void before_writing(InFlight&) {}

  MeasurementSet& ms_;
  std::unique_ptr<TileReader> reader_;
  std::vector<std::vector<std::size_t>> parts_;  ///< by tile: tiles of the reader
  std::vector<std::string> outputs_;
  bool writes_flags_ = false;
  RunReport report_;

 private:
  void pipeline(Cancellation* cancellation, const std::function<void(const RunProgress&)>& progress);
  void open_writers();
  std::int64_t write(InFlight& in_flight);

  SharedColumn shared_;
  std::size_t in_flight_;
  std::vector<std::unique_ptr<TileWriter>> writers_;
};

}  // namespace rimetree::ms
