// What one launch of the matrix-product kernel works on: plain arrays and numbers, the same for a GPU and for the host
// code that takes its place in tests.
#pragma once

#include "nodes/psv/matrix/shape.h"
#include "nodes/psv/pipeline/arrays.h"

namespace rimetree::psv {

inline constexpr int kMostSmearingNodes = 8;

/// An antenna of a tile. A tile has its own, so that it reads them in a row.
struct MatrixAntenna {
  double x, y, z;        ///< metres: UVW of a row are the difference of two
  double dx, dy, dz;     ///< change over half the exposure, metres
  std::int32_t product;  ///< which Jones products apply to it on this side
  std::int32_t unused = 0;
};

enum MatrixSide { kLeftSide, kRightSide };

/// Rows of one time slot between two lists of antennas.
struct MatrixTile {
  std::int32_t first_left, n_left, first_right, n_right;  ///< antennas; the same ones twice on the diagonal
  std::int32_t first_row, n_row;
  std::int32_t time;      ///< of the Jones products
  std::int32_t diagonal;  ///< both lists are one, and rows have left <= right
};

/// A row: entry (left, right) of a tile, or its conjugate.
struct MatrixRow {
  std::int16_t left, right;
  std::int16_t conjugate, unused = 0;
};

/// Channels that a block has: regular (see DeviceRun), or any that are next to each other.
struct MatrixRun {
  std::int32_t first, count;
  double middle_high, middle_low, half_step_high, half_step_low;  ///< turns per metre
  double width_per_metre;                                         ///< width / c
};

/// Arrays are device memory.
template <class T>
struct MatrixJob {
  const DeviceSource* source = nullptr;
  const T* weight = nullptr;  ///< [source][weight channel][plane]; null with Jones terms
  const MatrixRun* run = nullptr;
  const DeviceChannel* channel = nullptr;
  DeviceJones<T> left, right;
  const MatrixTile* tile = nullptr;
  const MatrixAntenna* antenna = nullptr;
  const MatrixRow* row = nullptr;
  Complex<double>* out = nullptr;  ///< [row][XX XY YX YY][channel of this launch]

  std::int32_t n_source = 0, n_tile = 0, n_antenna = 0, n_row = 0, n_run = 0;
  std::int32_t n_channel = 0;                         ///< of the channel array
  std::int32_t first_channel = 0, n_out_channel = 0;  ///< of this launch, those of its runs
  std::int32_t n_weight_channel = 1;                  ///< 1 or n_channel
  std::int32_t n_plane = 1;                           ///< 1, 2 or 4; 1 with Jones terms
  Plane plane[4] = {};
  MatrixVariant variant;
  bool regular = true;      ///< runs are regular: phasors advance from channel to channel
  bool accumulate = false;  ///< adds to `out`

  /// Time and bandwidth smearing: means over these nodes on [-1, 1] instead of sincs. Each pair of nodes makes a source
  /// a term of its own.
  std::int32_t n_time_node = 1, n_frequency_node = 1;
  double time_node[kMostSmearingNodes] = {}, time_weight[kMostSmearingNodes] = {1};
  double frequency_node[kMostSmearingNodes] = {}, frequency_weight[kMostSmearingNodes] = {1};

  RT_HD bool with_jones() const { return left.value != nullptr; }
  /// Terms of the sum, but that 2x2 products make two of each.
  RT_HD std::int32_t n_term() const { return n_source * n_time_node * n_frequency_node; }
};

/// Calls f(array, number of elements) for each array that is there.
template <class T, class F>
void for_each_array(MatrixJob<T>& job, F&& f) {
  f(job.source, std::int64_t{job.n_source});
  if (job.weight != nullptr) f(job.weight, std::int64_t{job.n_source} * job.n_weight_channel * job.n_plane);
  f(job.run, std::int64_t{job.n_run});
  f(job.channel, std::int64_t{job.n_channel});
  if (job.left.value != nullptr) f(job.left.value, job.left.count);
  if (job.right.value != nullptr) f(job.right.value, job.right.count);
  f(job.tile, std::int64_t{job.n_tile});
  f(job.antenna, std::int64_t{job.n_antenna});
  f(job.row, std::int64_t{job.n_row});
  f(job.out, std::int64_t{4} * job.n_row * job.n_out_channel);
}

}  // namespace rimetree::psv
