// Which weights count, and reading them.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/ms/tables/casacore_table.h"

namespace rimetree::ms {

/// Whether WEIGHT_SPECTRUM exists and every one of these rows has it; if not, WEIGHT counts.
bool has_weight_spectrum(const CasacoreTable& main, const std::vector<std::int64_t>& rows);

/// [row, channel, correlation] WEIGHT_SPECTRUM if `spectrum`, or else WEIGHT repeated for every channel. Zero stays
/// zero.
void read_weights(const CasacoreTable& main, const std::vector<std::int64_t>& rows, const CellPart& part, bool spectrum,
                  std::vector<float>* weights);

/// Brings WEIGHT and SIGMA of rows into line with their WEIGHT_SPECTRUM: the mean weight of the channels that have any,
/// and 1 / sqrt of it; both 0 where none has.
void write_row_weights(CasacoreTable& main, const std::vector<std::int64_t>& rows, const CellShape& shape);

}  // namespace rimetree::ms
