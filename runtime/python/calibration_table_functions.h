// Tables of solutions as CASA keeps them, for Python.
#pragma once

#include "runtime/python/python.h"

namespace rimetree::python {

/// calibration_kind(path) -> str: as CASA names it; empty where there is no table of solutions.
PyObject* calibration_kind(PyObject* self, PyObject* path);

/// read_calibration_table(path) -> dict: members of CalibrationTable; "rows" has a dict for each window, of members of
/// CalibrationRows, in which values, errors and flags are arrays [row, channel, parameter].
PyObject* read_calibration_table(PyObject* self, PyObject* path);

/// create_calibration_table(path, table, ms_path, overwrite): `table` as it is read, without what the set says.
PyObject* create_calibration_table(PyObject* self, PyObject* arguments);

}  // namespace rimetree::python
