// Lists of numbers, one for each node, one after the other in one array.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace rimetree {

class IndexLists {
 public:
  std::size_t size() const { return end_.size(); }
  std::span<const int> operator[](int i) const {
    const std::size_t first = i > 0 ? end_[static_cast<std::size_t>(i) - 1] : 0;
    return {items_.data() + first, end_[static_cast<std::size_t>(i)] - first};
  }
  void reserve(std::size_t n_list, std::size_t n_item) {
    end_.reserve(n_list);
    items_.reserve(n_item);
  }
  /// The list of the next node.
  void append(std::span<const int> list) {
    items_.insert(items_.end(), list.begin(), list.end());
    end_.push_back(items_.size());
  }
  /// Of lists of children those of parents, in ascending order, each parent once; -1 is no child.
  IndexLists parents() const;

 private:
  std::vector<std::size_t> end_;
  std::vector<int> items_;
};

}  // namespace rimetree
