// All rows by the matrix product on the host, on all threads.
#pragma once

#include "nodes/psv/matrix/sides_plan.h"

namespace rimetree::psv::matrix {

/// As many of a tile's cells as the vectors of the shape hold.
struct SidesWindowOfTile {
  std::size_t tile, window;
};
std::vector<SidesWindowOfTile> windows_of_tiles(const SidesPlan& plan, const Channels& channels);

/// Where visibilities go, and their derivatives along JonesTerms::tangents; without rows: they are not asked for.
struct SidesOutput {
  Output values, slopes;
};

/// Bits do not depend on the number of threads, nor those of one on whether the other is asked for. Throws Cancelled.
void solve_by_sides(const Summed& of, const SidesPlan& plan, const SidesOutput& out, ThreadPool& threads,
                    Cancellation& cancellation);

}  // namespace rimetree::psv::matrix
