// Flags of a Measurement Set kept as a table, as CASA's flagmanager keeps them, and taken from one.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/core/threads/cancellation.h"

namespace rimetree::ms {

/// How many visibilities are flagged (FLAG or FLAG_ROW), before and after.
struct FlagChange {
  std::int64_t visibilities = 0, before = 0, after = 0;
};

/// Writes FLAG and FLAG_ROW of all rows into a new table. Throws MsError.
void save_flags(const std::string& ms_path, const std::string& table_path);

/// Gives FLAG and FLAG_ROW the values in a table. Throws MsError, and then nothing has changed, where it has another
/// number of rows or cells of another shape; what open_for_writing throws where another program writes.
FlagChange restore_flags(const std::string& ms_path, const std::string& table_path, double wait_s,
                         Cancellation* cancellation = nullptr);

}  // namespace rimetree::ms
