// Measurement Sets that Python holds open, and their tiles.
#pragma once

#include <memory>
#include <string>

#include "runtime/ms/set/measurement_set.h"
#include "runtime/python/python.h"

namespace rimetree::python {

/// Make the types; call once when the module is made.
Ref make_open_set_type();
Ref make_tile_reader_type();

/// open_set(path) -> OpenSet: for reading; what its rows are is read once.
PyObject* open_set(PyObject* self, PyObject* path);
/// open_tiles(path or OpenSet, options dict) -> reader with len() and read(i) -> dict of arrays.
PyObject* open_tiles(PyObject* self, PyObject* arguments);
/// tile_values(forest, reader, index, node names): (complex [node, ...dims, time, channel], list of bool: which nodes
/// have a value).
PyObject* tile_values(PyObject* self, PyObject* arguments);
/// columns_read(forest): names of columns of visibilities that its Spigots look at.
PyObject* columns_read(PyObject* self, PyObject* forest);
/// solve_tiles(forest, reader, options dict): all tiles of the reader in one solve; the forest keeps the report.
PyObject* solve_tiles(PyObject* self, PyObject* arguments);

/// A set that is opened when it is wanted, or has been.
struct SetSource {
  std::string path;
  std::shared_ptr<ms::MeasurementSet> opened;
  /// Throws MsError, and Error where one that was opened for reading is to be written to. Waits so long where another
  /// program writes to it.
  std::shared_ptr<ms::MeasurementSet> open(ms::Access access, double wait_s = 0,
                                           Cancellation* cancellation = nullptr) const;
};
/// Of a path or an OpenSet.
SetSource set_source(PyObject* path_or_set);

}  // namespace rimetree::python
