// Forests that a plan has made from the user's: same names and numbers, but for what is evaluated in another way.
#include <algorithm>

#include "runtime/core/classes/child_dims.h"
#include "runtime/core/forest/forest.h"

namespace rimetree {

class ForestRewriter {
 public:
  /// `first`: of equal nodes the one that parents are to read, by node; empty: each node itself.
  ForestRewriter(const Forest& forest, const std::vector<NewNode>& nodes, const std::vector<int>& first)
      : from_(forest), new_nodes_(nodes), first_(first), forest_(new Forest(forest.names_)) {}

  std::shared_ptr<Forest> make(std::span<const int> roots) {
    Forest& forest = *forest_;
    forest.nodes_ = from_.nodes_;
    forest.state_version_ = from_.state_version_;
    forest.plan_version_ = from_.plan_version_;
    const bool is_first = from_.is_needed_.empty();  // else the user's forest has been followed up to here
    forest.n_followed_ = is_first ? from_.changed_.size() : from_.n_followed_;
    forest.followed_list_ = is_first ? from_.changed_lists_ : from_.followed_list_;
    forest.is_replaced_.assign(from_.size(), false);
    forest.is_merged_ = from_.is_merged_;
    merge();
    put_nodes();
    sort(roots);
    set_dims();
    forest.derive_dependencies();
    return std::move(forest_);
  }

 private:
  void merge() {
    if (first_.empty()) return;
    forest_->is_merged_.assign(from_.size(), false);
    std::vector<int> children;
    for (int node = 0; node < static_cast<int>(from_.size()); ++node) {
      if (first_[node] != node) forest_->is_merged_[node] = forest_->is_merged_[first_[node]] = true;
      children.clear();
      for (const int child : from_.children(node)) children.push_back(child < 0 ? child : first_[child]);
      merged_children_.append(children);
    }
  }

  void put_nodes() {
    number_.assign(forest_->nodes_.size(), -1);
    for (std::size_t i = 0; i < new_nodes_.size(); ++i) {
      const NewNode& wanted = new_nodes_[i];
      const int index = wanted.replaces ? wanted.owner : static_cast<int>(forest_->nodes_.size());
      const State state(wanted.node_class->state, wanted.state);
      std::shared_ptr<Node> node = forest_->make_node(*wanted.node_class, state, index, wanted.owner);
      if (wanted.replaces) {
        forest_->nodes_[index] = std::move(node);
        forest_->is_replaced_[index] = true;
      } else {
        forest_->nodes_.push_back(std::move(node));
        forest_->is_replaced_.push_back(true);
        forest_->state_version_.push_back(0);
        number_.push_back(-1);
      }
      number_[index] = static_cast<int>(i);
    }
  }

  std::span<const int> wanted_children(int node) const {
    if (number_[node] >= 0) return new_nodes_[number_[node]].children;
    return first_.empty() ? from_.children(node) : merged_children_[node];
  }

  /// Depth first from the roots: what they need, with its levels; then children, parents and order of that.
  void sort(std::span<const int> roots) {
    Forest& forest = *forest_;
    const std::size_t n = forest.nodes_.size();
    forest.level_.assign(n, 0);
    forest.is_needed_.assign(n, false);
    std::vector<std::pair<int, std::size_t>> path;
    const auto enter = [&](int node) {
      forest.is_needed_[node] = true;
      path.emplace_back(node, 0);
    };
    for (const int root : roots) {
      if (!forest.is_needed_[root]) enter(root);
      while (!path.empty()) {
        const int node = path.back().first;
        const std::span<const int> children = wanted_children(node);
        int next = -1;
        while (next < 0 && path.back().second < children.size()) next = children[path.back().second++];
        if (next >= 0) {
          if (!forest.is_needed_[next]) enter(next);
          continue;
        }
        for (const int child : children)
          if (child >= 0) forest.level_[node] = std::max(forest.level_[node], forest.level_[child] + 1);
        path.pop_back();
      }
    }
    for (int node = 0; node < static_cast<int>(n); ++node)
      forest.children_.append(forest.is_needed(node) ? wanted_children(node) : std::span<const int>());
    forest.parents_ = forest.children_.parents();
    forest.sort_by_level();
  }

  void set_dims() {
    std::vector<const TensorShape*> dims;
    DimsCheck dims_check;
    for (const int number : forest_->order_) {
      if (number_[number] < 0) continue;
      forest_->dims_of_children(number, dims);
      Node& node = *forest_->nodes_[number];
      dims_check.require(node.node_class(), dims);
      Forest::bind(node, node.result_dims(dims), dims);
      if (!new_nodes_[number_[number]].replaces) continue;
      const Node& replaced = from_.node(number);
      if (!(node.dims() == replaced.dims()))
        throw ShapeError("node \"" + replaced.name() + "\" has dimensions " + to_string(replaced.dims()) +
                         ", and what was to take its place " + to_string(node.dims()));
    }
  }

  const Forest& from_;
  const std::vector<NewNode>& new_nodes_;
  const std::vector<int>& first_;
  IndexLists merged_children_;
  std::shared_ptr<Forest> forest_;
  std::vector<int> number_;  // by node: which of the new ones it is, -1: none
};

std::shared_ptr<Forest> Forest::rewritten(const Forest& forest, const std::vector<NewNode>& nodes,
                                          std::span<const int> roots) {
  return ForestRewriter(forest, nodes, {}).make(roots);
}

std::shared_ptr<Forest> Forest::merged(const Forest& forest, const std::vector<int>& first,
                                       std::span<const int> roots) {
  return ForestRewriter(forest, {}, first).make(roots);
}

bool Forest::follow(const Forest& forest) {
  bool is_right = true;
  const auto take = [&](int node) {
    if (state_version_[node] == forest.state_version_[node]) return;
    state_version_[node] = forest.state_version_[node];
    if (!is_replaced_[node]) nodes_[node] = forest.nodes_[node];
    if (!is_merged_.empty() && is_merged_[node]) is_right = false;
  };
  if (followed_list_ != forest.changed_lists_) {
    for (int node = 0; node < static_cast<int>(forest.size()); ++node) take(node);
    followed_list_ = forest.changed_lists_;
    n_followed_ = forest.changed_.size();
  }
  while (n_followed_ < forest.changed_.size()) take(forest.changed_[n_followed_++]);
  return is_right;
}

}  // namespace rimetree
