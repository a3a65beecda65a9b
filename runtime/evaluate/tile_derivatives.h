// Derivatives with respect to Parms that have several solution tiles. As a rule there is one for each coefficient: on a
// cell it is with respect to the coefficient of the tile that the cell is in. A node that mixes cells sees one for each
// tile instead, which is zero on the cells of the others.
#pragma once

#include <map>
#include <vector>

#include "runtime/core/forest/forest.h"
#include "runtime/core/values/request.h"

namespace rimetree {

/// The solution tiles of Parms on the cells of a request.
class TilesOnCells {
 public:
  TilesOnCells(const Forest& forest, const Cells& cells) : forest_(forest), cells_(cells) {}
  /// By cell along time or frequency, the number of the Parm's tile; empty where the Parm has but one along the axis.
  const std::vector<std::int32_t>& of(int parm, Axis axis);

 private:
  const Forest& forest_;
  const Cells& cells_;
  std::map<std::pair<int, Axis>, std::vector<std::int32_t>> known_;
};

/// The result as a node that mixes cells along some axes must see it; nullptr: as it is.
ResultPtr split_derivatives(memory::Pool& pool, const Result& result, AxisSet mixed, TilesOnCells& tiles);

}  // namespace rimetree
