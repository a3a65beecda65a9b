// One node's evaluation as its class sees it: checked inputs, and where to put the outcome.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/core/values/request.h"
#include "runtime/core/values/result.h"

namespace rimetree {

class CellPrograms;
class Node;

class Evaluation {
 public:
  /// `children` and `result` belong to the caller, who keeps them until the evaluation is over.
  Evaluation(const Node& node, const Request& request, memory::Pool& pool, std::span<const Result* const> children,
             Result& result)
      : node(node), request(request), pool(pool), result(result), children_(children) {}

  const Node& node;
  const Request& request;
  memory::Pool& pool;

  /// Where the bodies of its batch are kept as programs (runtime/cell/cell_program.h); nullptr: nowhere.
  CellPrograms* programs = nullptr;

  const Cells& cells() const { return *request.cells; }
  /// Children in the order of the class's specification, each with a value; nullptr where an optional one is absent.
  std::span<const Result* const> children() const { return children_; }
  const Result& child(std::size_t slot) const { return *children_[slot]; }
  bool has_child(std::size_t slot) const { return slot < children_.size() && children_[slot] != nullptr; }

  /// Uninitialised values of the node's dimensions.
  Vells make(NumberType type, const CellShape& cells) const;
  void set(Vells value) { result.value = std::move(value); }
  void add(ParameterId parameter, Vells derivative) {
    result.derivatives.push_back({parameter, std::move(derivative)});
  }
  /// Overrides the default rule (a cell is flagged where any child is).
  void set_flags(Flags flags) {
    result.flags = std::move(flags);
    flags_are_set = true;
  }
  /// There is no data for this node in this request.
  void set_missing() { is_missing = true; }
  /// Makes the outcome a Failure of the node.
  void fail(const std::string& message);

  /// The values of all children and their derivatives.
  std::vector<const Vells*> child_values() const;
  /// Whether any child depends on a parameter.
  bool has_derivatives() const;
  /// The parameters on which any child depends, ascending.
  std::vector<ParameterId> parameters() const;

  // What the contract reads when the class is done.
  Result& result;
  bool flags_are_set = false;
  bool is_missing = false;

 private:
  std::span<const Result* const> children_;
};

}  // namespace rimetree
