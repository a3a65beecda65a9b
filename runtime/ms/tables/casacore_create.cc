#include "runtime/ms/tables/casacore_create.h"

#include <casacore/ms/MeasurementSets/MeasurementSet.h>
#include <casacore/tables/DataMan/IncrementalStMan.h>
#include <casacore/tables/DataMan/StandardStMan.h>
#include <casacore/tables/DataMan/TiledColumnStMan.h>
#include <casacore/tables/DataMan/TiledShapeStMan.h>
#include <casacore/tables/Tables/ArrColDesc.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/RefRows.h>
#include <casacore/tables/Tables/ScalarColumn.h>
#include <casacore/tables/Tables/SetupNewTab.h>

#include <algorithm>
#include <memory>

#include "runtime/ms/tables/casacore_guard.h"
#include "runtime/ms/tables/casacore_table_impl.h"

namespace rimetree::ms {
namespace {

using casacore::IPosition;
using casacore::MS;
using casacore::RefRows;

bool one_shape(const MsDescription& description) {
  const auto& windows = description.spectral_windows;
  return std::all_of(windows.begin(), windows.end(), [&windows](const SpectralWindow& window) {
    return window.n_channel() == windows.front().n_channel();
  });
}

/// Columns that hold [correlation, channel] per row.
std::vector<std::string> cell_columns(const MsDescription& description) {
  std::vector<std::string> columns = description.columns;
  columns.push_back("FLAG");
  if (description.weight_spectrum) columns.push_back("WEIGHT_SPECTRUM");
  return columns;
}

casacore::TableDesc table_description(const MsDescription& description) {
  casacore::TableDesc table = MS::requiredTableDesc();
  const IPosition cell(2, description.correlation_type.size(), description.spectral_windows.front().n_channel());
  for (const std::string& name : description.columns) {
    table.addColumn(casacore::ArrayColumnDesc<casacore::Complex>(name, "The " + name + " column", 2));
  }
  if (description.weight_spectrum) MS::addColumnToDesc(table, MS::WEIGHT_SPECTRUM, 2);
  for (const std::string& name : cell_columns(description)) {
    if (table.rwColumnDesc(name).ndim() <= 0) table.rwColumnDesc(name).setNdim(2);
    if (one_shape(description)) table.rwColumnDesc(name).setShape(cell, false);
    if (one_shape(description)) table.rwColumnDesc(name).setOptions(casacore::ColumnDesc::FixedShape);
  }
  for (const char* name : {"WEIGHT", "SIGMA"}) {
    table.rwColumnDesc(name).setShape(IPosition(1, cell[0]), false);
    table.rwColumnDesc(name).setOptions(casacore::ColumnDesc::FixedShape);
  }
  table.rwColumnDesc("UVW").setOptions(casacore::ColumnDesc::FixedShape);
  return table;
}

void bind(casacore::SetupNewTable& setup, const MsDescription& description) {
  // Constant for long stretches of rows: stored once per stretch.
  casacore::IncrementalStMan slow("Slow");
  for (const char* name : {"TIME", "TIME_CENTROID", "INTERVAL", "EXPOSURE", "DATA_DESC_ID", "FIELD_ID", "FEED1",
                           "FEED2", "ARRAY_ID", "OBSERVATION_ID", "PROCESSOR_ID", "SCAN_NUMBER", "STATE_ID"}) {
    setup.bindColumn(name, slow);
  }
  casacore::StandardStMan fast("Fast", 32768);
  for (const char* name : {"ANTENNA1", "ANTENNA2", "FLAG_ROW", "FLAG_CATEGORY"}) setup.bindColumn(name, fast);
  setup.bindColumn("UVW", casacore::TiledColumnStMan("UvwTiled", IPosition(2, 3, 8192)));
  const std::size_t correlations = description.correlation_type.size();
  for (const char* name : {"WEIGHT", "SIGMA"}) {
    setup.bindColumn(name, casacore::TiledColumnStMan(std::string(name) + "Tiled", IPosition(2, correlations, 8192)));
  }
  const IPosition tile = tile_shape(IPosition(2, correlations, description.spectral_windows.front().n_channel()));
  for (const std::string& name : cell_columns(description)) {
    if (one_shape(description)) {
      setup.bindColumn(name, casacore::TiledColumnStMan(name + "Tiled", tile));
    } else {
      setup.bindColumn(name, casacore::TiledShapeStMan(name + "Tiled", tile));
    }
  }
}

template <class Value>
void put_constant(MS& set, const char* name, const RefRows& rows, Value value) {
  casacore::ScalarColumn<Value> column(set, name);
  column.putColumnCells(rows, casacore::Vector<Value>(rows.nrows(), value));
}

template <class Value>
void put_cells(MS& set, const std::string& name, const RefRows& rows, const IPosition& cell, Value value, bool fixed) {
  casacore::ArrayColumn<Value> column(set, name);
  if (fixed) {
    const IPosition shape = cell.concatenate(IPosition(1, rows.nrows()));
    column.putColumnCells(rows, casacore::Array<Value>(shape, value));
    return;
  }
  const casacore::Array<Value> values(cell, value);
  for (casacore::rownr_t row = rows.firstRow(); row < rows.firstRow() + rows.nrows(); ++row) {
    column.setShape(row, cell, tile_shape(cell));
    column.put(row, values);
  }
}

/// The antennas and UVW of one time.
void fill_baselines(MS& set, const MsDescription& description, std::size_t time, const RefRows& rows) {
  const std::size_t n = description.antenna1.size();
  std::vector<int> antenna1 = description.antenna1, antenna2 = description.antenna2;
  const auto first_uvw = description.uvw_m.begin() + static_cast<std::ptrdiff_t>(3 * n * time);
  std::vector<double> uvw_m(first_uvw, first_uvw + static_cast<std::ptrdiff_t>(3 * n));
  for (std::size_t i = 0; i < n && !description.turned.empty(); ++i) {
    if (description.turned[n * time + i] == 0) continue;
    std::swap(antenna1[i], antenna2[i]);
    for (std::size_t k = 3 * i; k < 3 * i + 3; ++k) uvw_m[k] = -uvw_m[k];
  }
  const auto put = [&](const char* name, const std::vector<int>& ids) {
    casacore::ScalarColumn<casacore::Int>(set, name).putColumnCells(rows, casacore::Vector<casacore::Int>(ids));
  };
  put("ANTENNA1", antenna1);
  put("ANTENNA2", antenna2);
  casacore::ArrayColumn<casacore::Double>(set, "UVW")
      .putColumnCells(rows, casacore::Array<casacore::Double>(IPosition(2, 3, n), uvw_m.data(), casacore::SHARE));
}

/// The scalar columns, antennas and UVW of one time and one spectral window.
void fill_coordinates(MS& set, const MsDescription& description, std::size_t time, int window, int scan,
                      const RefRows& rows) {
  const double exposure_s = description.exposure_s > 0 ? description.exposure_s : description.interval_s;
  const int field = description.field_of_time.empty() ? 0 : description.field_of_time[time];
  put_constant<casacore::Double>(set, "TIME", rows, description.time_s[time]);
  put_constant<casacore::Double>(set, "TIME_CENTROID", rows, description.time_s[time]);
  put_constant<casacore::Double>(set, "INTERVAL", rows, description.interval_s);
  put_constant<casacore::Double>(set, "EXPOSURE", rows, exposure_s);
  put_constant<casacore::Int>(set, "DATA_DESC_ID", rows, window);
  put_constant<casacore::Int>(set, "FIELD_ID", rows, field);
  put_constant<casacore::Int>(set, "SCAN_NUMBER", rows, scan);
  for (const char* name : {"FEED1", "FEED2", "ARRAY_ID", "OBSERVATION_ID", "PROCESSOR_ID", "STATE_ID"}) {
    put_constant<casacore::Int>(set, name, rows, 0);
  }
  put_constant<casacore::Bool>(set, "FLAG_ROW", rows, false);
  fill_baselines(set, description, time, rows);
}

void fill_rows(MS& set, const MsDescription& description) {
  const std::size_t n = description.antenna1.size();
  const std::size_t n_window = description.spectral_windows.size();
  const std::size_t correlations = description.correlation_type.size();
  const bool fixed = one_shape(description);
  casacore::rownr_t first = 0;
  const std::vector<int>& field = description.field_of_time;
  int scan = 1;
  for (std::size_t time = 0; time < description.time_s.size() && n > 0; ++time) {
    if (time > 0 && !field.empty() && field[time] != field[time - 1]) ++scan;
    for (std::size_t window = 0; window < n_window; ++window, first += n) {
      const RefRows rows(first, first + n - 1);
      const IPosition cell(2, correlations, description.spectral_windows[window].n_channel());
      fill_coordinates(set, description, time, static_cast<int>(window), scan, rows);
      put_cells<casacore::Float>(set, "WEIGHT", rows, IPosition(1, correlations), 1, true);
      put_cells<casacore::Float>(set, "SIGMA", rows, IPosition(1, correlations), 1, true);
      put_cells<casacore::Bool>(set, "FLAG", rows, cell, false, fixed);
      if (description.weight_spectrum) put_cells<casacore::Float>(set, "WEIGHT_SPECTRUM", rows, cell, 1, fixed);
      for (const std::string& name : description.columns) {
        put_cells<casacore::Complex>(set, name, rows, cell, casacore::Complex(0), fixed);
      }
    }
  }
}

}  // namespace

void rimetree_write_new_set(const std::string& path, const MsDescription& description) {
  guarded("creating " + path, [&] {
    casacore::SetupNewTable setup(path, table_description(description), casacore::Table::New);
    bind(setup, description);
    const std::size_t n_row =
        description.time_s.size() * description.antenna1.size() * description.spectral_windows.size();
    auto set = std::make_unique<MS>(setup, n_row);
    try {
      set->createDefaultSubtables(casacore::Table::New);
      set->tableInfo().setType(casacore::TableInfo::type(casacore::TableInfo::MEASUREMENTSET));
      fill_subtables(*set, description);
      fill_rows(*set, description);
      set->flush(true);
    } catch (...) {
      static_cast<void>(set.release());  // closing a table that cannot be written ends the program: see ~CasacoreTable
      throw;
    }
  });
}

}  // namespace rimetree::ms
