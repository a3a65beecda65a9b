// Visibilities turned to another phase centre: for trees that solve or look, not for those that write.
#pragma once

#include "runtime/core/cells/tile.h"

namespace rimetree::ms {

/// Right ascension and declination, in the frame of the field.
struct PhaseCentre {
  double ra_rad = 0, dec_rad = 0;
  bool operator==(const PhaseCentre&) const = default;
};

/// UVW of the same baselines in the axes of another centre: u to the east, v to the north, w towards it (Thompson,
/// Moran & Swenson 2017, eq. 4.1, with the axes of right ascension and declination).
void turn_uvw(const PhaseCentre& from, const PhaseCentre& to, const double* uvw_m, double* turned_m);

/// UVW and its rate, and all columns times exp(2 pi i nu/c (w - w')), of a tile whose delays had been tracked `from`
/// there. Nothing changes if both are the same. What correlator and averaging have smeared stays so.
void move_phase_centre(const PhaseCentre& from, const PhaseCentre& to, Tile* tile);

}  // namespace rimetree::ms
