// Cases that every way of computing PSV is held to: the combinations that choose different code.
#pragma once

#include <ostream>
#include <vector>

#include "tests/support/psv_case.h"

namespace rimetree::testing {

// What is promised, as fractions of the total flux; kernel_test.cc says what of it the host's kernel uses up.
inline constexpr double kDouble = 1e-12, kSingle = 1e-6;

inline constexpr Polarisation kPolarisations[] = {Polarisation::kUnpolarised, Polarisation::kCircular,
                                                  Polarisation::kFull, Polarisation::kGeneral, Polarisation::kFew};
inline constexpr Grid kGrids[] = {Grid::kRegular,   Grid::kRounded, Grid::kDescending, Grid::kGapped,
                                  Grid::kIrregular, Grid::kSingle,  Grid::kWide};

/// Polarisations, channel grids, spectra, Gaussians and smearing, each with each.
std::vector<CaseOptions> combinations();
/// Phases of a million radians on all grids; a single source too, as nothing averages its error away.
std::vector<CaseOptions> long_phases();
/// Smearing from none to many turns over an exposure.
std::vector<CaseOptions> strong_smearing();
/// Jones terms of these kinds, with and without spectra and shapes.
std::vector<CaseOptions> jones_terms(std::vector<JonesKind> kinds);

/// For SCOPED_TRACE.
std::ostream& operator<<(std::ostream& out, const CaseOptions& o);

}  // namespace rimetree::testing
