// Creates tables of solutions, as CASA keeps them.
#pragma once

#include <string>

#include "runtime/ms/tables/calibration_table.h"

namespace rimetree::ms {

/// Writes a table of solutions for the set `ms_path`, whose sub-tables it gets; antennas, fields and windows of `table`
/// are not looked at. It appears whole or not at all. Throws MsError if something exists at the path (unless it is a
/// table of solutions and `overwrite`), or if writing fails.
void create_calibration_table(const std::string& path, const CalibrationTable& table, const std::string& ms_path,
                              bool overwrite);

}  // namespace rimetree::ms
