#include "runtime/core/forest/index_lists.h"

#include <utility>

namespace rimetree {

IndexLists IndexLists::parents() const {
  const int n = static_cast<int>(size());
  IndexLists result;
  result.first_.assign(size() + 1, 0);
  const std::span<std::size_t> end(result.first_.data() + 1, size());
  std::vector<int> last(size(), -1);  // by child: the parent that was seen last
  const auto for_each_pair = [&](const auto& body) {
    last.assign(size(), -1);
    for (int parent = 0; parent < n; ++parent)
      for (const int child : (*this)[parent]) {
        if (child < 0 || last[static_cast<std::size_t>(child)] == parent) continue;
        last[static_cast<std::size_t>(child)] = parent;
        body(static_cast<std::size_t>(child), parent);
      }
  };
  for_each_pair([&](std::size_t child, int) { ++end[child]; });
  std::size_t total = 0;
  for (std::size_t& one : end) total += std::exchange(one, total);  // where the lists begin, for now
  result.items_.resize(total);
  for_each_pair([&](std::size_t child, int parent) { result.items_[end[child]++] = parent; });
  return result;
}

}  // namespace rimetree
