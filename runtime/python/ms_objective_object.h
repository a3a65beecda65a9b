// Chi-square or a likelihood of a whole Measurement Set, for Python.
#pragma once

#include "runtime/python/python.h"

namespace rimetree::python {

/// Makes the type; call once when the module is made.
Ref make_ms_objective_type();

/// open_objective(forest, path, node, options dict) -> object with evaluate(gradient) and tiles(). Options are those of
/// a run, and `memory_bytes`.
PyObject* open_objective(PyObject* self, PyObject* arguments);

}  // namespace rimetree::python
