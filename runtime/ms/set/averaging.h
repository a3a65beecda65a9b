// Averaging on reading: cells of several time slots and channels become one, with its width, so that a model is smeared
// over it. For trees that solve or look, not for those that write.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "runtime/core/cells/tile.h"

namespace rimetree::ms {

/// What becomes one cell.
struct Averaging {
  std::size_t slots = 1;     ///< so many consecutive time slots
  std::size_t channels = 1;  ///< so many neighbouring channels
  double width_hz = 0;       ///< where positive: as many channels as are not wider together
  /// Ascending: cells do not reach over these, and are counted from each of them anew.
  std::vector<double> time_edges_s = {}, frequency_edges_hz = {};
  /// Where some of a cell are flagged, or weigh less, the mean is that of another place than its middle, at which a
  /// source has another phase. If that is farther away than this part of the cell, the visibility is what a plane
  /// through those of the cell has in the middle.
  double off_centre = std::numeric_limits<double>::infinity();
  bool any() const { return slots > 1 || channels > 1 || width_hz > 0; }
};

/// Baselines (the lower antenna first) that are averaged alike, and otherwise than others.
struct AveragedBaselines {
  std::set<std::pair<int, int>> baselines;
  std::size_t slots = 1, channels = 1;
  double off_centre = std::numeric_limits<double>::infinity();  ///< as Averaging::off_centre
};

/// The axes of the tile that average() makes, from those of a tile.
Tile average_outline(const Tile& tile, const Averaging& averaging);

/// A tile of averaged cells. Visibilities are means over what is neither flagged nor without weight nor, in any column,
/// not a number, weighted if weights were read; the weight is the sum of theirs. A cell without any is flagged. UVW and
/// their rates are means over the rows of which anything is good, EXPOSURE is what these cover together, and `row` the
/// first of them. Cells do not reach over gaps in time or frequency. Where a plane is taken (Averaging::off_centre),
/// the weight is what it tells of the middle; a cell that does not tell it is flagged.
Tile average(const Tile& tile, const Averaging& averaging);

/// So many slots of a tile from one on, with all of its baselines.
using ReadSlots = std::function<Tile(std::size_t first, std::size_t n)>;
/// average() of a tile of which parts are read, of at most so many slots or one cell: they need not be in memory
/// together. `outline`: the axes of the tile.
Tile average_by_parts(const Tile& outline, const Averaging& averaging, std::size_t most_slots, const ReadSlots& read);

}  // namespace rimetree::ms
