// Cuts long lists of rows into blocks, so that buffers beside a tile stay small.
#pragma once

#include <algorithm>
#include <cstddef>

namespace rimetree::ms {

inline constexpr std::size_t kRowBlockBytes = std::size_t{1} << 20;

/// Calls action(begin, end) for consecutive blocks of [0, n_row) of at most kRowBlockBytes each, but at least one row.
template <class Action>
void for_row_blocks(std::size_t n_row, std::size_t bytes_per_row, Action&& action) {
  const std::size_t step = std::max<std::size_t>(1, kRowBlockBytes / std::max<std::size_t>(1, bytes_per_row));
  for (std::size_t begin = 0; begin < n_row; begin += step) action(begin, std::min(n_row, begin + step));
}

}  // namespace rimetree::ms
