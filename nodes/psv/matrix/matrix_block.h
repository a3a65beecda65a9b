// The work of a block of threads of the matrix-product kernel, in steps (runtime/device/block_kernel.h): for each stage
// of terms stage (matrix_stage.h) and multiply, and at the end clear_rows, find_rows and store. `Unit` is what
// multiplies (unit.h), for a warp at a time.
#pragma once

#include "nodes/psv/matrix/matrix_kernel.h"
#include "nodes/psv/matrix/matrix_stage.h"
#include "nodes/psv/plane_shares.h"
#include "runtime/device/block_kernel.h"

namespace rimetree::psv::matrix {

/// Sums of a warp, or a thread's part of them.
template <class T, class Shape, class Unit, int kPlanes>
struct MatrixSums {
  static constexpr int kRowUnits = Shape::kRows / Unit::kRows, kColumnUnits = Shape::kColumns / Unit::kColumns;
  typename Unit::Sum sum[kPlanes][Shape::kOwnChannels][kRowUnits][kColumnUnits][2] = {};
};
/// Singles over a stage, doubles over all.
template <class Shape, class Unit, int kPlanes>
struct MatrixSums<float, Shape, Unit, kPlanes> {
  static constexpr int kRowUnits = Shape::kRows / Unit::kRows, kColumnUnits = Shape::kColumns / Unit::kColumns;
  typename Unit::Sum sum[kPlanes][Shape::kOwnChannels][kRowUnits][kColumnUnits][2] = {};
  double total[kPlanes][Shape::kOwnChannels][kRowUnits][kColumnUnits][2][Unit::kSums] = {};
};

/// Which part of the tile, and which channels of the block, a warp has.
struct MatrixWarp {
  int row, column, channel;
};
template <class Shape>
RT_HD MatrixWarp matrix_warp(int warp) {
  constexpr int kAcross = Shape::kTile / Shape::kColumns;
  const int region = warp % Shape::kWarpsPerChannel;
  return {region / kAcross * Shape::kRows, region % kAcross * Shape::kColumns,
          warp / Shape::kWarpsPerChannel * Shape::kOwnChannels};
}

/// Whether some row may be among the entries of a unit.
template <class Unit>
RT_HD bool is_needed(const MatrixTile& tile, int per_antenna, int row, int column) {
  if (row >= per_antenna * tile.n_left || column >= per_antenna * tile.n_right) return false;
  return !tile.diagonal || row < column + Unit::kColumns;
}

/// Adds the staged terms to the sums of a warp at one channel.
template <class T, class Shape, class Unit, int kPlanes>
RT_HD void multiply_channel(const MatrixTile& tile, int per_antenna, const MatrixWarp& at, int own, int lane,
                            const MatrixStaged<T, Shape, kPlanes>& from, MatrixSums<T, Shape, Unit, kPlanes>& sums) {
  using Sums = MatrixSums<T, Shape, Unit, kPlanes>;
  const int channel = at.channel + own;
  RT_UNROLL
  for (int k = 0; k < Shape::kDepth; k += Unit::kDepth) {
    typename Unit::Right right[Sums::kColumnUnits][2];
    RT_UNROLL
    for (int q = 0; q < Sums::kColumnUnits; ++q)
      for (int part = 0; part < 2; ++part)
        Unit::load(right[q][part], &from.phasor[kRightSide][channel][part][k][at.column + q * Unit::kColumns],
                   Shape::kStride, lane);
    RT_UNROLL
    for (int r = 0; r < Sums::kRowUnits; ++r) {
      const int row = at.row + r * Unit::kRows;
      typename Unit::Left plain[2];
      for (int part = 0; part < 2; ++part)
        Unit::load(plain[part], &from.phasor[kLeftSide][channel][part][k][row], Shape::kStride, lane);
      RT_UNROLL
      for (int p = 0; p < kPlanes; ++p) {
        typename Unit::Left re = plain[0], im = plain[1];
        if constexpr (kPlanes > 1) {
          re = Unit::scaled(plain[0], &from.weight[channel][p][k], lane);
          im = Unit::scaled(plain[1], &from.weight[channel][p][k], lane);
        }
        RT_UNROLL
        for (int q = 0; q < Sums::kColumnUnits; ++q) {
          if (!is_needed<Unit>(tile, per_antenna, row, at.column + q * Unit::kColumns)) continue;
          auto& sum = sums.sum[p][own][r][q];
          Unit::template multiply_add<false>(sum[0], re, right[q][0]);
          Unit::template multiply_add<true>(sum[0], im, right[q][1]);
          Unit::template multiply_add<false>(sum[1], re, right[q][1]);
          Unit::template multiply_add<false>(sum[1], im, right[q][0]);
        }
      }
    }
  }
}

/// Moves the singles of a stage on to the doubles.
template <class Shape, class Unit, int kPlanes>
RT_HD void flush(MatrixSums<float, Shape, Unit, kPlanes>& sums) {
  using Sums = MatrixSums<float, Shape, Unit, kPlanes>;
  constexpr int kCount = kPlanes * Shape::kOwnChannels * Sums::kRowUnits * Sums::kColumnUnits * 2;
  typename Unit::Sum* sum = &sums.sum[0][0][0][0][0];
  double(*total)[Unit::kSums] = &sums.total[0][0][0][0][0];
  RT_UNROLL
  for (int k = 0; k < kCount; ++k) {
    RT_UNROLL
    for (int i = 0; i < Unit::kSums; ++i) total[k][i] += static_cast<double>(Unit::value(sum[k], i));
    sum[k] = {};
  }
}

/// Adds the staged terms to the warp's sums.
template <class T, class Shape, class Unit, int kPlanes>
RT_HD void multiply(const MatrixJob<T>& job, const MatrixBlock& place, int warp, int lane,
                    const MatrixStaged<T, Shape, kPlanes>& from, MatrixSums<T, Shape, Unit, kPlanes>& sums) {
  const MatrixTile& tile = job.tile[place.tile];
  const MatrixWarp at = matrix_warp<Shape>(warp);
  const int per_antenna = job.with_jones() ? 2 : 1;
  RT_UNROLL
  for (int own = 0; own < Shape::kOwnChannels; ++own)
    multiply_channel<T, Shape, Unit, kPlanes>(tile, per_antenna, at, own, lane, from, sums);
  if constexpr (sizeof(T) == 4) flush(sums);
}

template <class T, class Shape, class Unit, int kPlanes>
RT_HD double total_of(const MatrixSums<T, Shape, Unit, kPlanes>& sums, int p, int own, int r, int q, int part, int i) {
  if constexpr (sizeof(T) == 4)
    return sums.total[p][own][r][q][part][i];
  else
    return Unit::value(sums.sum[p][own][r][q][part], i);
}

template <class T, class Shape, int kPlanes>
RT_HD void clear_rows(int thread, MatrixStaged<T, Shape, kPlanes>& to) {
  for (int i = thread; i < Shape::kTile * Shape::kTile; i += Shape::kThreads)
    to.row_of[i / Shape::kTile][i % Shape::kTile] = -1;
}
/// Rows of one pair stand side by side: the first one is noted.
template <class T, class Shape, int kPlanes>
RT_HD void find_rows(const MatrixJob<T>& job, const MatrixBlock& place, int thread,
                     MatrixStaged<T, Shape, kPlanes>& to) {
  const MatrixTile& tile = job.tile[place.tile];
  const MatrixRow* row = job.row + tile.first_row;
  for (int k = thread; k < tile.n_row; k += Shape::kThreads)
    if (k == 0 || row[k].left != row[k - 1].left || row[k].right != row[k - 1].right)
      to.row_of[row[k].left][row[k].right] = k;
}

/// Writes correlations `first` to `last` of all rows of a pair at a channel.
template <class T, class F>
RT_HD void store_pair(const MatrixJob<T>& job, const MatrixTile& tile, std::int32_t first_row, int channel, F&& value) {
  const MatrixRow* row = job.row + tile.first_row;
  const MatrixRow pair = row[first_row];
  for (std::int32_t k = first_row; k < tile.n_row && row[k].left == pair.left && row[k].right == pair.right; ++k) {
    Complex<double>* to = job.out + std::int64_t{tile.first_row + k} * 4 * job.n_out_channel + channel;
    value(row[k].conjugate != 0, [&](int correlation, Complex<double> v) {
      Complex<double>& at = to[correlation * job.n_out_channel];
      at = job.accumulate ? at + v : v;
    });
  }
}

/// Writes the visibilities of a warp.
template <class T, class Shape, class Unit, int kPlanes>
RT_HD void store(const MatrixJob<T>& job, const MatrixBlock& place, int warp, int lane,
                 const MatrixStaged<T, Shape, kPlanes>& staged, const MatrixSums<T, Shape, Unit, kPlanes>& sums) {
  using Sums = MatrixSums<T, Shape, Unit, kPlanes>;
  const MatrixTile& tile = job.tile[place.tile];
  const DeviceRun& run = job.run[place.run];
  const MatrixWarp at = matrix_warp<Shape>(warp);
  const int per_antenna = job.with_jones() ? 2 : 1;
  RT_UNROLL
  for (int own = 0; own < Shape::kOwnChannels; ++own) {
    const int channel = run.first - job.first_channel + at.channel + own;
    if (at.channel + own >= run.count) break;
    RT_UNROLL
    for (int r = 0; r < Sums::kRowUnits; ++r) RT_UNROLL
    for (int q = 0; q < Sums::kColumnUnits; ++q) RT_UNROLL
    for (int i = 0; i < Unit::kSums; ++i) {
      const int left = at.row + r * Unit::kRows + Unit::row(i, lane),
                right = at.column + q * Unit::kColumns + Unit::column(i, lane);
      const std::int32_t first_row = staged.row_of[left / per_antenna][right / per_antenna];
      if (first_row < 0) continue;
      store_pair(job, tile, first_row, channel, [&](bool conjugate, auto&& put_correlation) {
        const auto plane = [&](int p) {
          const double im = total_of(sums, p, own, r, q, 1, i);
          return Complex<double>(total_of(sums, p, own, r, q, 0, i), conjugate ? -im : im);
        };
        if (per_antenna == 2) return put_correlation(2 * (left % 2) + right % 2, plane(0));
        Complex<double> e[4] = {};
        RT_UNROLL
        for (int p = 0; p < kPlanes; ++p) add_plane(job.plane[p], plane(p), e);
        for (int k = 0; k < 4; ++k) put_correlation(k, e[k]);
      });
    }
  }
}

/// A block has a tile of antennas and a run of channels.
template <class T, class UnitType, int kTile, int kWarpCount, int kPlanes>
struct MatrixKernel {
  using Job = MatrixJob<T>;
  using Shape = MatrixShape<T, kTile, kWarpCount, kPlanes>;
  using Staged = MatrixStaged<T, Shape, kPlanes>;
  /// Where there is room for two stages, threads stage the next one before they multiply the last, and wait for each
  /// other half as often.
  static constexpr std::size_t kRoom = 96 << 10;
  struct Shared {
    static constexpr int kStages = 2 * sizeof(Staged) <= kRoom ? 2 : 1;
    Staged staged[kStages];
  };
  using Own = MatrixSums<T, Shape, UnitType, kPlanes>;
  static constexpr int kThreads = Shape::kThreads, kWarps = Shape::kWarps;

