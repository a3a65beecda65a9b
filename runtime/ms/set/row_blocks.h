// The rows of a tile as they are read and written: in the order of the set, and in blocks, so that buffers beside a
// tile stay small.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "runtime/core/cells/tile.h"

namespace rimetree::ms {

inline constexpr std::size_t kRowBlockBytes = std::size_t{1} << 20;

/// Calls action(begin, end) for consecutive blocks of [0, n_row) of at most kRowBlockBytes each, but at least one row.
template <class Action>
void for_row_blocks(std::size_t n_row, std::size_t bytes_per_row, Action&& action) {
  const std::size_t step = std::max<std::size_t>(1, kRowBlockBytes / std::max<std::size_t>(1, bytes_per_row));
  for (std::size_t begin = 0; begin < n_row; begin += step) action(begin, std::min(n_row, begin + step));
}

/// Where in a tile the rows are that it has, in ascending order of their numbers in the set.
inline std::vector<std::size_t> places_in_order_of_rows(const Tile& tile) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < tile.row.size(); ++i)
    if (tile.row[i] >= 0) places.push_back(i);
  std::ranges::sort(places, {}, [&tile](std::size_t place) { return tile.row[place]; });
  return places;
}

}  // namespace rimetree::ms
