// Adding a column of visibilities so that the table stays readable whenever the process is killed.
#include <casacore/tables/DataMan/TiledColumnStMan.h>
#include <casacore/tables/DataMan/TiledShapeStMan.h>
#include <casacore/tables/Tables/ArrColDesc.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/RefRows.h>

#include <algorithm>

#include "runtime/ms/tables/casacore_guard.h"
#include "runtime/ms/tables/casacore_table_impl.h"

namespace rimetree::ms {
namespace {

constexpr std::size_t kBlockElements = std::size_t{1} << 22;  // zeros written per call: 32 MiB

casacore::IPosition cell_of(const CellShape& shape) {
  return casacore::IPosition(2, shape.n_correlation, shape.n_channel);
}

casacore::Array<casacore::Complex> zeros(const CellShape& cell, std::size_t rows) {
  return casacore::Array<casacore::Complex>(casacore::IPosition(3, cell.n_correlation, cell.n_channel, rows),
                                            casacore::Complex(0));
}

void fill_fixed(casacore::ArrayColumn<casacore::Complex>& column, const CellShape& cell, std::size_t n_row) {
  const std::size_t size = std::max<std::size_t>(1, cell.n_channel * cell.n_correlation);
  const std::size_t step = std::max<std::size_t>(1, kBlockElements / size);
  const casacore::Array<casacore::Complex> block = zeros(cell, std::min(step, n_row));
  for (std::size_t begin = 0; begin < n_row; begin += step) {
    const std::size_t count = std::min(step, n_row - begin);
    column.putColumnCells(casacore::RefRows(begin, begin + count - 1),
                          count == std::min(step, n_row) ? block : zeros(cell, count));
  }
}

void fill_variable(casacore::ArrayColumn<casacore::Complex>& column, const std::vector<CellShape>& shapes,
                   const std::vector<int>& shape_of_row, bool only_undefined) {
  std::vector<casacore::Array<casacore::Complex>> cells;
  for (const CellShape& shape : shapes) cells.emplace_back(cell_of(shape), casacore::Complex(0));
  for (std::size_t row = 0; row < shape_of_row.size(); ++row) {
    if (only_undefined && column.isDefined(row)) continue;
    const casacore::Array<casacore::Complex>& cell = cells[shape_of_row[row]];
    column.setShape(row, cell.shape(), tile_shape(cell.shape()));
    column.put(row, cell);
  }
}

void declare_column(casacore::Table& table, const std::string& name, const std::string& comment,
                    const std::vector<CellShape>& shapes) {
  const casacore::IPosition cell = cell_of(shapes.empty() ? CellShape{1, 1} : shapes.front());
  if (shapes.size() == 1) {
    const auto fixed = casacore::ColumnDesc::FixedShape;
    const casacore::ArrayColumnDesc<casacore::Complex> description(name, comment, cell, fixed);
    table.addColumn(description, casacore::TiledColumnStMan(name + "Tiled", tile_shape(cell)));
  } else {
    const casacore::ArrayColumnDesc<casacore::Complex> description(name, comment, 2);
    table.addColumn(description, casacore::TiledShapeStMan(name + "Tiled", tile_shape(cell)));
  }
}

}  // namespace

void CasacoreTable::fill_zeros(const std::string& name, const std::vector<CellShape>& shapes,
                               const std::vector<int>& shape_of_row, bool only_undefined) {
  writing(&impl_->state, "filling " + place(name, path()) + " with zeros", [&] {
    casacore::ArrayColumn<casacore::Complex> cells(impl_->table, name);
    const bool fixed = cells.columnDesc().isFixedShape();
    if (fixed && (only_undefined || shapes.empty())) return;
    fixed ? fill_fixed(cells, shapes.front(), shape_of_row.size())
          : fill_variable(cells, shapes, shape_of_row, only_undefined);
  });
}

void CasacoreTable::add_complex_column(const std::string& name, const std::string& comment,
                                       const std::vector<CellShape>& shapes, const std::vector<int>& shape_of_row) {
  writing(&impl_->state, "adding column " + name + " to " + path(), [&] {
    // The description on the disk names the column only once its cells are there: casacore writes a new description
    // beside the old one and renames it. A process killed before that leaves files that nothing refers to.
    try {
      declare_column(impl_->table, name, comment, shapes);
      bound_caches(impl_->table);
      fill_zeros(name, shapes, shape_of_row, false);
      flush(true);
    } catch (...) {  // a full disk, mostly: give back what was taken and leave the set as it was
      try {
        impl_->table.removeColumn(name);
        flush(true);
      } catch (const std::exception&) {  // the description on the disk is still the old one
      }
      throw;
    }
  });
}

}  // namespace rimetree::ms
