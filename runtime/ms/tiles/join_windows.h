// Spectral windows that are observed at the same times as one tile, so that what is solved for may be one quantity in
// all of them: a delay, say. Their channels stand one after the other along the frequency axis.
#pragma once

#include <functional>
#include <vector>

#include "runtime/core/cells/tile.h"
#include "runtime/ms/set/tile_plan.h"
#include "runtime/ms/tiles/tile_reader.h"

namespace rimetree::ms {

/// Tiles of the plan, by index, that go together: of one field, layer and averaging, the n-th of each data description.
/// Throws
/// MsError where the time slots of the windows do not fit into each other that way.
std::vector<std::vector<std::size_t>> windows_together(const TilePlan& plan);

/// The axes of the tile that join_windows() makes, from those of the tiles (TileReader::outline). Throws as it does.
Tile join_outlines(const std::vector<Tile>& tiles);

/// One tile of all, with the baselines and time slots that any has; what one does not have is flagged and without
/// weight. Slots whose times agree within slot tolerance are one. `row` is that of the first that has it: such a tile
/// is not for writing. Its data_desc_id is that of the first. `read` gives the data of one window at a time, so that no
/// more than one is in memory beside the joined tile. Throws MsError where correlations differ, and what `read` does.
Tile join_windows(const std::vector<Tile>& outlines, const std::function<Tile(std::size_t)>& read);

/// The same of tiles that a reader reads, by index (windows_together).
Tile read_joined(const TileReader& reader, const std::vector<std::size_t>& parts);

}  // namespace rimetree::ms
