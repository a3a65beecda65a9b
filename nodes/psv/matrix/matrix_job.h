// What one launch of the matrix-product kernel works on: plain arrays and numbers, the same for a GPU and for the host
// code that takes its place in tests.
#pragma once

#include "nodes/psv/matrix/shape.h"
#include "nodes/psv/pipeline/arrays.h"

namespace rimetree::psv::matrix {
using namespace pipeline;

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

/// Arrays are device memory.
template <class T>
struct MatrixJob : SumJob<T> {
  const MatrixTile* tile = nullptr;
  const MatrixAntenna* antenna = nullptr;
  const MatrixRow* row = nullptr;
  std::int32_t n_tile = 0, n_antenna = 0;
  MatrixVariant variant;

  /// Time and bandwidth smearing: means over these nodes on [-1, 1] instead of sincs. Each pair of nodes makes a source
  /// a term of its own.
  std::int32_t n_time_node = 1, n_frequency_node = 1;
  double time_node[kMostSmearingNodes] = {}, time_weight[kMostSmearingNodes] = {1};
  double frequency_node[kMostSmearingNodes] = {}, frequency_weight[kMostSmearingNodes] = {1};

  /// Terms of the sum, but that 2x2 products make two of each.
  RT_HD std::int32_t n_term() const { return this->n_source * n_time_node * n_frequency_node; }
};

/// Calls f(array, number of elements) for each array that is there.
template <class T, class F>
void for_each_array(MatrixJob<T>& job, F&& f) {
  for_each_sum_array(job, f);
  f(job.tile, std::int64_t{job.n_tile});
  f(job.antenna, std::int64_t{job.n_antenna});
  f(job.row, std::int64_t{job.n_row});
}

}  // namespace rimetree::psv::matrix
