// Copies of a few columns as a table of their own: versions of flags.
#include <casacore/tables/DataMan/StandardStMan.h>
#include <casacore/tables/DataMan/TiledShapeStMan.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/ScalarColumn.h>
#include <casacore/tables/Tables/SetupNewTab.h>

#include <algorithm>
#include <memory>

#include "runtime/ms/tables/casacore_guard.h"
#include "runtime/ms/tables/casacore_table_impl.h"

namespace rimetree::ms {
namespace {

constexpr std::size_t kFlagTileElements = std::size_t{1} << 20;  // 128 KiB: flags are bits on the disk

casacore::IPosition first_tile(const casacore::Table& from, const std::string& column) {
  const casacore::ArrayColumn<casacore::Bool> cells(from, column);
  const bool any = from.nrow() > 0 && cells.isDefined(0);
  return tile_shape(any ? cells.shape(0) : casacore::IPosition(2, 1, 1), kFlagTileElements);
}

/// Cells of one shape that follow each other go together.
void copy_cells(const casacore::ArrayColumn<casacore::Bool>& from, casacore::ArrayColumn<casacore::Bool>& to) {
  const auto same = [&](casacore::rownr_t a, casacore::rownr_t b) {
    return from.isDefined(b) && from.shape(b).isEqual(from.shape(a));
  };
  for (casacore::rownr_t row = 0, end = 0; row < from.nrow(); row = end) {
    end = row + 1;
    if (!from.isDefined(row)) continue;
    const casacore::IPosition cell = from.shape(row), tile = tile_shape(cell, kFlagTileElements);
    const casacore::rownr_t most = kFlagTileElements * 4 / std::max<casacore::rownr_t>(1, cell.product());
    while (end < from.nrow() && end - row < most && same(row, end)) ++end;
    const casacore::Slicer rows(casacore::IPosition(1, row), casacore::IPosition(1, end - row));
    for (casacore::rownr_t next = row; next < end; ++next) to.setShape(next, cell, tile);
    to.putColumnRange(rows, from.getColumnRange(rows));
  }
}

void copy_column(const casacore::Table& from, casacore::Table& to, const std::string& name) {
  if (from.tableDesc().columnDesc(name).isScalar()) {
    casacore::ScalarColumn<casacore::Bool>(to, name).putColumn(casacore::ScalarColumn<casacore::Bool>(from, name));
    return;
  }
  const casacore::ArrayColumn<casacore::Bool> source(from, name);
  casacore::ArrayColumn<casacore::Bool> target(to, name);
  copy_cells(source, target);
}

}  // namespace

void CasacoreTable::copy_bool_columns(const std::vector<std::string>& columns, const std::string& path) const {
  guarded("copying flags of " + this->path() + " to " + path, [&] {
    const casacore::Table& from = impl_->table;
    casacore::TableDesc description("", "1", casacore::TableDesc::Scratch);
    for (const std::string& name : columns) description.addColumn(from.tableDesc().columnDesc(name));
    casacore::SetupNewTable setup(path, description, casacore::Table::New);
    for (const std::string& name : columns) {
      if (from.tableDesc().columnDesc(name).isScalar()) {
        setup.bindColumn(name, casacore::StandardStMan(name));
      } else {
        setup.bindColumn(name, casacore::TiledShapeStMan(name, first_tile(from, name)));
      }
    }
    auto to = std::make_unique<casacore::Table>(setup, from.nrow());
    try {
      for (const std::string& name : columns) copy_column(from, *to, name);
      to->flush(true);
    } catch (...) {
      static_cast<void>(to.release());  // closing a table that cannot be written ends the program: see ~CasacoreTable
      throw;
    }
  });
}

}  // namespace rimetree::ms
