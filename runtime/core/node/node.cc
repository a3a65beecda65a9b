#include "runtime/core/node/node.h"

#include <algorithm>

#include "runtime/core/error.h"

namespace rimetree {

Vells Evaluation::make(NumberType type, const CellShape& cells) const { return {pool, type, node.dims(), cells}; }

std::vector<const Vells*> Evaluation::child_values() const {
  std::vector<const Vells*> values;
  for (const Result* child : children_) {
    if (child == nullptr) continue;
    values.push_back(&child->value);
    for (const Derivative& derivative : child->derivatives) values.push_back(&derivative.value);
  }
  return values;
}

bool Evaluation::has_derivatives() const {
  return std::any_of(children_.begin(), children_.end(),
                     [](const Result* child) { return child != nullptr && !child->derivatives.empty(); });
}

std::vector<ParameterId> Evaluation::parameters() const {
  std::vector<ParameterId> ids;
  for (const Result* child : children_) {
    if (child == nullptr) continue;
    for (const Derivative& derivative : child->derivatives) ids.push_back(derivative.parameter);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

void Evaluation::fail(const std::string& message) {
  result = Result{};
  result.status = Result::Status::failed;
  result.failures.push_back({node.name(), node.node_class().name, node.origin(), message});
}

std::string Node::name() const {
  std::string name(names_->name(named_as_));
  if (named_as_ != index_) name += "/" + class_->name;
  return name;
}

std::size_t Node::n_unknown() const {
  const UnknownsHolder* unknowns = capabilities().unknowns;
  return unknowns != nullptr ? unknowns->n_unknown() : 0;
}

std::unique_ptr<BatchKernel> Node::make_kernel() const { return std::make_unique<BatchKernel>(); }

void Node::pull_back(PullBack&) const { throw Error("the class has no derivatives in reverse mode (Node::pull_back)"); }

}  // namespace rimetree
