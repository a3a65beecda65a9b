// Names and script lines of all nodes of a forest, in one piece of memory. Everywhere else a node is a number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rimetree {

class NodeNames {
 public:
  std::size_t size() const { return end_.size(); }
  /// Gives the next number to a node. Returns the number of the first node of this name: if it is another one, the name
  /// is taken.
  int add(std::string_view name, std::string_view origin);
  /// -1: there is no such name.
  int find(std::string_view name) const;
  std::string_view name(int node) const;
  const std::string& origin(int node) const { return origins_[origin_[static_cast<std::size_t>(node)]]; }

 private:
  std::size_t place_of(std::string_view name) const;
  void grow();

  std::string text_;              // all names, one after the other
  std::vector<std::size_t> end_;  // of each of them
  std::vector<int> table_;        // nodes by the hash of their names, in the next place that is free; -1: free
  // Few lines of a script make many nodes.
  std::vector<std::uint32_t> origin_;
  std::vector<std::string> origins_;
  std::map<std::string, std::uint32_t, std::less<>> origin_numbers_;
};

}  // namespace rimetree
