#include "runtime/core/forest/forest_builder.h"

#include <algorithm>

#include "runtime/core/classes/child_dims.h"
#include "runtime/core/error.h"

namespace rimetree {

namespace {

std::string describe(const std::vector<ChildSpec>& wanted) {
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

}  // namespace

BuildError ForestBuilder::error(int node, std::string message) const {
  return {std::string(names_->name(node)), names_->origin(node), std::move(message)};
}

void ForestBuilder::name(std::string_view name, std::string_view origin) {
  const int node = size(), first = names_->add(name, origin);
  if (name.empty()) errors_.push_back(error(node, "has no name"));
  if (first != node)
    errors_.push_back(error(node, "defined twice; the first definition is at " + names_->origin(first)));
}

void ForestBuilder::define(std::string_view class_name, const std::map<std::string, StateValue>& state,
                           std::span<const Child> children) {
  const int node = static_cast<int>(forest_->nodes_.size());
  slots_.clear();
  try {
    forest_->nodes_.push_back(make_node(node, class_name, state));
  } catch (const Cancelled&) {
    throw;
  } catch (...) {
    errors_.push_back(error(node, message_of_caught()));
    forest_->nodes_.push_back(nullptr);
  }
  sound_.push_back(forest_->nodes_.back() != nullptr && fill_slots(node, children));
  forest_->children_.append(slots_);
}

ForestBuilder::ClassInUse& ForestBuilder::class_in_use(std::string_view name) {
  const auto known = classes_.find(name);
  if (known != classes_.end()) return known->second;
  const NodeClass& node_class = registry_.get(std::string(name));
  const State defaults = State::defaults(node_class.state);
  return classes_.emplace(name, ClassInUse{&node_class, defaults, defaults}).first->second;
}

std::shared_ptr<Node> ForestBuilder::make_node(int number, std::string_view class_name,
                                               const std::map<std::string, StateValue>& given) {
  ClassInUse& use = class_in_use(class_name);
  State state = use.defaults.with(given);
  if (state.is_same_as(use.last))
    state = use.last;
  else
    use.last = state;
  return forest_->make_node(*use.node_class, state, number, number);
}

std::shared_ptr<Forest> ForestBuilder::build() {
  for (BuildError& error : child_errors_) errors_.push_back(std::move(error));
  forest_->parents_ = forest_->children_.parents();
  find_order();
  infer_dims();
  if (!errors_.empty()) throw ForestError(std::move(errors_));
  forest_->state_version_.assign(forest_->size(), 0);
  forest_->derive_dependencies();
  return std::move(forest_);
}

/// Puts the children of node i into the slots its class declares; false if they do not fit.
bool ForestBuilder::fill_slots(int i, std::span<const Child> children) {
  const NodeClass& node_class = forest_->nodes_[i]->node_class();
  const std::vector<ChildSpec>& wanted = node_class.children;
  const bool repeats = !wanted.empty() && wanted.back().repeated;
  const std::size_t fixed = wanted.size() - (repeats ? 1 : 0);
  slots_.assign(fixed, -1);
  given_.assign(fixed, false);
  // Where optional ones have their labels, children without are the repeated ones: VisDataMux(*sinks, pre=solver).
  const auto before = std::span(wanted).first(fixed);
  const auto has_label = [&](const auto& child) {
    return std::any_of(before.begin(), before.end(), [&](const ChildSpec& spec) { return spec.label == child.first; });
  };
  const bool all_optional = std::all_of(before.begin(), before.end(), [](const auto& spec) { return spec.optional; });
  const auto first =
      std::find_if(children.begin(), children.end(), [](const auto& child) { return child.first.empty(); });
  const bool leaves_out = first != children.end() && first->second.empty();  // None in the place of one
  std::size_t position =
      repeats && all_optional && !leaves_out && std::any_of(children.begin(), children.end(), has_label) ? fixed : 0;
  bool good = true, labels_good = true;
  const auto fail = [&](const std::string& message) {
    child_errors_.push_back(error(i, message));
    good = false;
  };
  for (const auto& [label, child_name] : children) {
    const int child = names_->find(child_name);
    // A child that does not exist still takes its place, so that what else is wrong is found as well.
    if (child < 0 && !child_name.empty()) fail("child \"" + std::string(child_name) + "\" does not exist");
    std::size_t slot = position;
    if (!label.empty()) {
      slot = static_cast<std::size_t>(
          std::find_if(wanted.begin(), wanted.begin() + fixed, [&](const auto& spec) { return spec.label == label; }) -
          wanted.begin());
      if (slot == fixed && !(repeats && wanted.back().label == label)) {
        fail("unknown child label \"" + std::string(label) + "\"; " + describe(wanted));
        labels_good = false;
        continue;
      }
    } else {
      ++position;
    }
    if (slot < fixed) {
      if (given_[slot])
        fail("child \"" + wanted[slot].label + "\" is given twice: " + describe(wanted) +
             ", in this order where they have no labels; None leaves one out");
      given_[slot] = !child_name.empty();
      slots_[slot] = child;
    } else if (!repeats) {
      fail("too many children; " + describe(wanted));
      break;
    } else if (child >= 0) {
      slots_.push_back(child);
    } else if (child_name.empty()) {
      fail("a repeated child is left out");
    }
  }
  for (std::size_t slot = 0; slot < fixed && labels_good; ++slot)
    if (!given_[slot] && !wanted[slot].optional)
      fail("child \"" + wanted[slot].label + "\" is missing; " + describe(wanted));
  const auto repeated = slots_.size() - fixed;
  const int minimum = node_class.minimum_children;
  if (good && repeats && static_cast<int>(repeated) < minimum)
    fail("needs at least " + std::to_string(minimum) + " of child \"" + wanted.back().label + "\"");
  return good;
}

void ForestBuilder::find_order() {
  const auto n = static_cast<std::size_t>(size());
  std::vector<int>& level = forest_->level_;
  const IndexLists& parents_of = forest_->parents_;
  std::vector<int> waiting(n, 0);  // by node: children that have no level yet
  level.assign(n, 0);
  std::vector<int> ready;
  ready.reserve(n);
  for (int i = 0; i < size(); ++i)
    for (const int parent : parents_of[i]) ++waiting[parent];
  for (int i = 0; i < size(); ++i)
    if (waiting[i] == 0) ready.push_back(i);
  for (std::size_t k = 0; k < n; ++k) {
    if (k == ready.size()) ready.push_back(open_cycle(waiting));
    for (const int parent : parents_of[ready[k]]) {
      if (!cut_.empty() && cut_.contains({parent, ready[k]})) continue;
      level[parent] = std::max(level[parent], level[ready[k]] + 1);
      if (--waiting[parent] == 0) ready.push_back(parent);
    }
  }
  forest_->sort_by_level();
}

/// Nodes still waiting are in a cycle or above one; walking down along waiting children must end in the cycle. It is
/// reported and cut open, so that other cycles are found as well. Returns a node that waits no longer.
int ForestBuilder::open_cycle(std::vector<int>& waiting) {
  int node =
      static_cast<int>(std::find_if(waiting.begin(), waiting.end(), [](int n) { return n > 0; }) - waiting.begin());
  const auto quoted = [this](int i) { return "\"" + std::string(names_->name(i)) + "\""; };
  std::vector<int> path;
  for (;;) {
    while (std::find(path.begin(), path.end(), node) == path.end()) {
      path.push_back(node);
      const std::span<const int> children = forest_->children_[node];
      node = *std::find_if(children.begin(), children.end(),
                           [&](int child) { return child >= 0 && waiting[child] > 0 && is_parent(node, child); });
    }
    std::string text;
    for (auto it = std::find(path.begin(), path.end(), node); it != path.end(); ++it) text += quoted(*it) + " -> ";
    errors_.push_back(error(node, "is its own ancestor: " + text + quoted(node)));
    const int last = path.back();
    cut_.emplace(last, node);
    sound_[last] = false;
    if (--waiting[last] == 0) return last;
    node = last;
    path.clear();
  }
}

bool ForestBuilder::is_parent(int node, int child) const {
  const std::span<const int> parents = forest_->parents_[child];
  return std::binary_search(parents.begin(), parents.end(), node) && !cut_.contains({node, child});
}

void ForestBuilder::infer_dims() {
  DimsCheck dims_check;
  std::vector<const TensorShape*> dims;
  for (const int i : forest_->order_) {
    bool children_sound = sound_[i];
    for (const int child : forest_->children_[i]) children_sound = children_sound && (child < 0 || sound_[child]);
    sound_[i] = children_sound;  // dimensions that follow from an error are no errors of their own
    if (!children_sound) continue;
    try {
      forest_->dims_of_children(i, dims);
      Node& node = *forest_->nodes_[i];
      dims_check.require(node.node_class(), dims);
      Forest::bind(node, node.result_dims(dims), dims);
    } catch (const Cancelled&) {
      throw;
    } catch (...) {
      errors_.push_back(error(i, message_of_caught()));
      sound_[i] = false;
    }
  }
}

std::shared_ptr<Forest> Forest::build(const std::vector<NodeSpec>& specs, const Registry& registry) {
  ForestBuilder builder(registry);
  for (const NodeSpec& spec : specs) builder.name(spec.name, spec.origin);
  std::vector<ForestBuilder::Child> children;
  for (const NodeSpec& spec : specs) {
    children.assign(spec.children.begin(), spec.children.end());
    builder.define(spec.class_name, spec.state, children);
  }
  return builder.build();
}

}  // namespace rimetree
