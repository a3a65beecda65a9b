#include "runtime/core/forest/forest.h"

#include <algorithm>
#include <set>
#include <utility>

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

int Forest::find(std::string_view name) const {
  const int node = names_->find(name);
  if (node >= 0) return node;
  const auto base_of = [](std::string_view one) { return one.substr(0, one.find(':')); };
  std::string similar;
  int listed = 0;
  for (int i = 0; i < static_cast<int>(names_->size()) && listed < 5; ++i) {
    const std::string_view other = names_->name(i);
    if (base_of(other) != base_of(name)) continue;
    similar.append(listed++ > 0 ? ", " : "").append(other);
  }
  throw Error("the forest has no node \"" + std::string(name) + "\"" + (similar.empty() ? "" : "; it has " + similar));
}

int Forest::behind_identities(int index) const {
  while (node(index).algebra() == Algebra::identity) index = children(index)[0];
  return index;
}

std::vector<int> Forest::roots() const {
  std::vector<int> result;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (parents_[static_cast<int>(i)].empty()) result.push_back(static_cast<int>(i));
  return result;
}

void Forest::sort_by_level() {
  std::vector<std::size_t> place;  // by level: how many nodes, then where the next one goes
  for (std::size_t i = 0; i < size(); ++i) {
    if (!is_needed(static_cast<int>(i))) continue;
    place.resize(std::max(place.size(), static_cast<std::size_t>(level_[i]) + 1), 0);
    ++place[static_cast<std::size_t>(level_[i])];
  }
  std::size_t total = 0;
  for (std::size_t& one : place) total += std::exchange(one, total);
  order_.resize(total);
  for (std::size_t i = 0; i < size(); ++i)
    if (is_needed(static_cast<int>(i))) order_[place[static_cast<std::size_t>(level_[i])]++] = static_cast<int>(i);
}

void Forest::derive_dependencies() {
  dependencies_.assign(nodes_.size(), kNothing);
  for (const int i : order_) dependencies_[i] = dependencies_from_children(i);
}

// Of the whole forest that would be most of the time of a calibration in which each of many Parms gets new tiles.
void Forest::derive_dependencies_above(int index) {
  std::set<std::pair<int, int>> open{{level_[index], index}};  // children come first
  while (!open.empty()) {
    const int i = open.extract(open.begin()).value().second;
    const DependencySet found = dependencies_from_children(i);
    if (dependencies_[i] == found) continue;
    dependencies_[i] = found;
    for (const int parent : parents_[i]) open.emplace(level_[parent], parent);
  }
}

DependencySet Forest::dependencies_from_children(int index) const {
  DependencySet found = nodes_[index]->traits().depends_on;
  for (const int child : children_[index])
    if (child >= 0) found |= dependencies_[child];
  return found;
}

std::shared_ptr<Node> Forest::make_node(const NodeClass& node_class, const State& state, int index,
                                        int named_as) const {
  auto node = node_class.make(state);
  node->names_ = names_.get();
  node->named_as_ = named_as;
  node->class_ = &node_class;
  node->index_ = index;
  return node;
}

void Forest::bind(Node& node, const TensorShape& dims, std::span<const TensorShape* const> children) {
  node.dims_ = dims;
  node.bind(children);
  node.traits_ = node.own_traits();
}

void Forest::dims_of_children(int index, std::vector<const TensorShape*>& dims) const {
  dims.clear();
  for (const int child : children_[index]) dims.push_back(child < 0 ? nullptr : &nodes_[child]->dims());
}

void Forest::set_state(int index, const std::map<std::string, StateValue>& fields) {
  const Node& old = *nodes_[index];
  std::shared_ptr<Node> node;
  std::vector<const TensorShape*> dims;
  TensorShape result;
  try {
    node = make_node(old.node_class(), old.state().with(fields), index, index);
    dims_of_children(index, dims);
    result = node->result_dims(dims);
  } catch (const std::exception& problem) {
    throw StateError("node \"" + old.name() + "\": " + problem.what());
  }
  if (!(result == old.dims()))
    throw StateError("node \"" + old.name() + "\": the new state gives dimensions " + to_string(result) +
                     ", but the forest was built with " + to_string(old.dims()));
  bind(*node, result, dims);
  const bool plans_alike =
      node->state().fingerprint(true) == old.state().fingerprint(true) && node->traits() == old.traits();
  nodes_[index] = std::move(node);
  ++state_version_[index];
  if (changed_.size() > nodes_.size()) {
    changed_.clear();
    ++changed_lists_;
  }
  changed_.push_back(index);
  if (plans_alike) return;
  derive_dependencies_above(index);
  ++plan_version_;
}

bool is_constant_zero(const Forest& forest, int node) {
  if (forest.node(node).algebra() != Algebra::constant) return false;
  const StateArray& value = forest.node(node).state().array("value");
  return std::all_of(value.data.begin(), value.data.end(), [](double x) { return x == 0; });
}

}  // namespace rimetree
