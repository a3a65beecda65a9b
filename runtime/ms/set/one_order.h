// The rows of two antennas as one baseline, although some are stored as (p, q) and others as (q, p): for trees that
// solve or look, not for those that write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/core/cells/tile.h"
#include "runtime/ms/set/row_index.h"

namespace rimetree::ms {

/// Where the values of each correlation stand in a row whose antennas are exchanged: XY and YX change places, the
/// others stay. Nothing where one is missing, or not of a kind known (casacore's numbers).
std::optional<std::vector<std::size_t>> exchanged_correlations(const std::vector<int>& correlation_type);

/// Rows in which pairs of antennas that have both orders have one, the lower number first; RowIndex::turned says which
/// rows are exchanged for that. Those given where none is. Left as they are stored: pairs of which both orders are
/// there at one time, in a data description and field, anywhere in the set (they are different data, and would be rows
/// of one baseline twice), and rows of data descriptions that are not `exchangeable` [DATA_DESC_ID].
std::shared_ptr<const RowIndex> in_one_order(const std::shared_ptr<const RowIndex>& stored,
                                             const std::vector<bool>& exchangeable);

/// Exchanges the antennas of the rows of a tile that are `turned` [row of the set]: UVW and its rate change their sign,
/// visibilities are conjugated, and correlations change places, with their flags and weights.
void turn_rows(const std::vector<std::uint8_t>& turned, Tile* tile);

}  // namespace rimetree::ms
