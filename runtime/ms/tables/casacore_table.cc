#include "runtime/ms/tables/casacore_table.h"

#include <casacore/measures/Measures/MCDirection.h>
#include <casacore/measures/Measures/MDirection.h>
#include <casacore/measures/Measures/MeasConvert.h>
#include <casacore/measures/TableMeasures/ArrayMeasColumn.h>
#include <casacore/measures/TableMeasures/ScalarMeasColumn.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/ScalarColumn.h>
#include <casacore/tables/Tables/TableAttr.h>
#include <casacore/tables/Tables/TableColumn.h>
#include <casacore/tables/Tables/TableRecord.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "runtime/ms/tables/casacore_guard.h"
#include "runtime/ms/tables/casacore_table_impl.h"
#include "runtime/ms/tables/header_backup.h"

namespace rimetree::ms {
namespace {

casacore::TableLock lock_for(Access access) {
  // Readers never wait for anybody; a writer holds the lock until it is closed and fails at once if somebody else does.
  return casacore::TableLock(access == Access::kRead ? casacore::TableLock::UserNoReadLocking
                                                     : casacore::TableLock::PermanentLocking);
}

ValueType value_type(casacore::DataType type) {
  switch (type) {
    case casacore::TpBool:
      return ValueType::kBool;
    case casacore::TpInt:
      return ValueType::kInt;
    case casacore::TpFloat:
      return ValueType::kFloat;
    case casacore::TpDouble:
      return ValueType::kDouble;
    case casacore::TpComplex:
      return ValueType::kComplex;
    case casacore::TpString:
      return ValueType::kString;
    default:
      return ValueType::kOther;
  }
}

std::string type_name(casacore::DataType type) {
  const casacore::String name = casacore::ValType::getTypeStr(type);
  return name.before(name.find_last_not_of(' ') + 1);
}

template <class Out, class In>
std::vector<Out> scalar_range(const casacore::Table& table, const std::string& path, const std::string& column,
                              std::int64_t first, std::int64_t count) {
  return guarded("reading " + place(column, path), [&] {
    if (count == 0) return std::vector<Out>();
    const casacore::ScalarColumn<In> values(table, column);
    const casacore::Slicer rows(casacore::IPosition(1, first), casacore::IPosition(1, count));
    const casacore::Vector<In> read = values.getColumnRange(rows);
    return std::vector<Out>(read.begin(), read.end());
  });
}

template <class Value, class Stored = Value>
std::vector<Value> array_cell(const casacore::Table& table, const std::string& path, const std::string& column,
                              std::int64_t row) {
  return guarded("reading " + place(column, path, {row}), [&] {
    const casacore::ArrayColumn<Stored> values(table, column);
    if (!values.isDefined(row)) return std::vector<Value>();
    const casacore::Array<Stored> read = values(row);
    return std::vector<Value>(read.begin(), read.end());
  });
}

/// Throws where this user may not write the files that any change of a table begins with: casacore says that as a
/// failure of a file's, without what to do.
void require_writable(const std::string& path) {
  for (const char* name : {"/table.dat", "/table.lock"}) {
    const std::string file = path + name;
    if (::faccessat(AT_FDCWD, file.c_str(), W_OK, AT_EACCESS) == 0) continue;
    if (errno == EROFS)
      throw MsError("opening " + path + " for writing failed: its file system is read-only; work on a copy elsewhere");
    if (errno == EACCES || errno == EPERM)
      throw MsError("opening " + path + " for writing failed: it is read-only (no permission to write " + file +
                    "); give yourself that permission (chmod -R u+w), or work on a copy");
  }
}

}  // namespace

std::string place(const std::string& column, const std::string& path, const std::vector<std::int64_t>& rows) {
  std::string text = place(column, path);
  if (rows.size() == 1) return text + ", row " + std::to_string(rows[0]);
  if (!rows.empty()) text += ", rows " + std::to_string(rows.front()) + " to " + std::to_string(rows.back());
  return text;
}

CasacoreTable::CasacoreTable(const std::string& path, Access access) : impl_(std::make_unique<Impl>()) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (!fs::exists(path, ignored)) throw MsError("opening " + path + " failed: there is no such file or directory");
  if (!fs::is_directory(path, ignored) || !fs::exists(path + "/table.dat", ignored)) {
    throw MsError("opening " + path +
                  " failed: expected a Measurement Set (a directory with a file table.dat), got a " +
                  (fs::is_directory(path, ignored) ? "directory without table.dat" : "plain file"));
  }
  if (access == Access::kUpdate && !has_room_to_close(path)) {
    throw MsError("opening " + path + " for writing failed: the disk is full; free some space and run again");
  }
  if (access == Access::kUpdate) require_writable(path);
  impl_->path = path;
  impl_->access = access;
  const auto open = [&](const casacore::TableLock& lock) {
    guarded("opening " + path + (access == Access::kUpdate ? " for writing" : ""), [&] {
      const auto option = access == Access::kUpdate ? casacore::Table::Update : casacore::Table::Old;
      if (!impl_->folder) impl_->folder = std::make_unique<TablePlace>(path, &impl_->table);
      impl_->table = casacore::Table(path, lock, option);
    });
  };
  try {
    open(lock_for(access));
  } catch (const MsError&) {
    const LockHolder other = access == Access::kUpdate ? lock_holder(path) : LockHolder{};
    if (other.reads || other.writes) {
      impl_->mark = std::make_unique<WriterMark>();
      if (other.writes || !impl_->mark->take(path)) {
        throw SetLocked("opening " + path + " for writing failed: another program" +
                        (other.process > 0 ? " (process " + std::to_string(other.process) + ")" : "") +
                        " has it open for writing; close it and run again, or wait (--wait)");
      }
      open(casacore::TableLock(casacore::TableLock::NoLocking));  // others only read, and may go on
    } else {
      if (!restore_headers(path)) throw;  // a process was killed while it flushed
      open(lock_for(access));
    }
  }
  if (access == Access::kUpdate) remove_stale_headers(path);
  guarded("opening " + path, [&] { bound_caches(impl_->table); });
}

