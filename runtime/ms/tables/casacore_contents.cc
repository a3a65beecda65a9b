#include <casacore/casa/Json/JsonOut.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/ColumnDesc.h>
#include <casacore/tables/Tables/Table.h>
#include <casacore/tables/Tables/TableDesc.h>
#include <casacore/tables/Tables/TableRecord.h>
#include <casacore/tables/Tables/TableRow.h>

#include <algorithm>
#include <sstream>

#include "runtime/ms/tables/casacore_guard.h"
#include "runtime/ms/tables/table_contents.h"

namespace rimetree::ms {
namespace {

casacore::Table open_to_read(const std::string& path) {
  return casacore::Table(path, casacore::TableLock(casacore::TableLock::UserNoReadLocking));
}

template <class Stored>
PixelArray pixels_of(const casacore::Table& table, const std::string& column) {
  const casacore::Array<Stored> read = casacore::ArrayColumn<Stored>(table, column).get(0);
  const casacore::IPosition& shape = read.shape();
  PixelArray found;
  found.shape.assign(shape.begin(), shape.end());
  std::reverse(found.shape.begin(), found.shape.end());  // casacore counts axes from the fastest
  found.values.assign(read.begin(), read.end());
  return found;
}

}  // namespace

std::string table_as_json(const std::string& path, const std::vector<std::string>& columns) {
  return guarded("reading " + path, [&] {
    const casacore::Table table = open_to_read(path);
    std::vector<casacore::String> known(columns.begin(), columns.end());
    const auto unknown = [&](const casacore::String& column) { return !table.tableDesc().isColumn(column); };
    known.erase(std::remove_if(known.begin(), known.end(), unknown), known.end());
    casacore::Record rows;
    if (!known.empty()) {
      const casacore::ROTableRow row(table, casacore::Vector<casacore::String>(known.begin(), known.end()));
      for (casacore::uInt index = 0; index < table.nrow(); ++index)
        rows.defineRecord(std::to_string(index), row.get(index).toRecord());
    }
    std::ostringstream text;
    {
      casacore::JsonOut json(text);
      json.start();
      json.write("keywords", table.keywordSet().toRecord());
      json.write("rows", rows);
      json.end();
    }
    return text.str();
  });
}

PixelArray read_pixels(const std::string& path, const std::string& column) {
  return guarded("reading the array " + column + " of " + path, [&] {
    const casacore::Table table = open_to_read(path);
    if (table.nrow() != 1) throw MsError(path + " has " + std::to_string(table.nrow()) + " rows, and an image has one");
    switch (table.tableDesc().columnDesc(column).dataType()) {
      case casacore::TpBool:
        return pixels_of<casacore::Bool>(table, column);
      case casacore::TpFloat:
        return pixels_of<casacore::Float>(table, column);
      case casacore::TpDouble:
        return pixels_of<casacore::Double>(table, column);
      default:
        throw MsError("pixels in column " + column + " of " + path + " are neither real numbers nor truth values");
    }
  });
}

}  // namespace rimetree::ms
