// What of a forest a run evaluates and writes, and what of it a script has for nothing.
#pragma once

#include <string>
#include <vector>

#include "runtime/core/forest/forest.h"
#include "runtime/core/node/capabilities.h"

namespace rimetree::ms {

/// Whether each node is one of the roots, stage by stage, or below them.
std::vector<bool> at_or_below(const Forest& forest, const std::vector<std::vector<int>>& roots);

/// What a node writes; nullptr: nothing.
const DataUse* writing_of(const Forest& forest, int node);

/// `3 Sinks ("a", "b" and 1 more)`, of nodes of one class, of which there are some.
std::string counted(const Forest& forest, const std::vector<int>& nodes);

/// Throws Error where two nodes that are evaluated write the same: it would be chance which of them is the last.
void require_places_of_their_own(const Forest& forest, const std::vector<bool>& evaluated);

/// Warns of Sinks and Solvers that are not evaluated: hardly what a script means.
void warn_of_idle_nodes(const Forest& forest, const std::vector<bool>& evaluated, std::vector<std::string>* warnings);

}  // namespace rimetree::ms
