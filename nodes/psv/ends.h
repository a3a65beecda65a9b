// Who the antennas of a baseline are, as far as a tree tells.
#pragma once

#include <cstdint>
#include <vector>

namespace rimetree {
class Forest;
class Node;
}  // namespace rimetree

namespace rimetree::psv {

/// Names of the two antennas of each baseline, [baseline]; any numbers. Empty where nothing is known.
struct BaselineEnds {
  std::vector<std::int64_t> p, q;
  bool empty() const { return p.empty(); }
};
/// Adds the antennas of a PSV node's baseline: stations of the Spigot that gives its UVW, or the two nodes of which
/// they are the difference. `ends` is emptied if a baseline has neither, and stays empty: `first` says that there were
/// none before.
void add_ends(const Forest& forest, const Node& psv, bool first, BaselineEnds& ends);

}  // namespace rimetree::psv
