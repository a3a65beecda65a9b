// Private to runtime/ms: the part of making sets and tables of solutions that needs casacore.
#pragma once

#include <string>

#include "runtime/ms/tables/calibration_table.h"
#include "runtime/ms/tables/ms_description.h"

namespace casacore {
class MeasurementSet;
}

namespace rimetree::ms {

/// Writes the Measurement Set to a path that does not exist. The description has been checked. It is in a library of
/// its own, which create() loads, and where it has no mangled name, so that it can be found.
extern "C" void rimetree_write_new_set(const std::string& path, const MsDescription& description);

/// Writes a table of solutions to a path that does not exist, with sub-tables as those of the set `ms_path`.
extern "C" void rimetree_write_calibration_table(const std::string& path, const CalibrationTable& table,
                                                 const std::string& ms_path);

/// Fills all sub-tables of a set just created (casacore_subtables.cc).
void fill_subtables(casacore::MeasurementSet& set, const MsDescription& description);

}  // namespace rimetree::ms
