// Private to the casacore_*.cc files of runtime/ms: the state of a CasacoreTable. Includes casacore, whose headers
// (3.5 and older) need C++17.
#pragma once

#include <casacore/casa/Arrays/IPosition.h>
#include <casacore/tables/Tables/Table.h>

#include <algorithm>
#include <memory>
#include <string>

#include "runtime/ms/tables/casacore_guard.h"
#include "runtime/ms/tables/casacore_place.h"
#include "runtime/ms/tables/casacore_table.h"
#include "runtime/ms/tables/writer_mark.h"

namespace rimetree::ms {

/// Of a tile of visibilities on disk: 1 MiB of single-precision complex numbers.
inline constexpr std::size_t kTileElements = std::size_t{1} << 17;

/// Of a tile of cells [correlation, channel]: whole cells if they fit, and as many rows as `elements` leave. Where
/// cells differ each shape needs its own: in tiles of another's a row may be spread over thousands.
inline casacore::IPosition tile_shape(const casacore::IPosition& cell, std::size_t elements = kTileElements) {
  const std::size_t correlations = std::max<std::size_t>(1, cell[0]);
  const std::size_t channels = std::clamp<std::size_t>(cell[1], 1, std::max<std::size_t>(1, elements / correlations));
  return casacore::IPosition(3, correlations, channels, std::max<std::size_t>(1, elements / correlations / channels));
}

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
