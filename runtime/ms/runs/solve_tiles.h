// Runs the Solver of a forest on tiles of a Measurement Set that are solved together.
#pragma once

#include "runtime/evaluate/evaluator.h"
#include "runtime/ms/tiles/tile_stream.h"

namespace rimetree::ms {

struct SolveTilesOptions {
  Precision precision = Precision::double_;
  double tolerance = 0;  ///< Request::tolerance
};

/// Solves for what is the same in all tiles: one solve, which looks at one tile after the other, so that one at a time
/// need be in memory. Tiles must follow each other in time and have the same channels, but where baselines are averaged
/// differently (RowSelection::averaged): their cells must not reach over solution tiles, and Jones terms must not
/// change within one along an axis that is averaged. Rows of a baseline that a time slot has twice (TileKey::layer)
/// count as more data of it. Reports are kept by the evaluator. Throws Error where the forest has not one Solver or a
/// node failed, MsError for what the set cannot give, Cancelled.
void solve_tiles(TileStream& tiles, Evaluator& evaluator, const SolveTilesOptions& options, Cancellation& cancellation);

}  // namespace rimetree::ms
