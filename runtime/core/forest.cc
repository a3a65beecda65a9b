#include "runtime/core/forest.h"

#include <algorithm>

#include "runtime/core/error.h"

namespace rimetree {

ForestError::ForestError(std::vector<BuildError> errors)
    : Error([&] {
        std::string text =
            std::to_string(errors.size()) + (errors.size() == 1 ? " error" : " errors") + " in the forest:";
        for (const BuildError& error : errors)
          text += "\n  " + (error.origin.empty() ? "" : error.origin + ": ") + "node \"" + error.node +
                  "\": " + error.message;
        return text;
      }()),
      errors_(std::move(errors)) {}

/// Builds a forest step by step, collecting errors instead of stopping at the first.
class ForestBuilder {
 public:
  ForestBuilder(const std::vector<NodeSpec>& specs, const Registry& registry) : specs_(specs), registry_(registry) {}

  std::shared_ptr<Forest> build() {
    name_nodes();
    make_nodes();
    connect();
    find_order();
    infer_dims();
    if (!errors_.empty()) throw ForestError(std::move(errors_));
    forest_->state_version_.assign(specs_.size(), 0);
    forest_->derive_dependencies();
    return std::move(forest_);
  }

  /// A node with its identity; its dimensions are still to be set.
  static std::unique_ptr<Node> make(const std::string& name, const std::string& origin, int index,
                                    const NodeClass& node_class, const std::map<std::string, StateValue>& fields) {
    auto node = node_class.make(State(node_class.state, fields));
    node->name_ = name;
    node->origin_ = origin;
    node->class_ = &node_class;
    node->index_ = index;
    return node;
  }
  static void bind(Node& node, const TensorShape& dims, std::span<const TensorShape* const> children) {
    node.dims_ = dims;
    node.bind(children);
    node.traits_ = node.own_traits();
  }

 private:
  void error(int node, std::string message) {
    errors_.push_back({specs_[node].name, specs_[node].origin, std::move(message)});
  }

  void name_nodes() {
    for (int i = 0; i < size(); ++i) {
      if (specs_[i].name.empty()) error(i, "has no name");
      const auto [it, inserted] = forest_->index_.try_emplace(specs_[i].name, i);
      if (!inserted) error(i, "defined twice; the first definition is at " + specs_[it->second].origin);
    }
  }

  void make_nodes() {
    forest_->nodes_.resize(specs_.size());
    for (int i = 0; i < size(); ++i) {
      try {
        forest_->nodes_[i] =
            make(specs_[i].name, specs_[i].origin, i, registry_.get(specs_[i].class_name), specs_[i].state);
      } catch (const std::exception& failure) {
        error(i, failure.what());
      }
    }
  }

  // Puts the children of node i into the slots its class declares; false if they do not fit.
  bool fill_slots(int i, std::vector<int>& slots) {
    const std::vector<ChildSpec>& wanted = forest_->nodes_[i]->node_class().children;
    const bool repeats = !wanted.empty() && wanted.back().repeated;
    const std::size_t fixed = wanted.size() - (repeats ? 1 : 0);
    slots.assign(fixed, -1);
    std::vector<bool> given(fixed, false);
    std::size_t position = 0;
    bool good = true, labels_good = true;
    const auto fail = [&](const std::string& message) {
      error(i, message);
      good = false;
    };
    for (const auto& [label, child_name] : specs_[i].children) {
      const auto it = forest_->index_.find(child_name);
      const int child = it == forest_->index_.end() ? -1 : it->second;
      // A child that does not exist still takes its place, so that what else is wrong is found as well.
      if (child < 0 && !child_name.empty()) fail("child \"" + child_name + "\" does not exist");
      std::size_t slot = position;
      if (!label.empty()) {
        slot = static_cast<std::size_t>(std::find_if(wanted.begin(), wanted.begin() + fixed,
                                                     [&](const auto& spec) { return spec.label == label; }) -
                                        wanted.begin());
        if (slot == fixed && !(repeats && wanted.back().label == label)) {
          fail("unknown child label \"" + label + "\"; " + describe(wanted));
          labels_good = false;
          continue;
        }
      } else {
        ++position;
      }
      if (slot < fixed) {
        if (given[slot]) fail("child \"" + wanted[slot].label + "\" is given twice");
        given[slot] = !child_name.empty();
        slots[slot] = child;
      } else if (!repeats) {
        fail("too many children; " + describe(wanted));
        break;
      } else if (child >= 0) {
        slots.push_back(child);
      } else if (child_name.empty()) {
        fail("a repeated child is left out");
      }
    }
    for (std::size_t slot = 0; slot < fixed && labels_good; ++slot)
      if (!given[slot] && !wanted[slot].optional)
        fail("child \"" + wanted[slot].label + "\" is missing; " + describe(wanted));
    const auto repeated = slots.size() - fixed;
    const auto minimum = forest_->nodes_[i]->node_class().minimum_children;
    if (good && repeats && static_cast<int>(repeated) < minimum)
      fail("needs at least " + std::to_string(minimum) + " of child \"" + wanted.back().label + "\"");
    return good;
  }

