// Measurement Sets for Python: creating, inspecting, and running a forest over one.
#pragma once

#include "runtime/ms/runs/tile_run.h"
#include "runtime/python/python.h"

namespace rimetree::python {

/// run_forest(forest, path or OpenSet, options dict, progress or None) -> dict. See RunOptions and RunReport.
PyObject* run_forest(PyObject* self, PyObject* arguments);

/// A report of a run as a dict.
Ref report_to_python(const ms::RunReport& report);
/// What tells a Python function, or None, of the progress of a run.
std::function<void(const ms::RunProgress&)> progress_to(PyObject* function);

/// create_ms(path, description dict). Keys as the members of MsDescription.
PyObject* create_ms(PyObject* self, PyObject* arguments);

/// check_writable(path, columns, wait_s): raises where visibilities cannot be written into one of the columns.
PyObject* check_writable(PyObject* self, PyObject* arguments);

/// save_flags(path, table), restore_flags(path, table, wait_s) -> dict: see runtime/ms/set/flag_versions.h.
PyObject* save_flags(PyObject* self, PyObject* arguments);
PyObject* restore_flags(PyObject* self, PyObject* arguments);

/// count_cells(values, weights, flags, rows, hands, within or None, magnitudes)
///   -> ([baseline] good, those of which magnitudes count, sum of magnitudes; [baseline * time * channel] linked;
///   power): see runtime/ms/tiles/count_cells.h.
/// Arrays are as tiles have them: complex64, float32, uint8, int64; `hands` and `within` are uint8.
PyObject* count_cells(PyObject* self, PyObject* arguments);

/// read_antenna_fields(path) -> dict of "fields" (a dict each, arrays as lists of numbers), "station_directions_rad"
/// and "tile_directions_rad" (lists of two numbers for each field of the set).
PyObject* read_antenna_fields(PyObject* self, PyObject* path);

/// inspect_ms(path) -> str: the summary as JSON.
PyObject* inspect_ms(PyObject* self, PyObject* path);

}  // namespace rimetree::python
