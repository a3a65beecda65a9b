// What sets say of the feeds of antennas, for tests.
#pragma once

#include <string>
#include <vector>

namespace rimetree::ms {

/// Writes POLARIZATION_TYPE of a row of FEED.
void write_feed(const std::string& ms_path, std::size_t row, const std::vector<std::string>& receptors);

}  // namespace rimetree::ms
