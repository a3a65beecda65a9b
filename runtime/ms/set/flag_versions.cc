#include "runtime/ms/set/flag_versions.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

#include "runtime/ms/set/measurement_set.h"
#include "runtime/ms/set/row_blocks.h"

namespace rimetree::ms {
namespace {

using Rows = std::vector<std::int64_t>;

std::map<int, Rows> rows_by_description(const MeasurementSet& ms) {
  std::map<int, Rows> rows;
  const std::vector<int> ids = ms.table().ints("DATA_DESC_ID", 0, ms.n_row());
  for (std::size_t row = 0; row < ids.size(); ++row) rows[ids[row]].push_back(static_cast<std::int64_t>(row));
  return rows;
}

void check_fits(const MeasurementSet& ms, const CasacoreTable& version, const std::map<int, Rows>& rows) {
  for (const char* column : {"FLAG", "FLAG_ROW"}) version.column(column);  // throws if there is none
  if (version.n_row() != ms.n_row()) {
    throw MsError("the flags in " + version.path() + " are of " + std::to_string(version.n_row()) + " rows, but " +
                  ms.path() + " has " + std::to_string(ms.n_row()));
  }
  for (const auto& [id, some] : rows) {
    const CellShape shape = ms.cell_shape(id);
    for (const std::int64_t row : some) {
      const std::vector<std::size_t> saved = version.cell_shape("FLAG", row);
      if (saved == std::vector<std::size_t>{shape.n_channel, shape.n_correlation}) continue;
      throw MsError("the flags in " + version.path() + ", row " + std::to_string(row) + ", are not of " +
                    std::to_string(shape.n_channel) + " channels x " + std::to_string(shape.n_correlation) +
                    " correlations, as the row of " + ms.path() + " is");
    }
  }
}

std::int64_t count(const std::vector<std::uint8_t>& cells, const std::vector<std::uint8_t>& row_flags, const Rows& rows,
                   std::size_t begin, std::size_t size) {
  std::int64_t flagged = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) flagged += cells[i] != 0 || row_flags[rows[begin + i / size]] != 0;
  return flagged;
}

/// Throws where a version would not fit on the disk: casacore ends the program when it closes a table that it cannot
/// write.
void require_space(const MeasurementSet& ms, const std::string& table_path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path folder = fs::absolute(table_path).parent_path();
  const fs::space_info space = fs::space(folder, error);
  if (error) return;                              // a file system that does not tell
  std::uint64_t needed = std::uint64_t{1} << 20;  // headers, and tiles that are not full
  for (const auto& [id, rows] : rows_by_description(ms)) {
    const CellShape shape = ms.cell_shape(id);
    needed += rows.size() * (shape.n_channel * shape.n_correlation + 1) / 8;
  }
  if (space.available >= needed) return;
  throw MsError("saving flags of " + ms.path() + " in " + folder.string() + " needs " + size_text(needed) +
                " of disk, but only " + size_text(space.available) + " are free; free some space");
}

}  // namespace

void save_flags(const std::string& ms_path, const std::string& table_path) {
  const MeasurementSet ms(ms_path);
  require_space(ms, table_path);
  ms.table().copy_bool_columns({"FLAG", "FLAG_ROW"}, table_path);
}

FlagChange restore_flags(const std::string& ms_path, const std::string& table_path, double wait_s,
                         Cancellation* cancellation) {
  const std::shared_ptr<MeasurementSet> ms = open_for_writing(ms_path, wait_s, cancellation);
  const CasacoreTable version(table_path, Access::kRead);
  const std::map<int, Rows> rows = rows_by_description(*ms);
  check_fits(*ms, version, rows);
  const std::vector<std::uint8_t> old_rows = ms->table().bools("FLAG_ROW", 0, ms->n_row());
  const std::vector<std::uint8_t> new_rows = version.bools("FLAG_ROW", 0, ms->n_row());
  FlagChange change;
  for (const auto& [id, some] : rows) {
    const CellShape shape = ms->cell_shape(id);
    const CellPart part{shape, 0, shape.n_channel};
    for_row_blocks(some.size(), part.size() * 2, [&, &some = some](std::size_t begin, std::size_t end) {
      const Rows block(some.begin() + static_cast<std::ptrdiff_t>(begin),
                       some.begin() + static_cast<std::ptrdiff_t>(end));
      std::vector<std::uint8_t> before(block.size() * part.size()), after(before.size());
      ms->table().read_cells("FLAG", block, part, before.data());
      version.read_cells("FLAG", block, part, after.data());
      change.visibilities += static_cast<std::int64_t>(before.size());
      change.before += count(before, old_rows, some, begin, part.size());
      change.after += count(after, new_rows, some, begin, part.size());
      ms->table().write_cells("FLAG", block, part, after.data());
    });
    std::vector<std::uint8_t> values;
    for (const std::int64_t row : some) values.push_back(new_rows[row]);
    ms->table().write_bools("FLAG_ROW", some, values);
  }
  ms->table().flush(true);
  return change;
}

}  // namespace rimetree::ms
