// Some sources of a sky, or some channels of their spectra.
#pragma once

#include "nodes/psv/kernel.h"

namespace rimetree::psv {

/// Sources [begin, end) of a sky without Jones terms. `total_flux` stays that of all: the unit of tolerances.
Sky<double> part_of_sky(const Sky<double>& sky, std::size_t begin, std::size_t end);

/// All sources of such a sky with channels [begin, end) of their spectra.
Sky<double> part_of_band(const Sky<double>& sky, std::size_t begin, std::size_t end);

}  // namespace rimetree::psv
