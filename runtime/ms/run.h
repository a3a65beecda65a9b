// Evaluates a forest over a Measurement Set: reads it in time-slot groups, gives each to the Spigots, evaluates the
// Sinks, and writes what they produced.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/evaluate/evaluator.h"
#include "runtime/ms/measurement_set.h"
#include "runtime/ms/tile_reader.h"

namespace rimetree::ms {

struct RunOptions {
  RowSelection rows;                     ///< time_slots = 0: chosen from the evaluator's memory budget
  std::optional<ChannelRange> channels;  ///< all if not given
  ChannelChoice chosen;                  ///< of these, where nothing is written
  Precision precision = Precision::double_;
  double tolerance = 0;  ///< Request::tolerance
  /// Spectral windows that are observed at the same times make one tile (join_windows.h): for solving, not for writing.
  bool join_windows = false;
  int verify = 0;  ///< results to compute again in extended precision, spread over the tiles (Request::verify)
  /// Where several runs fill a column together, one for each field: all but the first continue, after all but the last
  /// more follow, and `rows_expected` counts the rows of all (0: of this run). The journal stays until the last ends.
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
  std::int64_t rows_written = 0;  ///< rows for which a Sink had a value
  std::uint64_t missing = 0;      ///< Sinks without a value, summed over tiles
  std::size_t time_slots = 0;     ///< per tile
  double read_seconds = 0, write_seconds = 0, evaluate_seconds = 0, total_seconds = 0;
  double overhead_seconds = 0;       ///< evaluation and the loop around it, less node arithmetic and I/O
  std::vector<std::string> columns;  ///< written
};

/// What a run evaluates, in order: the children of the VisDataMux nodes (pre, sinks, post), or all Sinks where there is
/// none. Throws Error if that is nothing.
std::vector<std::vector<int>> sink_stages(const Forest& forest);

/// Runs. `progress` is called after every tile. A node that fails ends the run with an Error that names the node, its
/// script line and the tile; tiles written until then are complete, and the journal of the column says so (as it does
/// after Cancelled). Throws MsError for what the Measurement Set cannot give or take.
RunReport run(MeasurementSet& ms, Evaluator& evaluator, const RunOptions& options, Cancellation* cancellation = nullptr,
              const std::function<void(const RunProgress&)>& progress = {});

}  // namespace rimetree::ms
