// What one launch of the adjoint kernel on a device works on, and of the small kernels that go with it: plain arrays
// and numbers, the same for a GPU and for the host code that takes its place in tests.
#pragma once

#include "nodes/psv/device/job.h"

namespace rimetree::psv {

/// Complex numbers that hold the conjugate adjoints of so many planes: one each, or those of the four correlations.
RT_HD constexpr int adjoint_components(int n_plane) { return n_plane == 8 ? 4 : n_plane; }

/// From conjugate adjoints of planes to sums over rows and channels for each source. A block has several sources (side
/// by side among its threads) and goes through the rows of a portion; what blocks have summed is added up afterwards.
struct DeviceAdjointJob {
  /// Sources, weights, rows, runs, channels and Jones terms of the sum whose adjoint this is; `out` and `accumulate`
  /// mean nothing here, and the brightness is not part of the products on the left.
  DeviceJob<double> sum;
  /// Conjugate adjoints, [row][component][channel of the launch]: of planes, or with eight planes of correlations.
  const Complex<double>* adjoint = nullptr;
  double* partial = nullptr;          ///< [portion][run][source][sum of a source]
  double* channel_partial = nullptr;  ///< [portion][lane][source][channel of the launch][plane], if weights vary

  std::int32_t sources = 1;  ///< side by side in a block: a power of two; sources * sum.tiles <= kThreads
  std::int32_t n_portion = 1, rows_per_portion = 0;
  std::int32_t row_stride = 0;  ///< of `adjoint`
  std::int32_t n_sum = 0;       ///< per source: weights (unless they vary along channels), positions, shapes
  bool weights = false, positions = false, shapes = false;  ///< which are asked for

  bool spectra() const { return sum.n_weight_channel > 1; }
  RT_HD int weight_sums() const { return weights && sum.n_weight_channel == 1 ? sum.n_plane : 0; }
  RT_HD int lanes() const { return DeviceShape::kThreads / (sources * sum.tiles); }
  /// Rows that a block stages at a time: as many pairs as there are threads.
  RT_HD int rows_per_stage() const { return DeviceShape::kThreads / sources; }
  std::int64_t partial_values() const { return std::int64_t{n_portion} * sum.n_run * sum.n_source * n_sum; }
  RT_HD std::int64_t channel_values() const { return std::int64_t{sum.n_source} * sum.n_out_channel * sum.n_plane; }
};

/// Adds up what blocks have summed, in order: total[i] (+)= sum over groups of partial[group][i].
struct DeviceAddJob {
  const double* partial = nullptr;  ///< [group][value]
  double* total = nullptr;          ///< [value]
  std::int32_t n_group = 0;
  std::int64_t n_value = 0;
  bool accumulate = false;
};

/// Compares visibilities with data: chi-square, and in place of the visibilities their conjugate adjoints.
struct DeviceCompareJob {
  const Complex<double>* data = nullptr;  ///< [row][XX XY YX YY][channel]
  const double* weight = nullptr;         ///< the same; 0 where a datum does not count
  Complex<double>* model = nullptr;       ///< [row][XX XY YX YY][channel of the launch]
  double* partial = nullptr;              ///< [block][sum, what rounding took from it]
  double* total = nullptr;                ///< [sum, what rounding took]
  std::int32_t n_row = 0, n_channel = 0, first_channel = 0, n_out_channel = 0;
  double slope = 1;  ///< of the objective with respect to chi-square
  bool accumulate = false;

  static constexpr int kCellsPerThread = 16;
  RT_HD std::int64_t n_cell() const { return std::int64_t{n_row} * n_out_channel; }
  RT_HD std::int32_t n_block() const {
    constexpr std::int64_t kPerBlock = std::int64_t{DeviceShape::kThreads} * kCellsPerThread;
    return static_cast<std::int32_t>((n_cell() + kPerBlock - 1) / kPerBlock);
  }
};

/// Conjugate adjoints of planes from those of correlations.
struct DevicePlanesJob {
  const Complex<double>* correlations = nullptr;  ///< [row][XX XY YX YY][channel]
  Complex<double>* planes = nullptr;              ///< [row][plane][channel]
  std::int32_t n_row = 0, n_channel = 0, n_plane = 1;
  Plane plane[4] = {};
};

/// Calls f(array, number of elements) for each array that is there.
template <class F>
void for_each_array(DeviceAdjointJob& job, F&& f) {
  DeviceJob<double>& sum = job.sum;
  f(sum.source, sum.n_source);
  if (sum.weight != nullptr) f(sum.weight, std::int64_t{sum.n_source} * sum.n_weight_channel * sum.n_plane);
  if (sum.brightness != nullptr) f(sum.brightness, std::int64_t{4} * sum.n_source);
  f(sum.row, sum.n_row);
  f(sum.run, sum.n_run);
  f(sum.channel, sum.n_channel);
  if (sum.left.value != nullptr) f(sum.left.value, sum.left.count);
  if (sum.right.value != nullptr) f(sum.right.value, sum.right.count);
  f(job.adjoint, std::int64_t{sum.n_row} * job.row_stride);
  if (job.n_sum > 0) f(job.partial, job.partial_values());
  if (job.spectra() && job.weights) f(job.channel_partial, job.n_portion * job.lanes() * job.channel_values());
}
template <class F>
void for_each_array(DeviceAddJob& job, F&& f) {
  f(job.partial, job.n_group * job.n_value);
  f(job.total, job.n_value);
}
template <class F>
void for_each_array(DeviceCompareJob& job, F&& f) {
  f(job.data, std::int64_t{4} * job.n_row * job.n_channel);
  f(job.weight, std::int64_t{4} * job.n_row * job.n_channel);
  f(job.model, 4 * job.n_cell());
  f(job.partial, std::int64_t{2} * job.n_block());
  f(job.total, std::int64_t{2});
}
template <class F>
void for_each_array(DevicePlanesJob& job, F&& f) {
  f(job.correlations, std::int64_t{4} * job.n_row * job.n_channel);
  f(job.planes, std::int64_t{job.n_row} * job.n_plane * job.n_channel);
}

}  // namespace rimetree::psv
