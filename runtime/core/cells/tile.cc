#include "runtime/core/cells/tile.h"

#include <algorithm>

namespace rimetree {

std::ptrdiff_t Tile::find(const Baseline& baseline) const {
  const auto it = std::lower_bound(baselines.begin(), baselines.end(), baseline);
  return it != baselines.end() && *it == baseline ? it - baselines.begin() : -1;
}

}  // namespace rimetree
