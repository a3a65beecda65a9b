// Measurement Sets for Python: creating, inspecting, reading in tiles, and running a forest over one.
#pragma once

#include "runtime/python/python.h"

namespace rimetree::python {

/// run_forest(forest, path, options dict, progress or None) -> dict. See RunOptions and RunReport.
PyObject* run_forest(PyObject* self, PyObject* arguments);

/// create_ms(path, description dict). Keys as the members of MsDescription.
PyObject* create_ms(PyObject* self, PyObject* arguments);

/// inspect_ms(path) -> str: the summary as JSON.
PyObject* inspect_ms(PyObject* self, PyObject* path);

/// Makes the type of tile readers; call once when the module is made.
Ref make_tile_reader_type();

/// open_tiles(path, options dict) -> reader with len() and read(i) -> dict of arrays.
PyObject* open_tiles(PyObject* self, PyObject* arguments);

}  // namespace rimetree::python
