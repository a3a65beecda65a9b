// What says which baseline of a Measurement Set a node reads or writes.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "runtime/core/cells/tile.h"
#include "runtime/core/classes/node_class.h"
#include "runtime/core/classes/state.h"
#include "runtime/core/error.h"

namespace rimetree {

/// State fields station_1_index and station_2_index, followed by others.
inline std::vector<StateSpec> with_baseline(std::vector<StateSpec> others) {
  constexpr Limits kRows{.least = 0, .most = std::numeric_limits<int>::max()};
  std::vector<StateSpec> state = {{.name = "station_1_index",
                                   .type = StateType::integer,
                                   .doc = "ANTENNA1 of the baseline: row of the ANTENNA table",
                                   .per_node = true,
                                   .limits = kRows},
                                  {.name = "station_2_index",
                                   .type = StateType::integer,
                                   .doc = "ANTENNA2 of the baseline: row of the ANTENNA table",
                                   .per_node = true,
                                   .limits = kRows}};
  state.insert(state.end(), others.begin(), others.end());
  return state;
}

inline Baseline baseline_of(const State& state) {
  return {static_cast<int>(state.integer("station_1_index")), static_cast<int>(state.integer("station_2_index"))};
}

}  // namespace rimetree
