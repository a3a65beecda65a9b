// Time-slot groups that fit into memory together with what a forest makes of them.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/evaluate/evaluator.h"
#include "runtime/ms/tiles/tile_reader.h"

namespace rimetree::ms {

/// What tiles may take of the memory themselves, and what is evaluated for each of the roots, bytes.
struct TileMemory {
  std::uint64_t data = 0, results = 0;
  bool all_stay = false;  ///< results of all nodes, as for a pass back
};

/// Makes a reader's tiles of at most so many time slots as small as it needs; a tile of one slot is as small as they
/// get. Gives how many slots they have. `more_columns` are written. Throws MsError if the data of one slot are too
/// much.
std::size_t fit_tiles(TileReader& reader, const Evaluator& evaluator, std::span<const int> roots,
                      const TileMemory& memory, std::size_t most_slots, std::size_t more_columns = 0);

}  // namespace rimetree::ms
