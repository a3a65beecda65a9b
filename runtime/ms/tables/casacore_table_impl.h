// Private to the casacore_*.cc files of runtime/ms: the state of a CasacoreTable. Includes casacore, whose headers
// (3.5 and older) need C++17.
#pragma once

#include <casacore/tables/Tables/Table.h>

#include <memory>
#include <string>

#include "runtime/ms/tables/casacore_guard.h"
#include "runtime/ms/tables/casacore_place.h"
#include "runtime/ms/tables/casacore_table.h"
#include "runtime/ms/tables/writer_mark.h"

namespace rimetree::ms {

/// Of a tile of visibilities on disk: 1 MiB of single-precision complex numbers.
inline constexpr std::size_t kTileElements = std::size_t{1} << 17;

/// What a table has gone through.
struct WriteState {
  bool changed = false;  ///< something was written since the last flush
  bool failed = false;   ///< writing failed: see ~CasacoreTable
};

struct CasacoreTable::Impl {
  std::string path;
  Access access = Access::kRead;
  std::unique_ptr<WriterMark> mark;  ///< where others read, so that casacore's lock cannot be had; outlives the table
  casacore::Table table;
  std::unique_ptr<TablePlace> folder;
  WriteState state;
};

/// Calls a function that writes; remembers that, and whether it failed.
template <class Action>
void writing(WriteState* state, const std::string& doing, Action&& action) {
  state->changed = true;
  try {
    guarded(doing, action);
  } catch (...) {
    state->failed = true;
    throw;
  }
}

/// Bounds what casacore keeps in memory of each tiled column.
void bound_caches(const casacore::Table& table);

/// "column DATA of /x.ms": how messages name a place.
inline std::string place(const std::string& column, const std::string& path) {
  return "column " + column + " of " + path;
}

/// "column DATA of /x.ms, rows 5 to 9".
std::string place(const std::string& column, const std::string& path, const std::vector<std::int64_t>& rows);

}  // namespace rimetree::ms
