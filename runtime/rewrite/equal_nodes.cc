#include "runtime/rewrite/equal_nodes.h"

#include <algorithm>
#include <bit>

#include "runtime/core/fingerprint.h"

namespace rimetree::rewrite {

namespace {

/// Nodes that have been met, by the fingerprints of what they compute: a table with open addresses.
class Table {
 public:
  explicit Table(std::size_t n_node) : slots_(std::bit_ceil(2 * n_node + 2)) {}
  /// The node that was met before and `is_equal`; else this one, which has been met now.
  template <class IsEqual>
  int first(std::uint64_t fingerprint, int node, const IsEqual& is_equal) {
    const auto part = static_cast<std::uint32_t>(fingerprint >> 32);  // saves nearly all comparisons
    for (std::size_t at = fingerprint & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].node < 0) {
        slots_[at] = {node, part};
        return node;
      }
      if (slots_[at].part == part && is_equal(slots_[at].node)) return slots_[at].node;
    }
  }

 private:
  struct Slot {
    int node = -1;
    std::uint32_t part = 0;
  };
  std::vector<Slot> slots_;
};

}  // namespace

EqualNodes::EqualNodes(const Forest& forest) : first_(forest.size()) {
  Table table(forest.size());
  bool any = false;
  const auto same_child = [this](int a, int b) {
    return (a < 0 ? a : first_[static_cast<std::size_t>(a)]) == (b < 0 ? b : first_[static_cast<std::size_t>(b)]);
  };
  for (const int node : forest.order()) {
    int& first = first_[static_cast<std::size_t>(node)] = node;
    const Node& own = forest.node(node);
    // An equation that is written twice counts twice.
    if (!own.traits().is_function || own.algebra() == Algebra::residual || forest.state_version(node) > 0) continue;
    const std::span<const int> children = forest.children(node);
    std::uint64_t fingerprint = mix(own.state().fingerprint(false), std::bit_cast<std::uintptr_t>(&own.node_class()));
    for (const int child : children)
      fingerprint = mix(fingerprint, std::uint64_t(child < 0 ? child : first_[static_cast<std::size_t>(child)]));
    first = table.first(fingerprint, node, [&](int other) {
      const Node& known = forest.node(other);
      return &known.node_class() == &own.node_class() &&
             std::ranges::equal(forest.children(other), children, same_child) && known.state().is_same_as(own.state());
    });
    if (first == node) continue;
    any = true;
    if (!own.origin().empty() && own.origin() == forest.node(first).origin()) continue;
    if (count_++ == 0) example_ = node;
  }
  if (!any) first_.clear();
}

}  // namespace rimetree::rewrite
