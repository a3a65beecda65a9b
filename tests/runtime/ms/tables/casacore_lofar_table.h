// What sets of LOFAR say of their elements, for tests.
#pragma once

#include <string>
#include <vector>

namespace rimetree::ms {

/// A row of LOFAR_ANTENNA_FIELD.
struct LofarRow {
  int antenna_id;
  std::string name;
  std::vector<double> position_m, axes, elements_m;
  std::vector<bool> flags;
  std::vector<double> tile_elements_m;
};

/// Adds the sub-table, and to FIELD the column LOFAR_TILE_BEAM_DIR with this direction (rad) in every row.
void add_lofar_tables(const std::string& ms_path, const std::vector<LofarRow>& rows, double ra_rad, double dec_rad);

}  // namespace rimetree::ms
