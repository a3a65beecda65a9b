// Forests that a plan has made from the user's: same names and numbers, but for what is evaluated in another way.
#include <algorithm>

#include "runtime/core/forest.h"

namespace rimetree {

class ForestRewriter {
 public:
  ForestRewriter(const Forest& forest, const std::vector<NewNode>& nodes) : from_(forest), new_nodes_(nodes) {}

  std::shared_ptr<Forest> make(std::span<const int> roots) {
    Forest& forest = *forest_;
    forest.nodes_ = from_.nodes_;
    forest.state_version_ = from_.state_version_;
    forest.plan_version_ = from_.plan_version_;
    forest.n_followed_ = from_.changed_.size();
    forest.followed_list_ = from_.changed_lists_;
    forest.is_replaced_.assign(from_.size(), false);
    put_nodes();
    sort(roots);
    set_dims();
    forest.derive_dependencies();
    return std::move(forest_);
  }

 private:
  void put_nodes() {
    number_.assign(forest_->nodes_.size(), -1);
    for (std::size_t i = 0; i < new_nodes_.size(); ++i) {
      const NewNode& wanted = new_nodes_[i];
      const int index = wanted.replaces >= 0 ? wanted.replaces : static_cast<int>(forest_->nodes_.size());
      std::shared_ptr<Node> node = Forest::make_node(wanted, index);
      if (wanted.replaces >= 0) {
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

  const std::vector<int>& wanted_children(int node) const {
    return number_[node] >= 0 ? new_nodes_[number_[node]].children : from_.children(node);
  }

  /// Depth first from the roots: children, parents, levels and order of what they need.
  void sort(std::span<const int> roots) {
    Forest& forest = *forest_;
    const std::size_t n = forest.nodes_.size();
    forest.children_.resize(n);
    forest.parents_.resize(n);
    forest.level_.assign(n, 0);
    forest.is_needed_.assign(n, false);
    std::vector<std::pair<int, std::size_t>> path;
    for (const int root : roots) {
      if (!forest.is_needed_[root]) enter(root, path);
      while (!path.empty()) {
        const int node = path.back().first;
        const std::vector<int>& children = forest.children_[node];
        int next = -1;
        while (next < 0 && path.back().second < children.size()) next = children[path.back().second++];
        if (next >= 0) {
          if (!forest.is_needed_[next]) enter(next, path);
          continue;
        }
        for (const int child : children) {
          if (child < 0) continue;
          forest.level_[node] = std::max(forest.level_[node], forest.level_[child] + 1);
          // A child used twice has its parent once, which came last.
          auto& parents = forest.parents_[child];
          if (parents.empty() || parents.back() != node) parents.push_back(node);
        }
        forest.order_.push_back(node);
        path.pop_back();
      }
    }
    by_children_ = forest.order_;
    std::sort(forest.order_.begin(), forest.order_.end(),
              [&](int a, int b) { return std::pair(forest.level_[a], a) < std::pair(forest.level_[b], b); });
  }
  void enter(int node, std::vector<std::pair<int, std::size_t>>& path) {
    forest_->is_needed_[node] = true;
    forest_->children_[node] = wanted_children(node);
    path.emplace_back(node, 0);
  }

  void set_dims() {
    std::vector<const TensorShape*> dims;
    for (const int node : by_children_) {
      if (number_[node] < 0) continue;
      dims.clear();
      for (const int child : forest_->children_[node])
        dims.push_back(child < 0 ? nullptr : &forest_->nodes_[child]->dims());
      Forest::bind(*forest_->nodes_[node], dims);
      const int replaced = new_nodes_[number_[node]].replaces;
      if (replaced >= 0 && !(forest_->nodes_[node]->dims() == from_.node(replaced).dims()))
        throw ShapeError("node \"" + from_.node(replaced).name() + "\" has dimensions " +
                         to_string(from_.node(replaced).dims()) + ", and what was to take its place " +
                         to_string(forest_->nodes_[node]->dims()));
    }
  }

  const Forest& from_;
  const std::vector<NewNode>& new_nodes_;
  std::shared_ptr<Forest> forest_{new Forest};
  std::vector<int> number_;  // by node: which of the new ones it is, -1: none
  std::vector<int> by_children_;
};

std::shared_ptr<Forest> Forest::rewritten(const Forest& forest, const std::vector<NewNode>& nodes,
                                          std::span<const int> roots) {
  return ForestRewriter(forest, nodes).make(roots);
}

void Forest::follow(const Forest& forest) {
  const auto take = [&](int node) {
    state_version_[node] = forest.state_version_[node];
    if (!is_replaced_[node]) nodes_[node] = forest.nodes_[node];
  };
  if (followed_list_ != forest.changed_lists_) {
    for (int node = 0; node < static_cast<int>(forest.size()); ++node) take(node);
    followed_list_ = forest.changed_lists_;
    n_followed_ = forest.changed_.size();
  }
  while (n_followed_ < forest.changed_.size()) take(forest.changed_[n_followed_++]);
}

}  // namespace rimetree
