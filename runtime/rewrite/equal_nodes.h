// Nodes of a forest that give the same values because they are written alike: the same operation on the same children.
// A script that makes a station's terms anew for each baseline has many of them, and what is done with one node for
// all baselines (PSV's matrix product, say) must not depend on how it was written.
#pragma once

#include <vector>

#include "runtime/core/forest/forest.h"

namespace rimetree::rewrite {

class EqualNodes {
 public:
  /// Nodes whose states have changed since the forest was built are equal to none: they may change again.
  explicit EqualNodes(const Forest& forest);

  /// By node: the first one that is equal to it, or itself. Empty: there are no equal nodes.
  const std::vector<int>& first() const { return first_; }
  /// How many nodes are equal to one that another line of the script made, and the first of these. What one line makes
  /// several times, in a loop or of one definition, is no news to who wrote it.
  std::size_t count_of_other_lines() const { return count_; }
  int example() const { return example_; }

 private:
  std::vector<int> first_;
  std::size_t count_ = 0;
  int example_ = -1;
};

}  // namespace rimetree::rewrite
