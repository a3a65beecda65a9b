// PyNode: a node whose mathematics is written in Python.
#pragma once

#include "runtime/python/python.h"

namespace rimetree::python {

/// set_py_node_calls(evaluate, pull_back): what evaluates a PyNode, evaluate(object, cells, children, derivatives,
/// rank)
/// -> array, and takes it backwards, pull_back(object, cells, children, wanted, adjoint, rank) -> arrays or None. The
/// package sets them once (trees/rimetree/py_node.py).
PyObject* set_py_node_calls(PyObject* self, PyObject* arguments);

/// register_py_object(object) -> int: the number by which a PyNode's state refers to the object.
PyObject* register_py_object(PyObject* self, PyObject* object);

}  // namespace rimetree::python
