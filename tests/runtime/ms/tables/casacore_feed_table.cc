#include "tests/runtime/ms/tables/casacore_feed_table.h"

#include <casacore/casa/Arrays/Vector.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/Table.h>

namespace rimetree::ms {

void write_feed(const std::string& ms_path, std::size_t row, const std::vector<std::string>& receptors) {
  casacore::Table table(ms_path + "/FEED", casacore::Table::Update);
  casacore::Vector<casacore::String> types(receptors.size());
  for (std::size_t i = 0; i < receptors.size(); ++i) types[i] = receptors[i];
  casacore::ArrayColumn<casacore::String>(table, "POLARIZATION_TYPE").put(row, types);
}

}  // namespace rimetree::ms