  static std::string describe(const std::vector<ChildSpec>& wanted) {
    if (wanted.empty()) return "the class takes no children";
    std::string text = "children are ";
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const ChildSpec& spec = wanted[i];
      text += (i ? ", " : "") + spec.label + (spec.shape.empty() ? "" : " " + spec.shape);
      if (spec.optional) text += " (optional)";
      if (spec.repeated) text += " (any number)";
    }
    return text;
  }

  void connect() {
    forest_->children_.resize(specs_.size());
    forest_->parents_.resize(specs_.size());
    sound_.assign(specs_.size(), false);
    for (int i = 0; i < size(); ++i) {
      if (!forest_->nodes_[i]) continue;
      sound_[i] = fill_slots(i, forest_->children_[i]);
      for (const int child : forest_->children_[i])
        if (child >= 0) forest_->parents_[child].push_back(i);
    }
    for (auto& parents : forest_->parents_) {  // a child used twice by one node has it as a parent once
      std::sort(parents.begin(), parents.end());
      parents.erase(std::unique(parents.begin(), parents.end()), parents.end());
    }
  }

  void find_order() {
    std::vector<int> waiting(specs_.size(), 0);
    forest_->level_.assign(specs_.size(), 0);
    std::vector<int> ready;
    for (int i = 0; i < size(); ++i) {
      for (int parent : forest_->parents_[i]) ++waiting[parent];
    }
    for (int i = 0; i < size(); ++i)
      if (waiting[i] == 0) ready.push_back(i);
    for (std::size_t k = 0; k < specs_.size(); ++k) {
      if (k == ready.size()) ready.push_back(open_cycle(waiting));
      for (const int parent : forest_->parents_[ready[k]]) {
        forest_->level_[parent] = std::max(forest_->level_[parent], forest_->level_[ready[k]] + 1);
        if (--waiting[parent] == 0) ready.push_back(parent);
      }
    }
    std::stable_sort(ready.begin(), ready.end(),
                     [&](int a, int b) { return std::pair(forest_->level_[a], a) < std::pair(forest_->level_[b], b); });
    forest_->order_ = std::move(ready);
  }

  // Nodes still waiting are in a cycle or above one; walking down along waiting children must end in the cycle. It is
  // reported and cut open, so that other cycles are found as well. Returns a node that waits no longer.
  int open_cycle(std::vector<int>& waiting) {
    int node =
        static_cast<int>(std::find_if(waiting.begin(), waiting.end(), [](int n) { return n > 0; }) - waiting.begin());
    std::vector<int> path;
    for (;;) {
      while (std::find(path.begin(), path.end(), node) == path.end()) {
        path.push_back(node);
        node = *std::find_if(forest_->children_[node].begin(), forest_->children_[node].end(),
                             [&](int child) { return child >= 0 && waiting[child] > 0 && is_parent(node, child); });
      }
      std::string text;
      for (auto it = std::find(path.begin(), path.end(), node); it != path.end(); ++it)
        text += "\"" + specs_[*it].name + "\" -> ";
      error(node, "is its own ancestor: " + text + "\"" + specs_[node].name + "\"");
      const int last = path.back();
      auto& parents = forest_->parents_[node];
      parents.erase(std::lower_bound(parents.begin(), parents.end(), last));
      sound_[last] = false;
      if (--waiting[last] == 0) return last;
      node = last;
      path.clear();
    }
  }
  bool is_parent(int node, int child) const {
    const auto& parents = forest_->parents_[child];
    return std::binary_search(parents.begin(), parents.end(), node);
  }

