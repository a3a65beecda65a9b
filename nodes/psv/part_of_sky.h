// Some sources of a sky.
#pragma once

#include "nodes/psv/kernel.h"

namespace rimetree::psv {

/// Sources [begin, end) of a sky without Jones terms. `total_flux` stays that of all: the unit of tolerances.
Sky<double> part_of_sky(const Sky<double>& sky, std::size_t begin, std::size_t end);

}  // namespace rimetree::psv
