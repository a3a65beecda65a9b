#include "runtime/program/order.h"

#include <unordered_map>

#include "runtime/program/join.h"

namespace rimetree::program {

std::vector<std::size_t> order_of_tier(const std::vector<Operation>& operations, const std::vector<Axes>& axes,
                                       const std::vector<int>& uses, Axes tier) {
  using Name = std::size_t;
  const auto is_leaf = [&](Name i) { return operands_of(operations[i].op) == 0; };
  std::vector<Name> members;
  for (Name i = 0; i < operations.size(); ++i)
    if (uses[i] > 0 && !is_leaf(i) && axes[i] == tier) members.push_back(i);
  // Of each, how many operands are made on this tier, and who reads it.
  std::unordered_map<Name, std::vector<Name>> readers;
  std::vector<std::uint8_t> waits(operations.size(), 0);
  const auto for_each_made = [&](Name i, const auto& f) {
    for (int k = 0; k < operands_of(operations[i].op); ++k) {
      const Name from = operand_of(operations, i, k);
      if (axes[from] == tier && !is_leaf(from)) f(from);
    }
  };
  for (const Name i : members)
    for_each_made(i, [&](Name from) {
      readers[from].push_back(i);
      ++waits[i];
    });
  std::vector<Name> order, next;
  order.reserve(members.size());
  std::vector<bool> taken(operations.size(), false);
  for (const Name first : members) {
    if (waits[first] == 0 && !taken[first]) next.push_back(first);
    while (!next.empty()) {
      const Name i = next.back();
      next.pop_back();
      taken[i] = true;
      order.push_back(i);
      const auto found = readers.find(i);
      if (found == readers.end()) continue;
      for (auto reader = found->second.rbegin(); reader != found->second.rend(); ++reader)
        if (--waits[*reader] == 0) next.push_back(*reader);
    }
  }
  return order;
}

}  // namespace rimetree::program
