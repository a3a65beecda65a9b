// Correcting a column of a Measurement Set with matrices that Python makes, tile by tile.
#pragma once

#include "runtime/python/python.h"

namespace rimetree::python {

/// correct_ms(path, options, antennas, jones, progress) -> (report, counts); jones(time_s, frequency_hz, flags_only)
/// gives (diagonal, shape, time, frequency, inverse or None, reason).
PyObject* correct_ms(PyObject* self, PyObject* arguments);
/// count_new_flags(path or OpenSet, options, antennas, jones) -> counts
PyObject* count_new_flags(PyObject* self, PyObject* arguments);
/// correction_bytes(path, options) -> int
PyObject* correction_bytes(PyObject* self, PyObject* arguments);

}  // namespace rimetree::python
