// Trees that Python scripts have written, read from their definitions (definitions.py, stubs.py in
// trees/rimetree/writing).
#pragma once

#include <memory>
#include <vector>

#include "runtime/core/forest/forest_builder.h"
#include "runtime/python/convert.h"

namespace rimetree::python {

class TreeReader {
 public:
  /// {name: definition}; and {name: [name of a child]} of nodes of which some child is something else than a node.
  TreeReader(PyObject* definitions, PyObject* child_names) : definitions_(definitions), child_names_(child_names) {}
  /// Throws ForestError.
  std::shared_ptr<Forest> build();

 private:
  void find_children(PyObject* name, PyObject* definition);

  PyObject *definitions_, *child_names_;
  Ref labels_ = text("labels"), origin_ = text("origin"), class_name_ = text("class_name"), state_ = text("state"),
      nodes_ = text("nodes"), name_ = text("name");
  std::vector<ForestBuilder::Child> children_;  // of the node that is read
};

}  // namespace rimetree::python
