// Data with the inverse of Jones matrices: J_p^-1 V J_q^-H, for all baselines of a tile, in place, and what that flags.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <vector>

#include "runtime/core/cells/tile.h"
#include "runtime/core/threads/thread_pool.h"
#include "runtime/math/complex.h"

namespace rimetree::ms {

/// Why a feed of an antenna cannot be corrected; 0 where it can.
inline constexpr std::size_t kReasons = 4;  ///< numbers below this

/// Inverse Jones matrices of antennas, given once for all cells on which they are the same.
struct InverseJones {
  std::vector<int> antennas;  ///< ids, ascending
  bool diagonal = true;       ///< [antenna, time, frequency, 2], else [.., 2, 2]
  std::size_t n_time = 0, n_frequency = 0;
  std::vector<std::uint32_t> time, frequency;  ///< [slot], [channel] of the tile: which of these
  std::vector<Complex<double>> inverse;        ///< none: only flags are looked at
  std::vector<std::uint8_t> reason;            ///< [antenna, time, frequency, feed]

  /// The place of an antenna. Throws Error where it has none.
  std::size_t place(int antenna) const;
  std::size_t cell(std::size_t antenna, std::size_t slot, std::size_t channel) const {
    return (antenna * n_time + time[slot]) * n_frequency + frequency[channel];
  }
};

/// Visibilities, and of these what was flagged before and what is newly flagged; [antenna] of baselines with it. What
/// is flagged because of both antennas counts for each.
struct FlagCounts {
  std::int64_t all = 0, flagged = 0, fresh = 0;
  std::vector<int> antennas;  ///< ids
  std::vector<std::int64_t> all_of, good_of, lost_of;
  std::vector<std::array<std::int64_t, kReasons>> because_of;  ///< 0: results that are not finite
  bool usable = false;  ///< whether there are solutions for any row that is there

  explicit FlagCounts(std::vector<int> ids = {});
};

/// Corrects `values` [baseline, time, channel, correlation] of a tile and flags where there is no matrix, where the
/// result is not finite, and, if matrices mix the feeds, where another correlation is flagged. Without matrices it only
/// flags. Counts; returns whether anything is newly flagged. Throws Error where the matrices do not fit the tile.
bool correct(Tile& tile, std::vector<std::complex<float>>& values, const InverseJones& jones, FlagCounts& counts,
             ThreadPool& threads);

}  // namespace rimetree::ms
