// What goes over the tiles of a Measurement Set has in common: what of the set a forest looks at, the cells of a tile,
// and what to say when a node fails on one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/core/forest/forest.h"
#include "runtime/core/values/request.h"
#include "runtime/ms/tiles/tile_reader.h"

namespace rimetree::ms {

/// Columns that the forest's Spigots read and its Sinks write.
std::vector<std::string> columns_read(const Forest& forest);
std::vector<std::string> columns_written(const Forest& forest);

/// Columns, flags and weights that the forest's Spigots look at: what nobody looks at is not read. `flags`: read FLAG
/// in any case.
ReadSelection reads_of(const Forest& forest, const RowSelection& rows, bool flags = false);

/// Identifies the data of one tile within this process, so that no result of another tile or run is mistaken for its
/// own.
std::uint64_t next_data_id();

std::shared_ptr<const Cells> cells_of(const Tile& tile);

/// Throws an Error that names the tile and the nodes.
[[noreturn]] void report_failures(const std::vector<Failure>& failures, const TileKey& key);

}  // namespace rimetree::ms
