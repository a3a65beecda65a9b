// Which channels of a spectral window are looked at.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "runtime/ms/tables/metadata.h"

namespace rimetree::ms {

/// Channels [first, stop).
struct ChannelRange {
  std::size_t first = 0;
  std::size_t stop = 0;
};

/// Channels that are in one of some ranges by number (none: all), and whose centre is in one of some ranges of
/// frequency (none: all), both ends included.
struct ChannelChoice {
  std::vector<ChannelRange> numbers;
  std::vector<std::pair<double, double>> frequencies_hz;

  bool all() const { return numbers.empty() && frequencies_hz.empty(); }
  /// [channel] whether it is chosen.
  std::vector<bool> of(const SpectralWindow& window) const;
  /// The smallest range with all that are chosen; stop is 0 where none is.
  ChannelRange range(const SpectralWindow& window) const;
};

}  // namespace rimetree::ms