CasacoreTable::CasacoreTable(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CasacoreTable::CasacoreTable(CasacoreTable&&) noexcept = default;
CasacoreTable& CasacoreTable::operator=(CasacoreTable&&) noexcept = default;

CasacoreTable::~CasacoreTable() {
  const std::lock_guard<std::recursive_mutex> lock(casacore_mutex());
  if (impl_ && impl_->folder && impl_->folder->is_replaced()) {  // nothing of the old set goes into a new one
    impl_->folder->leave();
    impl_.reset();
    return;
  }
  // Closing a table writes what is left, and casacore ends the program if that fails. Where writing has failed before,
  // or would now (a full disk), the table is left open until the process ends; the disk holds what was flushed last.
  if (impl_ && impl_->access == Access::kUpdate && !has_room_to_close(impl_->path)) impl_->state.failed = true;
  if (impl_ && impl_->state.changed && !impl_->state.failed) {
    try {
      flush(false);  // rather here than when casacore closes the table: with a backup of the headers
    } catch (const std::exception&) {
    }
  }
  if (impl_ && impl_->state.failed) new casacore::Table(impl_->table);
  impl_.reset();
}

const std::string& CasacoreTable::path() const { return impl_->path; }

std::int64_t CasacoreTable::n_row() const { return static_cast<std::int64_t>(impl_->table.nrow()); }

std::vector<std::string> CasacoreTable::column_names() const {
  return guarded("listing the columns of " + path(), [&] {
    const casacore::Vector<casacore::String> names = impl_->table.tableDesc().columnNames();
    return std::vector<std::string>(names.begin(), names.end());
  });
}

bool CasacoreTable::has_column(const std::string& name) const {
  return guarded("listing the columns of " + path(), [&] { return bool(impl_->table.tableDesc().isColumn(name)); });
}

ColumnInfo CasacoreTable::column(const std::string& name) const {
  return guarded("describing " + place(name, path()), [&] {
    if (!impl_->table.tableDesc().isColumn(name)) {
      std::string present;
      for (const std::string& column : column_names()) present += (present.empty() ? "" : " ") + column;
      throw MsError(path() + " has no column " + name + "; it has " + present);
    }
    const casacore::ColumnDesc& description = impl_->table.tableDesc().columnDesc(name);
    ColumnInfo info;
    info.type = value_type(description.dataType());
    info.type_name = type_name(description.dataType());
    info.scalar = description.isScalar();
    if (description.isFixedShape()) {
      for (std::size_t axis = description.shape().size(); axis-- > 0;) info.shape.push_back(description.shape()[axis]);
    }
    return info;
  });
}

std::string CasacoreTable::reference(const std::string& column) const {
  return guarded("looking at column " + column + " of " + path(), [&]() -> std::string {
    const casacore::TableRecord& keywords = casacore::TableColumn(impl_->table, column).keywordSet();
    if (!keywords.isDefined("MEASINFO") || keywords.dataType("MEASINFO") != casacore::TpRecord) return {};
    const casacore::TableRecord& measure = keywords.asRecord("MEASINFO");
    if (!measure.isDefined("Ref") || measure.dataType("Ref") != casacore::TpString) return {};
    return measure.asString("Ref");
  });
}

std::string CasacoreTable::keyword(const std::string& name) const {
  return guarded("looking for keyword " + name + " of " + path(), [&]() -> std::string {
    const casacore::TableRecord& keywords = impl_->table.keywordSet();
    if (!keywords.isDefined(name) || keywords.dataType(name) != casacore::TpString) return {};
    return keywords.asString(name);
  });
}

bool CasacoreTable::has_subtable(const std::string& name) const {
  return guarded("looking for table " + name + " of " + path(), [&] {
    const casacore::TableRecord& keywords = impl_->table.keywordSet();
    return keywords.isDefined(name) && keywords.dataType(name) == casacore::TpTable;
  });
}

CasacoreTable CasacoreTable::subtable(const std::string& name) const {
  if (!has_subtable(name)) {
    throw MsError(path() + " has no table " + name + "; is it a complete Measurement Set (version 2)?");
  }
  return guarded("opening table " + name + " of " + path(), [&] {
    const std::string where = impl_->table.keywordSet().tableAttributes(name).name();
    return CasacoreTable(where, Access::kRead);
  });
}

std::vector<double> CasacoreTable::doubles(const std::string& column, std::int64_t first, std::int64_t count) const {
  return scalar_range<double, casacore::Double>(impl_->table, path(), column, first, count);
}

std::vector<int> CasacoreTable::ints(const std::string& column, std::int64_t first, std::int64_t count) const {
  return scalar_range<int, casacore::Int>(impl_->table, path(), column, first, count);
}

std::vector<std::uint8_t> CasacoreTable::bools(const std::string& column, std::int64_t first,
                                               std::int64_t count) const {
  return scalar_range<std::uint8_t, casacore::Bool>(impl_->table, path(), column, first, count);
}

std::string CasacoreTable::text(const std::string& column, std::int64_t row) const {
  return guarded("reading " + place(column, path(), {row}),
                 [&] { return std::string(casacore::ScalarColumn<casacore::String>(impl_->table, column)(row)); });
}

std::vector<double> CasacoreTable::double_cell(const std::string& column, std::int64_t row) const {
  return array_cell<casacore::Double>(impl_->table, path(), column, row);
}

std::vector<int> CasacoreTable::int_cell(const std::string& column, std::int64_t row) const {
  return array_cell<casacore::Int>(impl_->table, path(), column, row);
}

std::vector<std::string> CasacoreTable::text_cell(const std::string& column, std::int64_t row) const {
  return array_cell<std::string, casacore::String>(impl_->table, path(), column, row);
}

std::vector<std::uint8_t> CasacoreTable::bool_cell(const std::string& column, std::int64_t row) const {
  return array_cell<std::uint8_t, casacore::Bool>(impl_->table, path(), column, row);
}

std::vector<std::size_t> CasacoreTable::cell_shape(const std::string& column, std::int64_t row) const {
  return guarded("reading the shape of " + place(column, path(), {row}), [&] {
    std::vector<std::size_t> shape;
    const casacore::TableColumn cells(impl_->table, column);
    if (!cells.isDefined(row)) return shape;
    const casacore::IPosition read = cells.shape(row);
    for (std::size_t axis = read.size(); axis-- > 0;) shape.push_back(read[axis]);
    return shape;
  });
}

std::array<double, 2> CasacoreTable::direction(const std::string& column, std::int64_t row, std::string* frame,
                                               std::string* coordinates) const {
  return guarded("reading the direction in " + place(column, path(), {row}), [&] {
    const casacore::ArrayMeasColumn<casacore::MDirection> directions(impl_->table, column);
    const casacore::Array<casacore::MDirection> cell = directions(row);
    if (cell.empty()) throw MsError("it is empty");
    casacore::MDirection direction = *cell.begin();
    *frame = direction.getRefString();
    const auto type = casacore::MDirection::castType(direction.getRef().getType());
    *coordinates = type == casacore::MDirection::ICRS ? "ICRS" : "J2000";
    const bool fixed_to_the_sky = type == casacore::MDirection::J2000 || type == casacore::MDirection::B1950 ||
                                  type == casacore::MDirection::GALACTIC;
    if (type == casacore::MDirection::ICRS) {
      // Sky models do not tell ICRS from J2000: their positions count as in the frame of the field, 16 mas either way.
    } else if (fixed_to_the_sky) {
      direction = casacore::MDirection::Convert(direction, casacore::MDirection::J2000)();
    } else {
      *frame += "?";
    }
    const casacore::Vector<casacore::Double> angles = direction.getValue().get();
    return std::array<double, 2>{angles[0], angles[1]};
  });
}

}  // namespace rimetree::ms
