// PyNode: a node whose mathematics is written in Python.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "runtime/python/interpreter.h"

namespace rimetree::python {

/// A Python object that nodes of one forest use together: one reference, let go of from any thread.
class UsedObject {
 public:
  explicit UsedObject(Ref object) : object_(std::move(object)) {}
  ~UsedObject() {
    const WithGil gil;
    object_ = Ref();
  }
  UsedObject(const UsedObject&) = delete;
  UsedObject& operator=(const UsedObject&) = delete;
  PyObject* get() const { return object_.get(); }

 private:
  Ref object_;
};

/// What the PyNodes of a forest use, by number. Python's collector of cycles asks the forest for it: an object that has
/// the forest whose nodes call it is usual.
using UsedObjects = std::map<std::int64_t, std::shared_ptr<const UsedObject>>;

/// PyNodes that are made as long as this lives are those of the forest to which `used` belongs. With the GIL.
class MakesNodesOf {
 public:
  explicit MakesNodesOf(UsedObjects& used);
  ~MakesNodesOf();
  MakesNodesOf(const MakesNodesOf&) = delete;
  MakesNodesOf& operator=(const MakesNodesOf&) = delete;
};

/// set_py_node_calls(evaluate, pull_back, object_of): what evaluates a PyNode, evaluate(object, cells, children,
/// derivatives, rank) -> array, takes it backwards, pull_back(object, cells, children, wanted, adjoint, rank) -> arrays
/// or None, and finds the object that a number in its state refers to. The package sets them once
/// (trees/rimetree/evaluation/py_node.py).
PyObject* set_py_node_calls(PyObject* self, PyObject* arguments);

}  // namespace rimetree::python
