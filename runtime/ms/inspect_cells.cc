#include <map>

#include "runtime/ms/inspect_parts.h"
#include "runtime/ms/row_blocks.h"
#include "runtime/ms/weights.h"

namespace rimetree::ms {
namespace {

struct Counts {
  std::int64_t all = 0, flagged = 0, zero = 0, usable = 0;
};

void count_block(const MeasurementSet& ms, const std::vector<std::int64_t>& rows, const CellPart& part,
                 const std::vector<std::uint8_t>& row_flags, bool spectrum, Counts* counts) {
  std::vector<std::uint8_t> flags(rows.size() * part.size());
  ms.table().read_cells("FLAG", rows, part, flags.data());
  const std::vector<float> weights = read_weights(ms.table(), rows, part, spectrum);
  for (std::size_t i = 0; i < flags.size(); ++i) {
    const bool flagged = flags[i] != 0 || row_flags[rows[i / part.size()]] != 0;
    const bool zero = weights[i] == 0;
    ++counts->all;
    counts->flagged += flagged;
    counts->zero += zero;
    counts->usable += !flagged && !zero;
  }
}

}  // namespace

void summarise_cells(const MeasurementSet& ms, const RowIndex& index, MsSummary* summary) {
  std::map<int, std::vector<std::int64_t>> rows_of_description;
  for (std::int64_t row = 0; row < index.n_row(); ++row) rows_of_description[index.data_desc_id[row]].push_back(row);
  const std::vector<std::uint8_t> row_flags = ms.table().bools("FLAG_ROW", 0, ms.n_row());
  for (const std::uint8_t flag : row_flags) summary->n_flag_row += flag != 0;
  Counts counts;
  for (const auto& [id, rows] : rows_of_description) {
    const CellShape shape = ms.cell_shape(id);
    const CellPart part{shape, 0, shape.n_channel};
    const bool spectrum = has_weight_spectrum(ms.table(), rows);
    summary->weight_column = spectrum ? "WEIGHT_SPECTRUM" : "WEIGHT";
    for_row_blocks(rows.size(), part.size() * 8, [&, &rows = rows](std::size_t begin, std::size_t end) {
      count_block(ms, {rows.begin() + begin, rows.begin() + end}, part, row_flags, spectrum, &counts);
    });
  }
  const double all = static_cast<double>(std::max<std::int64_t>(1, counts.all));
  summary->cells_scanned = true;
  summary->flagged_fraction = static_cast<double>(counts.flagged) / all;
  summary->zero_weight_fraction = static_cast<double>(counts.zero) / all;
  summary->usable_fraction = static_cast<double>(counts.usable) / all;
}

}  // namespace rimetree::ms
