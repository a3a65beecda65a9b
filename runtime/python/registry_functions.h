// The node registry for Python.
#pragma once

#include "runtime/python/python.h"

namespace rimetree::python {

/// load_plugin(path) -> dict: name, path, classes, clashes.
PyObject* load_plugin(PyObject* self, PyObject* path);
/// node_classes() -> list of dicts: everything a class says of itself.
PyObject* node_classes(PyObject* self, PyObject* none);
/// check_state(class, fields): raises what making a node of the class with these state fields would.
PyObject* check_state(PyObject* self, PyObject* arguments);

}  // namespace rimetree::python
