// Which nodes hold real numbers only, as far as classes tell before anything is evaluated.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/core/forest/forest.h"

namespace rimetree::rewrite {

class RealNodes {
 public:
  explicit RealNodes(const Forest& forest) : forest_(forest) {}

  bool operator()(int node) {
    if (known_.empty()) known_.assign(forest_.size(), kUnknown);
    Known& known = known_[static_cast<std::size_t>(node)];
    if (known == kUnknown) {
      const ResultNumbers numbers = forest_.node(node).traits().numbers;
      const auto real = [this](int child) { return child < 0 || (*this)(child); };
      const bool is_it = numbers == ResultNumbers::real ||
                         (numbers == ResultNumbers::of_children && std::ranges::all_of(forest_.children(node), real));
      known = is_it ? kReal : kOther;
    }
    return known == kReal;
  }

 private:
  enum Known : std::uint8_t { kUnknown, kOther, kReal };

  const Forest& forest_;
  std::vector<Known> known_;  // by node; empty: nobody has asked
};

}  // namespace rimetree::rewrite
