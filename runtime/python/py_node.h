// PyNode: a node whose mathematics is written in Python.
#pragma once

#include "runtime/python/python.h"

namespace rimetree::python {

/// set_py_node_call(function): what evaluates a PyNode, function(object, cells, children, derivatives) -> arrays. The
/// package sets it once (trees/rimetree/py_node.py).
PyObject* set_py_node_call(PyObject* self, PyObject* function);

/// register_py_object(object) -> int: the number by which a PyNode's state refers to the object.
PyObject* register_py_object(PyObject* self, PyObject* object);

}  // namespace rimetree::python
