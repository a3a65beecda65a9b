// Visibilities that a reader counts as flagged beside those that the set says are: so data can be left out before they
// are averaged, and the set stays as it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "runtime/core/cells/tile.h"

namespace rimetree::ms {

/// Some rows of a set, with a bit for each visibility of a range of channels.
struct LeftOutRows {
  std::size_t first_channel = 0, n_channel = 0, n_correlation = 0;
  std::vector<std::int64_t> row;   ///< of the set
  std::vector<std::uint8_t> bits;  ///< [row, byte]: 1 for what is left out; the highest bit of a byte comes first

  std::size_t bytes_of_row() const { return (n_channel * n_correlation + 7) / 8; }
};

/// What is left out of one Measurement Set. May be used from several threads.
class LeftOut {
 public:
  /// In the place of what was left out of these rows before.
  void leave_out(LeftOutRows rows);
  /// Nothing of these rows is left out any more.
  void forget(const std::vector<std::int64_t>& rows);
  /// Flags a tile: stored cells, correlations in the order of the tile.
  void flag(Tile* tile) const;

 private:
  struct Place {
    std::shared_ptr<const LeftOutRows> rows;
    std::size_t at = 0;
  };
  mutable std::mutex mutex_;
  std::unordered_map<std::int64_t, Place> places_;  // by row
};

}  // namespace rimetree::ms
