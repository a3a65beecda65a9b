#include "runtime/ms/tables/calibration_table.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "runtime/ms/tables/casacore_table.h"

namespace rimetree::ms {
namespace {

using Rows = std::vector<std::int64_t>;

/// Values of a column at some rows.
template <class T>
std::vector<T> at(const std::vector<T>& column, const Rows& rows) {
  std::vector<T> found;
  found.reserve(rows.size());
  for (const std::int64_t row : rows) found.push_back(column[static_cast<std::size_t>(row)]);
  return found;
}

void require_ids(const CasacoreTable& table, const char* column, const std::vector<int>& ids, std::size_t n) {
  for (std::size_t row = 0; row < ids.size(); ++row)
    if (ids[row] < 0 || static_cast<std::size_t>(ids[row]) >= n)
      throw MsError("column " + std::string(column) + " of " + table.path() + ", row " + std::to_string(row) +
                    ": expected a row of a table that " + rows_text(n) + ", got " + std::to_string(ids[row]));
}

void read_values(const CasacoreTable& table, bool is_complex, const Rows& rows, CalibrationRows* found) {
  const std::string column = is_complex ? "CPARAM" : "FPARAM";
  const std::vector<std::size_t> shape = table.cell_shape(column, rows.front());
  if (shape.size() != 2)
    throw MsError("column " + column + " of " + table.path() + ", row " + std::to_string(rows.front()) +
                  ": expected channels x parameters");
  found->n_channel = shape[0], found->n_parameter = shape[1];
  const CellPart part{{shape[0], shape[1]}, 0, shape[0]};
  const std::size_t n = rows.size() * part.size();
  found->values.resize(n), found->flags.resize(n), found->errors.resize(n);
  if (is_complex) {
    table.read_cells(column, rows, part, found->values.data());
  } else {
    std::vector<float> real(n);
    table.read_cells(column, rows, part, real.data());
    std::copy(real.begin(), real.end(), found->values.begin());
  }
  table.read_cells("FLAG", rows, part, found->flags.data());
  if (table.has_column("PARAMERR") && table.all_defined("PARAMERR", rows))
    table.read_cells("PARAMERR", rows, part, found->errors.data());
}

}  // namespace

std::string calibration_kind(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path + "/table.dat", ignored)) return {};
  const CasacoreTable table(path, Access::kRead);
  return table.has_column("ANTENNA1") ? table.keyword("VisCal") : "";
}

CalibrationTable read_calibration_table(const std::string& path) {
  const CasacoreTable table(path, Access::kRead);
  CalibrationTable found;
  found.kind = table.keyword("VisCal");
  found.is_complex = table.has_column("CPARAM");
  if (found.kind.empty() || !(found.is_complex || table.has_column("FPARAM")))
    throw MsError(path + " is no table of solutions: it has no keyword VisCal, or no column CPARAM or FPARAM");
  found.basis = table.keyword("PolBasis");
  found.casa_version = table.keyword("CASA_Version");
  found.ms_name = table.keyword("MSName");
  found.antennas = read_antennas(table);
  found.fields = read_fields(table);
  found.windows = read_spectral_windows(table);
  const std::int64_t n = table.n_row();
  const std::vector<int> window = table.ints("SPECTRAL_WINDOW_ID", 0, n), antenna = table.ints("ANTENNA1", 0, n),
                         field = table.ints("FIELD_ID", 0, n);
  const std::vector<double> time_s = table.doubles("TIME", 0, n), interval_s = table.doubles("INTERVAL", 0, n);
  require_ids(table, "SPECTRAL_WINDOW_ID", window, found.windows.size());
  require_ids(table, "ANTENNA1", antenna, found.antennas.size());
  std::map<int, Rows> of_window;
  for (std::size_t row = 0; row < window.size(); ++row)
    of_window[window[row]].push_back(static_cast<std::int64_t>(row));
  for (const auto& [id, rows] : of_window) {
    CalibrationRows own;
    own.window_id = id;
    own.time_s = at(time_s, rows), own.interval_s = at(interval_s, rows);
    own.field_id = at(field, rows), own.antenna_id = at(antenna, rows);
    read_values(table, found.is_complex, rows, &own);
    found.rows.push_back(std::move(own));
  }
  return found;
}

}  // namespace rimetree::ms
