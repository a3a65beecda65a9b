// All nodes of one run, built once from a script's description and immutable in structure from then on. Whatever is
// wrong with the description is found here, all of it at once.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/core/classes/registry.h"
#include "runtime/core/error.h"
#include "runtime/core/forest/index_lists.h"
#include "runtime/core/node/node.h"

namespace rimetree {

/// A node as a script describes it.
struct NodeSpec {
  std::string name;
  std::string class_name;
  std::map<std::string, StateValue> state;
  /// (label, name of the child); an empty label means by position. An empty name leaves an optional child out.
  std::vector<std::pair<std::string, std::string>> children;
  std::string origin;  ///< "file:line" of the script
};

/// A node that a plan puts into a forest; see Forest::rewritten().
struct NewNode {
  const NodeClass* node_class = nullptr;
  std::map<std::string, StateValue> state;
  std::vector<int> children;
  int owner = -1;         ///< node of the forest on whose behalf it is added: its script line, and part of its name
  bool replaces = false;  ///< whether it stands in the owner's place, with its number and name; else it gets a new one
};

/// One thing wrong with one node.
struct BuildError {
  std::string node;
  std::string origin;
  std::string message;
};

/// Everything wrong with a forest; what() lists it, one line each.
class ForestError : public Error {
 public:
  explicit ForestError(std::vector<BuildError> errors);
  const std::vector<BuildError>& errors() const { return errors_; }

 private:
  std::vector<BuildError> errors_;
};

class Forest {
 public:
  /// Builds a forest from descriptions in any order. Throws ForestError.
  static std::shared_ptr<Forest> build(const std::vector<NodeSpec>& specs,
                                       const Registry& registry = Registry::instance());

  /// The same forest with some nodes in the places of others, whose values they give in another way, and with nodes
  /// that these need. All other nodes are those of `forest`. Children, order and parents are known of what `roots` need
  /// (see is_needed()). Throws as build() would if such a node had been written.
  static std::shared_ptr<Forest> rewritten(const Forest& forest, const std::vector<NewNode>& nodes,
                                           std::span<const int> roots);
  /// The same forest, in which parents read the first of several equal nodes. `first`: that one, by node.
  static std::shared_ptr<Forest> merged(const Forest& forest, const std::vector<int>& first,
                                        std::span<const int> roots);
  /// Takes over what has changed in the states of the forest that the user wrote. False: a node has changed that was
  /// one of several equal ones, so that this forest is no longer right.
  bool follow(const Forest& forest);
  /// Whether a node is needed by the roots of a rewritten forest; in others all are.
  bool is_needed(int index) const { return is_needed_.empty() || is_needed_[static_cast<std::size_t>(index)]; }

  std::size_t size() const { return nodes_.size(); }
  const Node& node(int index) const { return *nodes_[index]; }
  /// Index of a node; throws Error naming similar names.
  int find(std::string_view name) const;
  /// Children of a node by slot, -1 where an optional child is absent.
  std::span<const int> children(int index) const { return children_[index]; }
  std::span<const int> parents(int index) const { return parents_[index]; }
  /// The node whose result it passes on, where it is an Identity (of an Identity ...); else itself.
  int behind_identities(int index) const;
  /// Nodes without parents.
  std::vector<int> roots() const;
  /// Nodes such that children come before parents, by level (longest path to a leaf) and then by description order.
  const std::vector<int>& order() const { return order_; }
  int level(int index) const { return level_[index]; }
  /// What the node's result depends on, including through its children.
  DependencySet dependencies(int index) const { return dependencies_[index]; }

  /// Replaces fields of a node's state; the node is made anew. Fields not named keep their values. Throws StateError,
  /// also when the dimensions of the result would change. Not while the forest is being evaluated.
  void set_state(int index, const std::map<std::string, StateValue>& fields);
  /// Counts changes of a node's state.
  std::uint64_t state_version(int index) const { return state_version_[index]; }
  /// Counts changes of state after which a Plan is out of date: of a field that is not per_node, or of what the node
  /// depends on.
  std::uint64_t plan_version() const { return plan_version_; }

 private:
  friend class ForestBuilder;
  friend class ForestRewriter;
  explicit Forest(std::shared_ptr<const NodeNames> names) : names_(std::move(names)) {}
  /// Fills order() with the nodes that are needed.
  void sort_by_level();
  void derive_dependencies();
  /// Likewise, where only what one node itself depends on has changed.
  void derive_dependencies_above(int index);
  /// Of a node, from those of its children.
  DependencySet dependencies_from_children(int index) const;
  /// A node with its identity; its dimensions are still to be set.
  std::shared_ptr<Node> make_node(const NodeClass& node_class, const State& state, int index, int named_as) const;
  static void bind(Node& node, const TensorShape& dims, std::span<const TensorShape* const> children);
  /// Dimensions of a node's children, nullptr where there is none.
  void dims_of_children(int index, std::vector<const TensorShape*>& dims) const;

  std::shared_ptr<const NodeNames> names_;
  std::vector<std::shared_ptr<Node>> nodes_;
  IndexLists children_, parents_;
  std::vector<int> order_, level_;
  std::vector<DependencySet> dependencies_;
  std::vector<std::uint64_t> state_version_;
  std::uint64_t plan_version_ = 0;
  // Nodes whose state has changed, one after the other; the list begins anew when it gets long.
  std::vector<int> changed_;
  std::uint64_t changed_lists_ = 0;
  // Of a rewritten forest: how many of these it has taken over, and of which list.
  std::size_t n_followed_ = 0;
  std::uint64_t followed_list_ = 0;
  std::vector<bool> is_needed_, is_replaced_;  // of a rewritten forest, by node
  std::vector<bool> is_merged_;                // of a forest without equal nodes: whether there were some; or empty
};

/// Whether a node is a constant all of whose numbers are zero.
bool is_constant_zero(const Forest& forest, int node);

}  // namespace rimetree
