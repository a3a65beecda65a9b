// Lists of numbers, one for each node, one after the other in one array.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace rimetree {

class IndexLists {
 public:
  std::size_t size() const { return first_.size() - 1; }
  std::span<const int> operator[](int i) const {
    const std::size_t* first = first_.data() + i;
    return {items_.data() + first[0], first[1] - first[0]};
  }
  /// The list of the next node.
  void append(std::span<const int> list) {
    items_.insert(items_.end(), list.begin(), list.end());
    first_.push_back(items_.size());
  }
  /// Of lists of children those of parents, in ascending order, each parent once; -1 is no child.
  IndexLists parents() const;

 private:
  std::vector<std::size_t> first_{0};  // of each list, and the end of the last one
  std::vector<int> items_;
};

}  // namespace rimetree
