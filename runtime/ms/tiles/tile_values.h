// Values of nodes beside the data of a tile, for those who look at both.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/evaluate/evaluator.h"
#include "runtime/ms/tiles/tile_stream.h"

namespace rimetree::ms {

/// Values [node, tensor element, time, channel], on all cells of the tile; those of nodes that are not `there`, as
/// nodes of baselines without rows are, say nothing.
struct TileValues {
  std::shared_ptr<Complex<double>[]> values;
  std::vector<std::uint8_t> there;  ///< by node
  TensorShape dims;                 ///< of each
  std::size_t n_time = 0, n_channel = 0;
};

/// Of nodes, which have equal tensor dimensions, on a tile; flags are not looked at. The tile stays in memory as the
/// one that was asked for last. Throws Error where a node failed or dimensions differ, MsError for what the set cannot
/// give, Cancelled.
TileValues values_on_tile(TileStream& tiles, std::size_t index, Evaluator& evaluator, const std::vector<int>& nodes,
                          Cancellation& cancellation);

}  // namespace rimetree::ms
