// Bringing what was written to the disk, and how much stays in memory before.
#include <casacore/casa/Arrays/Vector.h>
#include <casacore/casa/Containers/Record.h>
#include <casacore/tables/DataMan/TiledStManAccessor.h>

#include <algorithm>
#include <filesystem>

#include "runtime/ms/tables/casacore_guard.h"
#include "runtime/ms/tables/casacore_table_impl.h"
#include "runtime/ms/tables/header_backup.h"

namespace rimetree::ms {

void CasacoreTable::flush(bool sync) {
  if (!impl_->state.changed) return;
  if (impl_->folder && impl_->folder->is_replaced())
    throw MsError(path() + " was removed, or replaced by another, while it was being written");
  writing(&impl_->state, "writing " + path() + " to disk", [&] {
    HeaderBackup backup(path(), sync);
    impl_->table.flush(sync);
    backup.discard();
    impl_->state.changed = false;
  });
}

void CasacoreTable::flush_column(const std::string& column) {
  writing(&impl_->state, "writing " + place(column, path()) + " to disk", [&] {
    const casacore::Record info = impl_->table.dataManagerInfo();
    bool tiled = false;
    for (casacore::uInt i = 0; i < info.nfields(); ++i) {
      const casacore::Record entry = info.subRecord(i);
      const casacore::Vector<casacore::String> columns = entry.asArrayString("COLUMNS");
      if (std::find(columns.begin(), columns.end(), column) == columns.end()) continue;
      tiled = entry.asString("TYPE").startsWith("Tiled");
    }
    if (!tiled) return flush(true);
    casacore::ROTiledStManAccessor(impl_->table, column, true).clearCaches();
    for (const auto& file : std::filesystem::directory_iterator(path())) {
      if (file.path().filename().string().find("_TSM") != std::string::npos) sync_file(file.path().string());
    }
  });
}

void bound_caches(const casacore::Table& table) {
  // Enough for rows that follow each other, in a few tiles; casacore's own choice may be a whole column.
  constexpr casacore::uInt kMostMiB = 8;
  const casacore::Record info = table.dataManagerInfo();
  for (casacore::uInt i = 0; i < info.nfields(); ++i) {
    const casacore::Record entry = info.subRecord(i);
    if (entry.asString("TYPE").startsWith("Tiled"))
      casacore::ROTiledStManAccessor(table, entry.asString("NAME")).setMaximumCacheSize(kMostMiB);
  }
}

}  // namespace rimetree::ms