  void infer_dims() {
    for (const int i : forest_->order_) {
      bool children_sound = sound_[i];
      std::vector<const TensorShape*> dims;
      for (const int child : forest_->children_[i]) {
        children_sound = children_sound && (child < 0 || sound_[child]);
        dims.push_back(child < 0 || !children_sound ? nullptr : &forest_->nodes_[child]->dims());
      }
      sound_[i] = children_sound;  // dimensions that follow from an error are no errors of their own
      if (!children_sound) continue;
      try {
        bind(*forest_->nodes_[i], forest_->nodes_[i]->result_dims(dims), dims);
      } catch (const std::exception& failure) {
        error(i, failure.what());
        sound_[i] = false;
      }
    }
  }

  int size() const { return static_cast<int>(specs_.size()); }

  const std::vector<NodeSpec>& specs_;
  const Registry& registry_;
  std::shared_ptr<Forest> forest_{new Forest};
  std::vector<bool> sound_;
  std::vector<BuildError> errors_;
};

std::shared_ptr<Forest> Forest::build(const std::vector<NodeSpec>& specs, const Registry& registry) {
  return ForestBuilder(specs, registry).build();
}

int Forest::find(const std::string& name) const {
  const auto it = index_.find(name);
  if (it != index_.end()) return it->second;
  std::string similar;
  int listed = 0;
  for (const auto& node : nodes_)
    if (node->name().substr(0, node->name().find(':')) == name.substr(0, name.find(':')) && listed++ < 5)
      similar += (similar.empty() ? "" : ", ") + node->name();
  throw Error("the forest has no node \"" + name + "\"" + (similar.empty() ? "" : "; it has " + similar));
}

std::vector<int> Forest::roots() const {
  std::vector<int> result;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (parents_[i].empty()) result.push_back(static_cast<int>(i));
  return result;
}

void Forest::derive_dependencies() {
  dependencies_.assign(nodes_.size(), kNothing);
  for (const int i : order_) {
    dependencies_[i] = nodes_[i]->traits().depends_on;
    for (const int child : children_[i])
      if (child >= 0) dependencies_[i] |= dependencies_[child];
  }
}

std::unique_ptr<Node> Forest::make_node(const NewNode& wanted, int index) {
  return ForestBuilder::make(wanted.name, wanted.origin, index, *wanted.node_class, wanted.state);
}

void Forest::bind(Node& node, std::span<const TensorShape* const> children) {
  ForestBuilder::bind(node, node.result_dims(children), children);
}

void Forest::set_state(int index, const std::map<std::string, StateValue>& fields) {
  const Node& old = *nodes_[index];
  std::map<std::string, StateValue> all = old.state().values();
  for (const auto& [name, value] : fields) all[name] = value;
  auto node = ForestBuilder::make(old.name(), old.origin(), index, old.node_class(), all);
  std::vector<const TensorShape*> dims;
  for (const int child : children_[index]) dims.push_back(child < 0 ? nullptr : &nodes_[child]->dims());
  const TensorShape result = node->result_dims(dims);
  if (!(result == old.dims()))
    throw StateError("node \"" + old.name() + "\": the new state gives dimensions " + to_string(result) +
                     ", but the forest was built with " + to_string(old.dims()));
  ForestBuilder::bind(*node, result, dims);
  const std::vector<StateSpec>& fields_known = old.node_class().state;
  const bool plans_alike =
      node->state().fingerprint(fields_known, true) == old.state().fingerprint(fields_known, true) &&
      node->traits() == old.traits();
  nodes_[index] = std::move(node);
  ++state_version_[index];
  if (changed_.size() > nodes_.size()) {
    changed_.clear();
    ++changed_lists_;
  }
  changed_.push_back(index);
  if (plans_alike) return;
  derive_dependencies();
  ++plan_version_;
}

bool is_constant_zero(const Forest& forest, int node) {
  if (forest.node(node).algebra() != Algebra::constant) return false;
  const StateArray& value = forest.node(node).state().array("value");
  return std::all_of(value.data.begin(), value.data.end(), [](double x) { return x == 0; });
}

}  // namespace rimetree
