// Builds a forest node by node from descriptions that somebody else owns, collecting errors instead of stopping at the
// first.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/core/forest/forest.h"

namespace rimetree {

class ForestBuilder {
 public:
  /// Label and name of a child, as in NodeSpec.
  using Child = std::pair<std::string_view, std::string_view>;

  explicit ForestBuilder(const Registry& registry = Registry::instance()) : registry_(registry) {}
  /// First of all, the names of all nodes, whose numbers count in this order.
  void name(std::string_view name, std::string_view origin);
  /// Then what they are, in the same order.
  void define(std::string_view class_name, const std::map<std::string, StateValue>& state,
              std::span<const Child> children);
  /// At last. Throws ForestError.
  std::shared_ptr<Forest> build();

 private:
  /// A class while nodes of it are made.
  struct ClassInUse {
    const NodeClass* node_class;
    State defaults;
    State last;  ///< of the node made last: nodes that are alike share it
  };
  BuildError error(int node, std::string message) const;
  ClassInUse& class_in_use(std::string_view name);
  std::shared_ptr<Node> make_node(int number, std::string_view class_name,
                                  const std::map<std::string, StateValue>& given);
  bool fill_slots(int node, std::span<const Child> children);
  void find_order();
  int open_cycle(std::vector<int>& waiting);
  bool is_parent(int node, int child) const;
  void infer_dims();
  int size() const { return static_cast<int>(names_->size()); }

  const Registry& registry_;
  std::shared_ptr<NodeNames> names_ = std::make_shared<NodeNames>();
  std::shared_ptr<Forest> forest_{new Forest(names_)};
  std::map<std::string, ClassInUse, std::less<>> classes_;
  std::vector<int> slots_;             // of the node that is defined
  std::vector<bool> given_;            // which of them
  std::vector<bool> sound_;            // by node: it and all below it
  std::set<std::pair<int, int>> cut_;  // parent and child: links of cycles that have been reported
  std::vector<BuildError> errors_, child_errors_;
};

}  // namespace rimetree
