// Unknowns as one vector, gradients with respect to it, and the check of derivatives, for Python.
#pragma once

#include "runtime/core/forest/forest.h"
#include "runtime/core/values/pull_back.h"
#include "runtime/python/python.h"

namespace rimetree::python {

/// forest_parameters(forest) -> list of dicts, one per solvable Parm in the order of the script: name, shape, and
/// value, minimum, maximum, prior_mean and prior_sigma as flat arrays, one number per unknown.
PyObject* forest_parameters(PyObject* self, PyObject* arguments);
/// set_forest_parameters(forest, vector): the values of all solvable Parms one after the other.
PyObject* set_forest_parameters(PyObject* self, PyObject* arguments);
/// forest_gradient(forest, node, cells, precision, tolerance) -> (result, vector of derivatives or None)
PyObject* forest_gradient(PyObject* self, PyObject* arguments);
/// check_forest_derivatives(forest, node, cells, precision, tolerance)
///   -> ([(node, class, difference, noise, extended)], [(parm, coefficient, forward, reverse)])
PyObject* check_forest_derivatives(PyObject* self, PyObject* arguments);

/// As one vector, in the order of set_forest_parameters; 0 for unknowns that it has not.
Ref gradient_vector(const Forest& forest, Gradient& gradient);

}  // namespace rimetree::python
