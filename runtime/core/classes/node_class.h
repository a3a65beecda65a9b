// What a node class says of itself: from it come the Python class, its help, the type stubs and the reference page.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/core/classes/algebra.h"
#include "runtime/core/classes/state.h"

namespace rimetree {

class Node;

struct ChildSpec {
  std::string label;
  std::string shape;  ///< what dimensions it may have, e.g. "[3] or [source,3]", or prose (child_dims.h)
  std::string unit;
  std::string doc;
  bool optional = false;
  bool repeated = false;  ///< any number of children from here on; only the last specification
  bool is_real = false;   ///< a complex one is an error
};

struct NodeClass {
  std::string name;
  Algebra algebra = Algebra::none;
  std::string summary;    ///< one line
  std::string formula;    ///< in plain text, may be empty
  std::string result;     ///< shape and unit
  std::string reference;  ///< paper and equation, or convention
  std::vector<ChildSpec> children;
  std::vector<StateSpec> state;
  std::function<std::shared_ptr<Node>(const State&)> make;  ///< throws StateError
  int minimum_children = 0;                                 ///< of a class with repeated children

  /// Whether nodes of one batch may differ in state.
  bool differs_per_node() const {
    return std::any_of(state.begin(), state.end(), [](const StateSpec& spec) { return spec.per_node; });
  }
};

/// Fills `make` for a class constructible from its State.
template <class T>
NodeClass with_factory(NodeClass node_class) {
  node_class.make = [](const State& state) -> std::shared_ptr<Node> { return std::make_shared<T>(state); };
  return node_class;
}

}  // namespace rimetree
