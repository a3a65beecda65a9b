// Array cells: reading and writing many rows with one call of casacore. Callers bound the number of rows.
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/RefRows.h>
#include <casacore/tables/Tables/ScalarColumn.h>
#include <casacore/tables/Tables/TableColumn.h>

#include <algorithm>

#include "runtime/ms/tables/casacore_guard.h"
#include "runtime/ms/tables/casacore_table_impl.h"

namespace rimetree::ms {
namespace {

using Rows = std::vector<std::int64_t>;

bool contiguous(const Rows& rows) { return rows.back() - rows.front() + 1 == static_cast<std::int64_t>(rows.size()); }

casacore::RefRows ref_rows(const Rows& rows) {
  casacore::Vector<casacore::rownr_t> numbers(rows.size());
  std::copy(rows.begin(), rows.end(), numbers.begin());
  return casacore::RefRows(numbers, false, true);
}

casacore::Slicer section(const CellPart& part) {
  return casacore::Slicer(casacore::IPosition(2, 0, part.first_channel),
                          casacore::IPosition(2, part.whole.n_correlation, part.n_channel));
}

bool whole(const CellPart& part) { return part.first_channel == 0 && part.n_channel == part.whole.n_channel; }

/// Throws unless the first and the last cell are defined and of the shape expected (casacore compares the others).
void check_shape(const CasacoreTable& table, const std::string& column, const Rows& rows, const CellShape& expected) {
  for (const std::int64_t row : {rows.front(), rows.back()}) {
    const std::vector<std::size_t> shape = table.cell_shape(column, row);
    if (shape.empty()) {
      throw MsError(place(column, table.path(), {row}) + " holds no value; write the column first");
    }
    if (shape == std::vector<std::size_t>{expected.n_channel, expected.n_correlation}) continue;
    std::string got;
    for (const std::size_t length : shape) got += (got.empty() ? "" : " x ") + std::to_string(length);
    throw MsError(place(column, table.path(), {row}) + ": expected " + std::to_string(expected.n_channel) +
                  " channels x " + std::to_string(expected.n_correlation) + " correlations as the row's " +
                  "DATA_DESCRIPTION says, got " + got);
  }
}

template <class Value>
void read_block(const casacore::ArrayColumn<Value>& column, const Rows& rows, const CellPart& part, Value* out) {
  const casacore::IPosition shape(3, part.whole.n_correlation, part.n_channel, rows.size());
  casacore::Array<Value> block(shape, out, casacore::SHARE);
  if (contiguous(rows)) {
    const casacore::Slicer range(casacore::IPosition(1, rows.front()), casacore::IPosition(1, rows.size()));
    whole(part) ? column.getColumnRange(range, block) : column.getColumnRange(range, section(part), block);
  } else {
    const casacore::RefRows range = ref_rows(rows);
    whole(part) ? column.getColumnCells(range, block) : column.getColumnCells(range, section(part), block);
  }
}

template <class Value>
void read_all(const CasacoreTable& table, const casacore::Table& handle, const std::string& name, const Rows& rows,
              const CellPart& part, Value* out) {
  if (rows.empty() || part.size() == 0) return;
  check_shape(table, name, rows, part.whole);
  guarded("reading " + place(name, table.path(), rows),
          [&] { read_block(casacore::ArrayColumn<Value>(handle, name), rows, part, out); });
}

template <class Value>
void write_all(const CasacoreTable& table, const casacore::Table& handle, WriteState* state, const std::string& name,
               const Rows& rows, const CellPart& part, const Value* values) {
  if (rows.empty() || part.size() == 0) return;
  check_shape(table, name, rows, part.whole);
  writing(state, "writing " + place(name, table.path(), rows), [&] {
    casacore::ArrayColumn<Value> column(handle, name);
    const casacore::IPosition shape(3, part.whole.n_correlation, part.n_channel, rows.size());
    const casacore::Array<Value> data(shape, const_cast<Value*>(values), casacore::SHARE);
    const casacore::RefRows range = ref_rows(rows);
    whole(part) ? column.putColumnCells(range, data) : column.putColumnCells(range, section(part), data);
  });
}

template <class Value>
void read_vector_block(const CasacoreTable& table, const casacore::Table& handle, const std::string& name,
                       const Rows& rows, std::size_t n, Value* out) {
  if (rows.empty()) return;
  guarded("reading " + place(name, table.path(), rows), [&] {
    const casacore::ArrayColumn<Value> column(handle, name);
    if (column.shape(rows.front()) != casacore::IPosition(1, n)) {
      throw MsError(place(name, table.path(), {rows.front()}) + ": expected " + std::to_string(n) +
                    " values, got a cell of shape " + column.shape(rows.front()).toString());
    }
    casacore::Array<Value> data(casacore::IPosition(2, n, rows.size()), out, casacore::SHARE);
    if (contiguous(rows)) {
      const casacore::Slicer range(casacore::IPosition(1, rows.front()), casacore::IPosition(1, rows.size()));
      column.getColumnRange(range, data);
    } else {
      column.getColumnCells(ref_rows(rows), data);
    }
  });
}

template <class Value, class Given>
void write_scalars(const casacore::Table& handle, WriteState* state, const std::string& path, const std::string& name,
                   const Rows& rows, const std::vector<Given>& values) {
  writing(state, "writing " + place(name, path, rows), [&] {
    casacore::ScalarColumn<Value> column(handle, name);
    for (std::size_t i = 0; i < rows.size(); ++i) column.put(rows[i], static_cast<Value>(values[i]));
  });
}

}  // namespace

bool CasacoreTable::all_defined(const std::string& column, const std::vector<std::int64_t>& rows) const {
  return guarded("looking at " + place(column, path(), rows), [&] {
    const casacore::TableColumn cells(impl_->table, column);
    return std::all_of(rows.begin(), rows.end(), [&cells](std::int64_t row) { return bool(cells.isDefined(row)); });
  });
}

void CasacoreTable::read_vectors(const std::string& column, const std::vector<std::int64_t>& rows, std::size_t n,
                                 double* out) const {
  read_vector_block(*this, impl_->table, column, rows, n, out);
}

void CasacoreTable::read_vectors(const std::string& column, const std::vector<std::int64_t>& rows, std::size_t n,
                                 float* out) const {
  read_vector_block(*this, impl_->table, column, rows, n, out);
}

void CasacoreTable::read_cells(const std::string& column, const std::vector<std::int64_t>& rows, const CellPart& part,
                               std::complex<float>* out) const {
  read_all(*this, impl_->table, column, rows, part, out);
}

void CasacoreTable::read_cells(const std::string& column, const std::vector<std::int64_t>& rows, const CellPart& part,
                               float* out) const {
  read_all(*this, impl_->table, column, rows, part, out);
}

void CasacoreTable::read_cells(const std::string& column, const std::vector<std::int64_t>& rows, const CellPart& part,
                               std::uint8_t* out) const {
  static_assert(sizeof(bool) == 1, "casacore's Bool is read into bytes");
  read_all(*this, impl_->table, column, rows, part, reinterpret_cast<bool*>(out));
}

void CasacoreTable::write_cells(const std::string& column, const std::vector<std::int64_t>& rows, const CellPart& part,
                                const std::complex<float>* values) {
  write_all(*this, impl_->table, &impl_->state, column, rows, part, values);
}

void CasacoreTable::write_cells(const std::string& column, const std::vector<std::int64_t>& rows, const CellPart& part,
                                const std::uint8_t* values) {
  // Bytes other than 0 and 1 are no bools: normalise.
  std::unique_ptr<bool[]> flags(new bool[rows.size() * part.size()]);
  std::transform(values, values + rows.size() * part.size(), flags.get(), [](std::uint8_t flag) { return flag != 0; });
  write_all(*this, impl_->table, &impl_->state, column, rows, part, flags.get());
}

void CasacoreTable::write_cells(const std::string& column, const std::vector<std::int64_t>& rows, const CellPart& part,
                                const float* values) {
  write_all(*this, impl_->table, &impl_->state, column, rows, part, values);
}

void CasacoreTable::write_vectors(const std::string& column, const std::vector<std::int64_t>& rows, std::size_t n,
                                  const float* values) {
  if (rows.empty()) return;
  writing(&impl_->state, "writing " + place(column, path(), rows), [&] {
    casacore::ArrayColumn<float> cells(impl_->table, column);
    const casacore::Array<float> data(casacore::IPosition(2, n, rows.size()), const_cast<float*>(values),
                                      casacore::SHARE);
    cells.putColumnCells(ref_rows(rows), data);
  });
}

void CasacoreTable::write_bools(const std::string& column, const std::vector<std::int64_t>& rows,
                                const std::vector<std::uint8_t>& values) {
  write_scalars<casacore::Bool>(impl_->table, &impl_->state, path(), column, rows, values);
}

void CasacoreTable::write_doubles(const std::string& column, const std::vector<std::int64_t>& rows,
                                  const std::vector<double>& values) {
  write_scalars<casacore::Double>(impl_->table, &impl_->state, path(), column, rows, values);
}

void CasacoreTable::write_ints(const std::string& column, const std::vector<std::int64_t>& rows,
                               const std::vector<int>& values) {
  write_scalars<casacore::Int>(impl_->table, &impl_->state, path(), column, rows, values);
}

}  // namespace rimetree::ms
