// How channels, sources and rows are cut into blocks.
#pragma once

#include <cstddef>

namespace rimetree::psv {

inline constexpr std::size_t kMaxLanes = 16;  ///< singles in the widest vector supported

/// Channels are evaluated in pairs at equal distances from the middle of a tile of eight, and tiles in pairs at equal
/// distances from the middle of a run.
inline constexpr std::size_t kTileChannels = 8, kTilePairs = kTileChannels / 2;
inline constexpr std::size_t kMaxTiles = 8, kMaxTilePairs = kMaxTiles / 2;

/// Sources per block: few enough that what a pass over them reads stays in the first-level cache and, in single
/// precision, that the rounding errors of a block's sum (32 additions) stay under 1e-6 of its flux; larger sums are in
/// double.
inline constexpr std::size_t kBlockSources = 48;

/// Sources whose phasors at all channels of a tile are stored at a time, in the first-level cache too.
inline constexpr std::size_t kStoredSources = 16;

/// Sources seeded at a time in single precision.
inline constexpr std::size_t kSeedSources = 12;

/// With Jones terms that vary along channels: channels per window, the widest vector's at least and whole tiles;
/// sources per block, few enough that the sides of all antennas stay in a nearby cache and, for singles, enough that
/// sums are not widened too often; rows that share their antennas' sides.
inline constexpr std::size_t kWindowChannels = kMaxLanes;
template <class T>
inline constexpr std::size_t kJonesSources = sizeof(T) == 8 ? 8 : 16;
inline constexpr std::size_t kJonesRows = 1024, kJonesSides = 256;
constexpr std::size_t windows_of(std::size_t n_channel) { return (n_channel + kWindowChannels - 1) / kWindowChannels; }

/// Sources per block with smearing of a single plane in a narrow band, which passes over twice the tables at a time.
inline constexpr std::size_t kSmearedSources = 24;

/// From one pair to the next in `outer` and `inner`, in vectors: what a pass over the sources reads is contiguous.
inline constexpr std::size_t kPairStride = 2 * kBlockSources;

}  // namespace rimetree::psv
