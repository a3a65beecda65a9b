// Casacore tables that are no Measurement Sets, for Python.
#pragma once

#include "runtime/python/python.h"

namespace rimetree::python {

/// table_as_json(path, columns) -> str: as ms::table_as_json; `columns` are names.
PyObject* table_as_json(PyObject* self, PyObject* arguments);

/// read_pixels(path, column) -> array, the slowest axis first.
PyObject* read_pixels(PyObject* self, PyObject* arguments);

}  // namespace rimetree::python
