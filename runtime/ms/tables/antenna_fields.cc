#include "runtime/ms/tables/antenna_fields.h"

#include <algorithm>

#include "runtime/ms/tables/casacore_table.h"
#include "runtime/ms/tables/metadata.h"

namespace rimetree::ms {
namespace {

constexpr const char* kTable = "LOFAR_ANTENNA_FIELD";

/// A cell of `columns` numbers for each of some elements.
template <class T>
const std::vector<T>& checked(const std::vector<T>& cell, std::size_t columns, std::size_t elements,
                              const std::string& column, const CasacoreTable& table, std::int64_t row) {
  const bool any_number = elements == 0;
  if (cell.size() % columns != 0 || (!any_number && cell.size() != columns * elements))
    throw MsError("column " + column + " of " + table.path() + ", row " + std::to_string(row) + ": expected " +
                  std::to_string(columns) + " values for each " +
                  (any_number ? "element" : "of " + std::to_string(elements)) + ", got " + std::to_string(cell.size()));
  return cell;
}

AntennaField read_field(const CasacoreTable& table, std::int64_t row, const std::vector<Antenna>& antennas) {
  AntennaField field;
  field.antenna_id = table.ints("ANTENNA_ID", row, 1)[0];
  if (field.antenna_id < 0 || static_cast<std::size_t>(field.antenna_id) >= antennas.size())
    throw MsError("column ANTENNA_ID of " + table.path() + ", row " + std::to_string(row) + ": there is no antenna " +
                  std::to_string(field.antenna_id));
  field.name = table.text("NAME", row);
  const std::vector<double> axes = table.double_cell("COORDINATE_AXES", row);
  std::copy_n(checked(axes, 3, 3, "COORDINATE_AXES", table, row).begin(), 9, field.axes.begin());
  field.elements_m = checked(table.double_cell("ELEMENT_OFFSET", row), 3, 0, "ELEMENT_OFFSET", table, row);
  const std::size_t n = field.elements_m.size() / 3;
  field.is_dead = checked(table.bool_cell("ELEMENT_FLAG", row), 2, n, "ELEMENT_FLAG", table, row);
  // Fields are where they are, and their antenna where the array's geometry is: those joined from two are between them.
  const std::vector<double> position = table.double_cell("POSITION", row);
  const auto& antenna_m = antennas[static_cast<std::size_t>(field.antenna_id)].position_m;
  checked(position, 3, 1, "POSITION", table, row);
  for (std::size_t i = 0; i < field.elements_m.size(); ++i) field.elements_m[i] += position[i % 3] - antenna_m[i % 3];
  if (table.has_column("TILE_ELEMENT_OFFSET") && field.name.starts_with("HBA"))
    field.tile_elements_m =
        checked(table.double_cell("TILE_ELEMENT_OFFSET", row), 3, 0, "TILE_ELEMENT_OFFSET", table, row);
  return field;
}

}  // namespace

AntennaFields read_antenna_fields(const std::string& ms_path) {
  const CasacoreTable main(ms_path, Access::kRead);
  if (!main.has_subtable(kTable))
    throw MsError(ms_path + " does not say where the elements of its stations are: it has no sub-table " + kTable);
  const std::vector<Antenna> antennas = read_metadata(main).antennas;
  const CasacoreTable table = main.subtable(kTable);
  AntennaFields found;
  found.n_antenna = antennas.size();
  for (std::int64_t row = 0; row < table.n_row(); ++row) found.fields.push_back(read_field(table, row, antennas));
  const CasacoreTable pointings = main.subtable("FIELD");
  const auto directions = [&](const std::string& column, std::vector<std::array<double, 2>>* into) {
    std::string frame, coordinates;
    if (pointings.has_column(column))
      for (std::int64_t row = 0; row < pointings.n_row(); ++row)
        into->push_back(pointings.direction(column, row, &frame, &coordinates));
  };
  directions("DELAY_DIR", &found.station_directions_rad);
  directions("LOFAR_TILE_BEAM_DIR", &found.tile_directions_rad);
  return found;
}

}  // namespace rimetree::ms
