// Compares stored UVW with antenna positions: which sign, which direction, decomposable per antenna or not.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "runtime/ms/tables/metadata.h"

namespace rimetree::ms {

/// UVW of one cross-correlation row.
struct UvwRow {
  double time_s = 0;     ///< MJD in seconds
  std::size_t slot = 0;  ///< rows with the same slot are simultaneous
  int field_id = 0;
  int antenna1 = 0;
  int antenna2 = 0;
  std::array<double, 3> uvw_m{};
};

/// Where the UVW of one field point.
struct UvwDirection {
  int field_id = 0;
  double field_residual = 0;       ///< rms difference from what FIELD and the positions predict / rms UVW
  bool points_elsewhere = false;   ///< another direction explains them much better
  double ra_rad = 0, dec_rad = 0;  ///< J2000, the direction that explains them best
  double residual = 0;             ///< with that direction
  double offset_rad = 0;           ///< from the phase centre that FIELD names
};

struct UvwReport {
  std::string family = "unknown";  ///< "p-q": position(ANTENNA1) - position(ANTENNA2); "q-p": the opposite; "unknown"
  std::string reason;              ///< why the family is unknown; empty if known
  std::vector<UvwDirection> directions;  ///< of the fields that have rows between antennas of known position
  bool closure_tested = false;           ///< some time has a closed loop of baselines
  bool decomposable = false;             ///< every loop closes: UVW are differences of one vector per antenna and time
  double misclosure_m = 0;               ///< the largest misclosure found
};

/// Compares. Antennas at position 0 are ignored. Precession is applied, nutation, aberration and UT1-UTC are not: good
/// to a minute of arc. `closure_tolerance_m` is the misclosure up to which UVW count as decomposable. Rows of one slot
/// must be adjacent.
UvwReport check_uvw(const std::vector<Antenna>& antennas, const std::vector<Field>& fields,
                    const std::vector<UvwRow>& rows, double closure_tolerance_m);

/// A vector given in the frame fixed to the Earth (ITRF) at a time (MJD in seconds, UT1 = UTC), in J2000.
std::array<double, 3> to_j2000(const std::array<double, 3>& itrf, double time_s);

}  // namespace rimetree::ms