  static BlockIndex grid(const Job& job) { return {job.n_tile, job.n_run, 1}; }
  template <class Team>
  RT_HD static void run(const Job& job, BlockIndex at, Team& team) {
    const MatrixBlock place{at.x, at.y};
    Shared& shared = team.shared();
    const int terms = job.with_jones() ? Shape::kDepth / 2 : Shape::kDepth;
    const auto at_stage = [&](std::int32_t number) -> Staged& { return shared.staged[number % Shared::kStages]; };
    if (Shared::kStages > 1) team.each([&](int thread, Own&) { stage(job, place, thread, 0, at_stage(0)); });
    for (std::int32_t number = 0; number * terms < job.n_term(); ++number) {
      if constexpr (Shared::kStages > 1) {
        team.each_at_once(
            [&](int thread, Own&) { stage(job, place, thread, (number + 1) * terms, at_stage(number + 1)); });
      } else {
        team.each([&](int thread, Own&) { stage(job, place, thread, number * terms, at_stage(number)); });
      }
      team.each_warp([&](int warp, int lane, Own& sums) { multiply(job, place, warp, lane, at_stage(number), sums); });
    }
    Staged& staged = shared.staged[0];
    team.each([&](int thread, Own&) { clear_rows(thread, staged); });
    team.each([&](int thread, Own&) { find_rows(job, place, thread, staged); });
    team.each_warp([&](int warp, int lane, Own& sums) { store(job, place, warp, lane, staged, sums); });
  }
};

/// Calls f.template operator()<Kernel>() with the kernel that a job needs; Units: what multiplies.
template <template <class, MatrixUnitKind> class Units, class T, class F>
void with_matrix_kernel(const MatrixJob<T>& job, F&& f) {
  with_matrix_instance(job.variant, job.n_plane, [&]<MatrixUnitKind kUnit, int kTile, int kWarps, int kPlanes>() {
    f.template operator()<MatrixKernel<T, typename Units<T, kUnit>::Type, kTile, kWarps, kPlanes>>();
  });
}

}  // namespace rimetree::psv::matrix
