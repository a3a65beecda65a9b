// A casacore table seen through plain C++ types: the only door through which the rest of runtime/ms reads and writes.
// Its implementation is the only place, besides the creation of new sets, that includes casacore; keep casacore out of
// this header.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/ms/tables/error.h"

namespace rimetree::ms {

enum class Access { kRead, kUpdate };

enum class ValueType { kBool, kInt, kFloat, kDouble, kComplex, kString, kOther };

/// How a column is declared.
struct ColumnInfo {
  ValueType type = ValueType::kOther;
  std::string type_name;             ///< casacore's name of the type, e.g. "Complex"
  bool scalar = false;               ///< one value per row
  std::vector<std::size_t> shape{};  ///< shape of every cell, slowest axis first; empty where it may vary
};

/// Shape of a cell of DATA, FLAG, WEIGHT_SPECTRUM and the like.
struct CellShape {
  std::size_t n_channel = 0;
  std::size_t n_correlation = 0;
  friend bool operator==(const CellShape& a, const CellShape& b) {
    return a.n_channel == b.n_channel && a.n_correlation == b.n_correlation;
  }
  friend bool operator!=(const CellShape& a, const CellShape& b) { return !(a == b); }
};

/// The part [first_channel, first_channel + part.n_channel) of cells of shape `whole`.
struct CellPart {
  CellShape whole;
  std::size_t first_channel = 0;
  std::size_t n_channel = 0;
  std::size_t size() const { return n_channel * whole.n_correlation; }
};

/// A casacore table. Others that only read it do not hinder writing; where another program writes, opening it for
/// update throws SetLocked. All members throw MsError; all may be called from any thread. Row lists must be ascending.
class CasacoreTable {
 public:
  CasacoreTable(const std::string& path, Access access);
  ~CasacoreTable();
  CasacoreTable(CasacoreTable&&) noexcept;
  CasacoreTable& operator=(CasacoreTable&&) noexcept;

  const std::string& path() const;
  std::int64_t n_row() const;
  std::vector<std::string> column_names() const;
  bool has_column(const std::string& name) const;
  ColumnInfo column(const std::string& name) const;
  /// What the numbers of a column are measured from, as its keyword MEASINFO has it, e.g. UTC; empty if it says
  /// nothing.
  std::string reference(const std::string& column) const;
  /// A keyword of the table that is text; empty if there is none.
  std::string keyword(const std::string& name) const;
  bool has_subtable(const std::string& name) const;
  CasacoreTable subtable(const std::string& name) const;

  /// `count` values of a scalar column from row `first` on.
  std::vector<double> doubles(const std::string& column, std::int64_t first, std::int64_t count) const;
  std::vector<int> ints(const std::string& column, std::int64_t first, std::int64_t count) const;
  std::vector<std::uint8_t> bools(const std::string& column, std::int64_t first, std::int64_t count) const;
  std::string text(const std::string& column, std::int64_t row) const;

  /// The elements of one array cell, the fastest axis last; empty if the cell is not defined.
  std::vector<double> double_cell(const std::string& column, std::int64_t row) const;
  std::vector<int> int_cell(const std::string& column, std::int64_t row) const;
  std::vector<std::string> text_cell(const std::string& column, std::int64_t row) const;
  std::vector<std::uint8_t> bool_cell(const std::string& column, std::int64_t row) const;
  /// Shape of a cell, slowest axis first; empty if the cell is not defined.
  std::vector<std::size_t> cell_shape(const std::string& column, std::int64_t row) const;

  /// Whether every one of these cells holds a value.
  bool all_defined(const std::string& column, const std::vector<std::int64_t>& rows) const;

  /// Vectors of length n (UVW, WEIGHT): [row, n] for the rows given.
  void read_vectors(const std::string& column, const std::vector<std::int64_t>& rows, std::size_t n, double* out) const;
  void read_vectors(const std::string& column, const std::vector<std::int64_t>& rows, std::size_t n, float* out) const;

  /// [row, channel, correlation] for the rows given.
  void read_cells(const std::string& column, const std::vector<std::int64_t>& rows, const CellPart& part,
                  std::complex<float>* out) const;
  void read_cells(const std::string& column, const std::vector<std::int64_t>& rows, const CellPart& part,
                  float* out) const;
  void read_cells(const std::string& column, const std::vector<std::int64_t>& rows, const CellPart& part,
                  std::uint8_t* out) const;
  void write_cells(const std::string& column, const std::vector<std::int64_t>& rows, const CellPart& part,
                   const std::complex<float>* values);
  void write_cells(const std::string& column, const std::vector<std::int64_t>& rows, const CellPart& part,
                   const std::uint8_t* values);
  void write_cells(const std::string& column, const std::vector<std::int64_t>& rows, const CellPart& part,
                   const float* values);
  /// Vectors of length n: [row, n] for the rows given.
  void write_vectors(const std::string& column, const std::vector<std::int64_t>& rows, std::size_t n,
                     const float* values);
  /// One value per row given.
  void write_bools(const std::string& column, const std::vector<std::int64_t>& rows,
                   const std::vector<std::uint8_t>& values);
  void write_doubles(const std::string& column, const std::vector<std::int64_t>& rows,
                     const std::vector<double>& values);
  void write_ints(const std::string& column, const std::vector<std::int64_t>& rows, const std::vector<int>& values);

  /// Adds a column of complex numbers filled with zeros: shapes[shape_of_row[row]] is the shape of a row's cell. Tiled;
  /// of fixed shape if there is only one. What is on the disk stays readable whenever the process is killed.
  void add_complex_column(const std::string& name, const std::string& comment, const std::vector<CellShape>& shapes,
                          const std::vector<int>& shape_of_row);
  /// Writes zeros into the cells that are not defined, or into all; a fixed-shape column only has the latter.
  void fill_zeros(const std::string& name, const std::vector<CellShape>& shapes, const std::vector<int>& shape_of_row,
                  bool only_undefined);

  /// A direction (right ascension, declination in radians): as stored in ICRS and J2000, converted to J2000 from other
  /// frames where that is possible without knowing time and place. `frame` receives the frame of the table, "?"
  /// appended where it could not be converted; `coordinates` "ICRS" or "J2000", the frame of what is returned.
  std::array<double, 2> direction(const std::string& column, std::int64_t row, std::string* frame,
                                  std::string* coordinates) const;

  /// Writes a new table at `path` with copies of these columns, which hold Bool, and all rows.
  void copy_bool_columns(const std::vector<std::string>& columns, const std::string& path) const;

  /// Hands everything written to the operating system; with `sync` also to the disk. Rewrites headers, see
  /// header_backup.h.
  void flush(bool sync);
  /// Brings what was written to one column to the disk. Touches no header if the column is tiled.
  void flush_column(const std::string& column);

 private:
  struct Impl;
  explicit CasacoreTable(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rimetree::ms
