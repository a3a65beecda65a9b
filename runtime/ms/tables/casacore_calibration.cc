// New tables of solutions. The sub-tables are copies of those of the set that they are for, as programs look there for
// what rows mean.
#include <casacore/tables/DataMan/StandardStMan.h>
#include <casacore/tables/Tables/ArrColDesc.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/ScaColDesc.h>
#include <casacore/tables/Tables/ScalarColumn.h>
#include <casacore/tables/Tables/SetupNewTab.h>
#include <casacore/tables/Tables/TableRecord.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "runtime/ms/tables/casacore_create.h"
#include "runtime/ms/tables/casacore_guard.h"

namespace rimetree::ms {
namespace {

using casacore::Array;
using casacore::ArrayColumn;
using casacore::ArrayColumnDesc;
using casacore::IPosition;
using casacore::ScalarColumn;
using casacore::ScalarColumnDesc;
using casacore::Vector;

casacore::TableDesc table_description(bool is_complex) {
  casacore::TableDesc table("", "1", casacore::TableDesc::Scratch);
  table.addColumn(ScalarColumnDesc<casacore::Double>("TIME"));
  for (const char* name : {"FIELD_ID", "SPECTRAL_WINDOW_ID", "ANTENNA1", "ANTENNA2"})
    table.addColumn(ScalarColumnDesc<casacore::Int>(name));
  table.addColumn(ScalarColumnDesc<casacore::Double>("INTERVAL"));
  for (const char* name : {"SCAN_NUMBER", "OBSERVATION_ID"}) table.addColumn(ScalarColumnDesc<casacore::Int>(name));
  if (is_complex)
    table.addColumn(ArrayColumnDesc<casacore::Complex>("CPARAM", -1));
  else
    table.addColumn(ArrayColumnDesc<casacore::Float>("FPARAM", -1));
  table.addColumn(ArrayColumnDesc<casacore::Float>("PARAMERR", -1));
  table.addColumn(ArrayColumnDesc<casacore::Bool>("FLAG", -1));
  for (const char* name : {"SNR", "WEIGHT"}) table.addColumn(ArrayColumnDesc<casacore::Float>(name, -1));
  const Vector<casacore::String> seconds(1, "s");
  for (const char* name : {"TIME", "INTERVAL"}) table.rwColumnDesc(name).rwKeywordSet().define("QuantumUnits", seconds);
  casacore::TableRecord epoch;
  epoch.define("type", "epoch");
  epoch.define("Ref", "UTC");
  table.rwColumnDesc("TIME").rwKeywordSet().defineRecord("MEASINFO", epoch);
  return table;
}

/// Values of one row; `from` is [channel, parameter].
template <class Stored, class Value>
Array<Stored> cell(const CalibrationRows& rows, std::size_t row, const std::vector<Value>& from,
                   Stored (*converted)(const Value&)) {
  const std::size_t n = rows.n_channel * rows.n_parameter;
  Array<Stored> values(IPosition(2, rows.n_parameter, rows.n_channel));
  std::transform(&from[row * n], &from[row * n] + n, values.begin(), converted);
  return values;
}

void fill_rows(casacore::Table& table, const CalibrationTable& from) {
  ScalarColumn<casacore::Double> time(table, "TIME"), interval(table, "INTERVAL");
  ScalarColumn<casacore::Int> field(table, "FIELD_ID"), window(table, "SPECTRAL_WINDOW_ID"), antenna(table, "ANTENNA1"),
      reference(table, "ANTENNA2"), scan(table, "SCAN_NUMBER"), observation(table, "OBSERVATION_ID");
  ArrayColumn<casacore::Float> errors(table, "PARAMERR"), signal(table, "SNR");
  ArrayColumn<casacore::Bool> flags(table, "FLAG");
  std::unique_ptr<ArrayColumn<casacore::Complex>> complex;
  std::unique_ptr<ArrayColumn<casacore::Float>> real;
  if (from.is_complex)
    complex = std::make_unique<ArrayColumn<casacore::Complex>>(table, "CPARAM");
  else
    real = std::make_unique<ArrayColumn<casacore::Float>>(table, "FPARAM");
  casacore::rownr_t at = 0;
  for (const CalibrationRows& rows : from.rows)
    for (std::size_t row = 0; row < rows.time_s.size(); ++row, ++at) {
      time.put(at, rows.time_s[row]), interval.put(at, rows.interval_s[row]);
      field.put(at, rows.field_id[row]), window.put(at, rows.window_id);
      antenna.put(at, rows.antenna_id[row]), reference.put(at, -1);
      scan.put(at, -1), observation.put(at, 0);
      using Number = std::complex<float>;
      if (complex)
        complex->put(at, cell<casacore::Complex, Number>(rows, row, rows.values, [](const Number& x) { return x; }));
      else
        real->put(at, cell<float, Number>(rows, row, rows.values, [](const Number& x) { return x.real(); }));
      errors.put(at, cell<float, float>(rows, row, rows.errors, [](const float& x) { return x; }));
      signal.put(at, cell<float, float>(rows, row, rows.errors, [](const float& x) { return x > 0 ? 1 / x : 0; }));
      flags.put(at, cell<bool, std::uint8_t>(rows, row, rows.flags, [](const std::uint8_t& x) { return x != 0; }));
    }
}

/// Each window as one channel, as those of solutions that hold for all channels have it.
void join_channels(casacore::Table& windows) {
  const ScalarColumn<casacore::Double> bandwidth(windows, "TOTAL_BANDWIDTH");
  for (casacore::rownr_t row = 0; row < windows.nrow(); ++row) {
    ArrayColumn<casacore::Double> frequency(windows, "CHAN_FREQ"), width(windows, "CHAN_WIDTH");
    const Array<casacore::Double> of_channels = frequency(row), widths = width(row);
    if (of_channels.empty()) continue;
    const double middle = std::accumulate(of_channels.begin(), of_channels.end(), 0.0) / of_channels.size();
    const double whole = std::abs(std::accumulate(widths.begin(), widths.end(), 0.0));
    frequency.put(row, Vector<casacore::Double>(1, middle));
    for (const char* name : {"CHAN_WIDTH", "EFFECTIVE_BW", "RESOLUTION"})
      if (windows.tableDesc().isColumn(name))
        ArrayColumn<casacore::Double>(windows, name).put(row, Vector<casacore::Double>(1, whole));
    ScalarColumn<casacore::Int>(windows, "NUM_CHAN").put(row, 1);
  }
}

void copy_subtables(casacore::Table& table, const std::string& path, const std::string& ms_path, bool one_channel) {
  const casacore::Table ms(ms_path, casacore::TableLock(casacore::TableLock::UserNoReadLocking));
  for (const char* name : {"ANTENNA", "FIELD", "SPECTRAL_WINDOW", "OBSERVATION", "HISTORY"}) {
    if (!ms.keywordSet().isDefined(name)) continue;
    const std::string place = path + "/" + name;
    ms.keywordSet().asTable(name).deepCopy(place, casacore::Table::New, true);
    auto copy = std::make_unique<casacore::Table>(place, casacore::Table::Update);
    try {
      if (one_channel && std::string(name) == "SPECTRAL_WINDOW") join_channels(*copy);
      copy->flush(true);
      table.rwKeywordSet().defineTable(name, *copy);
    } catch (...) {
      static_cast<void>(copy.release());  // closing a table that cannot be written ends the program: see ~CasacoreTable
      throw;
    }
  }
}

}  // namespace

void rimetree_write_calibration_table(const std::string& path, const CalibrationTable& from,
                                      const std::string& ms_path) {
  guarded("creating " + path, [&] {
    std::size_t n_row = 0;
    bool one_channel = true;
    for (const CalibrationRows& rows : from.rows) n_row += rows.time_s.size(), one_channel &= rows.n_channel == 1;
    casacore::SetupNewTable setup(path, table_description(from.is_complex), casacore::Table::New);
    setup.bindAll(casacore::StandardStMan("Solutions", 32768));
    auto table = std::make_unique<casacore::Table>(setup, n_row);
    try {
      table->tableInfo().setType("Calibration");
      table->tableInfo().setSubType(from.kind);
      casacore::TableRecord& keywords = table->rwKeywordSet();
      keywords.define("ParType", from.is_complex ? "Complex" : "Float");
      keywords.define("MSName", from.ms_name);
      keywords.define("VisCal", from.kind);
      keywords.define("PolBasis", from.basis);
      if (!from.casa_version.empty()) keywords.define("CASA_Version", from.casa_version);
      copy_subtables(*table, path, ms_path, one_channel);
      fill_rows(*table, from);
      table->flush(true);
    } catch (...) {
      static_cast<void>(
          table.release());  // closing a table that cannot be written ends the program: see ~CasacoreTable
      throw;
    }
  });
}

}  // namespace rimetree::ms
