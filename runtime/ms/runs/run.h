// Evaluates a forest over a Measurement Set: reads it in time-slot groups, gives each to the Spigots, evaluates the
// Sinks, and writes what they produced.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/evaluate/evaluator.h"
#include "runtime/ms/runs/tile_run.h"
#include "runtime/ms/set/measurement_set.h"
#include "runtime/ms/tiles/tile_reader.h"

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
  SharedColumn shared;
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
