// Private to runtime/ms: the part of create() that needs casacore.
#pragma once

#include <string>

#include "runtime/ms/tables/ms_description.h"

namespace casacore {
class MeasurementSet;
}

namespace rimetree::ms {

/// Writes the Measurement Set to a path that does not exist. The description has been checked. It is in a library of
/// its own, which create() loads, and where it has no mangled name, so that it can be found.
extern "C" void rimetree_write_new_set(const std::string& path, const MsDescription& description);

/// Fills all sub-tables of a set just created (casacore_subtables.cc).
void fill_subtables(casacore::MeasurementSet& set, const MsDescription& description);

}  // namespace rimetree::ms
