// Fits of factors of directions (runtime/fit/factor_fit.h) as an object of Python.
#pragma once

#include "runtime/python/python.h"

namespace rimetree::python {

/// Makes the type; call once when the module is made.
Ref make_factor_fit_type();

/// open_factor_fit(sums dict, list of dicts of unknowns) -> FactorFit.
PyObject* open_factor_fit(PyObject* self, PyObject* arguments);

}  // namespace rimetree::python
