#include "tests/runtime/ms/tables/casacore_lofar_table.h"

#include <casacore/casa/Arrays/ArrayMath.h>
#include <casacore/measures/Measures/MDirection.h>
#include <casacore/measures/TableMeasures/ArrayMeasColumn.h>
#include <casacore/measures/TableMeasures/TableMeasDesc.h>
#include <casacore/measures/TableMeasures/TableMeasRefDesc.h>
#include <casacore/measures/TableMeasures/TableMeasValueDesc.h>
#include <casacore/tables/Tables/ArrColDesc.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/ScaColDesc.h>
#include <casacore/tables/Tables/ScalarColumn.h>
#include <casacore/tables/Tables/SetupNewTab.h>
#include <casacore/tables/Tables/Table.h>
#include <casacore/tables/Tables/TableDesc.h>

namespace rimetree::ms {
namespace {

/// [row][column] of numbers, the columns fastest.
template <class Stored, class Value>
void put(casacore::Table& table, const char* column, std::size_t row, const std::vector<Value>& values,
         std::size_t columns) {
  casacore::Array<Stored> cell(columns == 0 ? casacore::IPosition(1, values.size())
                                            : casacore::IPosition(2, columns, values.size() / columns));
  auto to = cell.begin();
  for (const Value value : values) {
    *to = value;
    ++to;
  }
  casacore::ArrayColumn<Stored>(table, column).put(row, cell);
}

}  // namespace

void add_lofar_tables(const std::string& ms_path, const std::vector<LofarRow>& rows, double ra_rad, double dec_rad) {
  casacore::TableDesc description;
  description.addColumn(casacore::ScalarColumnDesc<casacore::Int>("ANTENNA_ID"));
  description.addColumn(casacore::ScalarColumnDesc<casacore::String>("NAME"));
  for (const char* name : {"POSITION", "COORDINATE_AXES", "ELEMENT_OFFSET", "TILE_ELEMENT_OFFSET"})
    description.addColumn(casacore::ArrayColumnDesc<casacore::Double>(name));
  description.addColumn(casacore::ArrayColumnDesc<casacore::Bool>("ELEMENT_FLAG"));
  casacore::SetupNewTable setup(ms_path + "/LOFAR_ANTENNA_FIELD", description, casacore::Table::New);
  casacore::Table table(setup, rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    casacore::ScalarColumn<casacore::Int>(table, "ANTENNA_ID").put(row, rows[row].antenna_id);
    casacore::ScalarColumn<casacore::String>(table, "NAME").put(row, rows[row].name);
    put<casacore::Double>(table, "POSITION", row, rows[row].position_m, 0);
    put<casacore::Double>(table, "COORDINATE_AXES", row, rows[row].axes, 3);
    put<casacore::Double>(table, "ELEMENT_OFFSET", row, rows[row].elements_m, 3);
    put<casacore::Bool>(table, "ELEMENT_FLAG", row, rows[row].flags, 2);
    if (!rows[row].tile_elements_m.empty())
      put<casacore::Double>(table, "TILE_ELEMENT_OFFSET", row, rows[row].tile_elements_m, 3);
  }
  casacore::Table main(ms_path, casacore::Table::Update);
  main.rwKeywordSet().defineTable("LOFAR_ANTENNA_FIELD", table);
  casacore::Table field(ms_path + "/FIELD", casacore::Table::Update);
  field.addColumn(casacore::ArrayColumnDesc<casacore::Double>("LOFAR_TILE_BEAM_DIR", casacore::IPosition(1, 2)));
  casacore::TableMeasDesc<casacore::MDirection>(casacore::TableMeasValueDesc(field.tableDesc(), "LOFAR_TILE_BEAM_DIR"),
                                                casacore::TableMeasRefDesc(casacore::MDirection::J2000))
      .write(field);
  for (std::size_t row = 0; row < field.nrow(); ++row)
    put<casacore::Double>(field, "LOFAR_TILE_BEAM_DIR", row, std::vector<double>{ra_rad, dec_rad}, 0);
}

}  // namespace rimetree::ms
