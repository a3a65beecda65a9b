// Private to the casacore_*.cc files of runtime/ms: the state of a CasacoreTable. Includes casacore, whose headers
// (3.5 and older) need C++17.
#pragma once

#include <casacore/tables/Tables/Table.h>

#include <string>

#include "runtime/ms/casacore_guard.h"
#include "runtime/ms/casacore_table.h"

namespace rimetree::ms {

struct CasacoreTable::Impl {
  std::string path;
  casacore::Table table;
  Access access = Access::kRead;
  bool failed = false;  ///< writing failed: see ~CasacoreTable
};

/// Calls a function that writes; remembers if it failed.
template <class Action>
void writing(bool* failed, const std::string& doing, Action&& action) {
  try {
    guarded(doing, action);
  } catch (...) {
    *failed = true;
    throw;
  }
}

/// "column DATA of /x.ms": how messages name a place.
inline std::string place(const std::string& column, const std::string& path) {
  return "column " + column + " of " + path;
}

/// "column DATA of /x.ms, rows 5 to 9".
std::string place(const std::string& column, const std::string& path, const std::vector<std::int64_t>& rows);

}  // namespace rimetree::ms
