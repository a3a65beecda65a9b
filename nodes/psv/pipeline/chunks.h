// How a problem of any size is cut so that its parts fit into a device's memory, and overlap with their copies.
#pragma once

#include <cstddef>
#include <optional>

namespace rimetree::psv::pipeline {

/// Row chunks that a device works on at a time: one is copied to it, one computed, one copied back.
inline constexpr std::size_t kSlots = 3;
/// Row chunks are cut so that there are several to overlap, but none smaller than keeps a device busy.
inline constexpr std::size_t kChunksToOverlap = 6, kBusyRows = 4096;
/// Blocks of threads that keep any device busy: about eight for each of the 132 multiprocessors of an H200, which holds
/// so many.
inline constexpr std::size_t kBusyBlocks = 1024;

/// Bytes that parts of a problem take on a device.
struct DeviceCosts {
  std::size_t n_source = 0, n_row = 0, n_channel = 0;
  std::size_t fixed = 0;           ///< runs and channels
  std::size_t source = 0;          ///< a source with its weights
  std::size_t source_channel = 0;  ///< the same, for each channel: Jones products that vary along them
  std::size_t row = 0;             ///< a row without its visibilities
  std::size_t visibility = 0;      ///< a row's correlations of one channel, as they come out
  std::size_t visibility_up = 0;   ///< what goes up of them
  std::size_t row_scratch = 0, visibility_scratch = 0;  ///< what kernels leave for each other, of each chunk on its way
  // What a method has on the device besides, of the chunk that is being computed.
  std::size_t row_beside = 0, visibility_beside = 0;
  std::size_t longest_run = 1;  ///< channels; runs are not divided
  std::size_t rows_per_block = 1;
  std::size_t busy_rows = kBusyRows;  ///< fewer would leave the device idle
};

struct DeviceChunks {
  std::size_t sources = 0, rows = 0, channels = 0;  ///< per launch; channels in whole runs
};

/// Visibilities of a chunk take so many bytes of page-locked memory at most, unless a block of rows takes more.
inline constexpr std::size_t kMostStaged = std::size_t{128} << 20;

/// The largest chunks that fit into `budget` bytes: all sources if possible, so that they are sent once; then as many
/// rows as are useful; all channels if possible. Nothing if not even one source, row and run fit.
std::optional<DeviceChunks> device_chunks(const DeviceCosts& costs, std::size_t budget);

}  // namespace rimetree::psv::pipeline
