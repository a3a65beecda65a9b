// Sizes of the matrix-product kernel. Those that are compile-time variants are instantiated, and one is chosen at run
// time: by the planner's costs, or by what `rimetree bench tune` has measured on the device.
//
// A block of some warps has a tile of kTile x kTile entries of V at some channels, for all planes, in registers. It
// stages the phasors of both sides of kDepth terms of the sum at a time in shared memory. A warp has a region of the
// tile at one or two channels: as many as fit into the registers of its threads, 64 doubles, or 32 singles with as many
// doubles in which blocks of them are summed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/math/host_device.h"

namespace rimetree::psv::matrix {

/// What multiplies: the card's matrix units (double precision: m16n8k4; single: three products of TF32, m16n8k8), or
/// plain multiply-adds by each thread.
enum class MatrixUnitKind : std::uint8_t { kTensor, kPlain };

/// A variant, by what is chosen at run time.
struct MatrixVariant {
  MatrixUnitKind unit = MatrixUnitKind::kTensor;
  std::int32_t tile = 32;  ///< entries a side: antennas, or with 2x2 Jones terms twice as many
  std::int32_t warps = 8;  ///< per block: more of them share phasors among more channels, fewer leave room for a
                           ///< second block on the multiprocessor, which stages while the first one multiplies
  friend bool operator==(const MatrixVariant&, const MatrixVariant&) = default;
};
inline constexpr MatrixVariant kMatrixVariants[] = {{MatrixUnitKind::kTensor, 32, 8},
                                                    {MatrixUnitKind::kTensor, 32, 4},
                                                    {MatrixUnitKind::kTensor, 16, 4},
                                                    {MatrixUnitKind::kPlain, 32, 8},
                                                    {MatrixUnitKind::kPlain, 16, 4}};

/// kPlanes: 1, 2 or 4 planes with real weights. Entries of 2x2 Jones products count as one plane.
template <class T, int kTileSize, int kWarpCount, int kPlanes>
struct MatrixShape {
  static constexpr bool kDouble = sizeof(T) == 8;
  static constexpr int kTile = kTileSize;
  /// Rows and columns of what a matrix unit multiplies at a time.
  static constexpr int kUnitRows = 16, kUnitColumns = 8;
  /// Complex numbers per thread and plane that the sums of a warp may take.
  static constexpr int kRoom = (kDouble ? 32 : 16) / kPlanes;
  /// The region of a warp: the whole tile if it fits, else halves of it until it does.
  static constexpr int kRegion = 32 * kRoom;  ///< entries that fit
  static constexpr int kRows = kTile * kTile <= kRegion       ? kTile
                               : kTile * kTile / 2 <= kRegion ? kTile
                               : kTile / 2 < kUnitRows        ? kUnitRows
                                                              : kTile / 2;
  static constexpr int kColumns = kTile * kRows <= kRegion      ? kTile
                                  : kRegion / kRows < kTile / 2 ? kTile / 4
                                                                : kTile / 2;
  static constexpr int kOwnChannels = kTile * kTile * 2 <= kRegion && kTile == kRows && kTile == kColumns ? 2 : 1;
  static constexpr int kWarpsPerChannel = kTile * kTile / (kRows * kColumns);
  static constexpr int kWarps = kWarpCount > kWarpsPerChannel ? kWarpCount : kWarpsPerChannel;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kChannels = kWarps / kWarpsPerChannel * kOwnChannels;
  static constexpr int kRowUnits = kRows / kUnitRows, kColumnUnits = kColumns / kUnitColumns;
  /// Terms of the sum per stage. Singles are added to doubles after each.
  static constexpr int kDepth = kDouble ? 4 : kChannels > 8 ? 8 : 16;
  /// From one term to the next in shared memory: no two threads of a warp that read together meet in one bank.
  static constexpr int kStride = kTile + 32 / static_cast<int>(sizeof(T));
  static_assert(kRows * kColumns * kOwnChannels <= kRegion && kRowUnits > 0 && kColumnUnits > 0 && kChannels > 0);
  static_assert(kWarps % kWarpsPerChannel == 0);
};

}  // namespace rimetree::psv::matrix
