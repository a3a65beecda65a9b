// What one launch of the adjoint kernel on a device works on, and of the small kernels that go with it: plain arrays
// and numbers, the same for a GPU and for the host code that takes its place in tests.
#pragma once

#include "nodes/psv/device/direct_job.h"
#include "nodes/psv/plane_shares.h"

namespace rimetree::psv::device {

/// Complex numbers that hold the conjugate adjoints of so many planes: one each, or those of the four correlations.
RT_HD constexpr int adjoint_components(int n_plane) { return n_plane == 8 ? 4 : n_plane; }

/// Some of the rows that share a side, i.e. a product of Jones terms at a time.
struct SidePiece {
  std::int32_t first, end;  ///< in the order of rows by their sides
  std::int32_t side;        ///< time * products + product
};

/// From conjugate adjoints of planes to sums over rows and channels for each source. A block has several sources (side
/// by side among its threads) and goes through the rows of a portion; what blocks have summed is added up afterwards.
struct AdjointJob {
  /// Sources, weights, rows, runs, channels and Jones terms of the sum whose adjoint this is, without `out`.
  DirectJob<double> sum;
  /// Conjugate adjoints, [row][component][channel of the launch]: of planes, or with eight planes of correlations.
  const Complex<double>* adjoint = nullptr;
  double* partial = nullptr;  ///< [portion][run][source][sum of a source]
  /// Of weights that vary along channels, [portion][stripe][source][channel of the launch][plane]; of sides that do,
  /// the same with XX XY YX YY, re and im; of sides that do not, [portion][run][source][XX XY YX YY, re and im].
  double* channel_partial = nullptr;
  /// Where the sums are those of one side of the Jones terms, in place of weights: the portions are pieces of it.
  const std::int32_t* order = nullptr;  ///< [row]: rows by their sides
  const SidePiece* piece = nullptr;     ///< [portion]
  bool right = false;                   ///< which side

  std::int32_t sources = 1;  ///< side by side in a block: a power of two; sources * sum.tiles() <= kThreads
  std::int32_t n_portion = 1, rows_per_portion = 0;
  std::int32_t row_stride = 0;  ///< of `adjoint`
  std::int32_t n_sum = 0;       ///< of a source in `partial`: weights (unless in `channel_partial`), positions, shapes
  bool weights = false, positions = false, shapes = false;  ///< which are asked for

  RT_HD bool sides() const { return piece != nullptr; }
  RT_HD bool spectra() const { return sum.n_weight_channel > 1 || sum.jones_vary(); }
  /// Of them, how many are in `partial`.
  RT_HD int weight_sums() const { return weights && !sides() && !spectra() ? sum.n_plane : 0; }
  RT_HD int stripes() const { return DeviceShape::kThreads / (sources * sum.tiles()); }
  /// Rows that a block stages at a time: as many pairs as there are threads.
  RT_HD int rows_per_stage() const { return DeviceShape::kThreads / sources; }
  std::int64_t partial_values() const { return std::int64_t{n_portion} * sum.n_run * sum.n_source * n_sum; }
  void count_sums() { n_sum = weight_sums() + (positions ? 3 : 0) + (shapes ? 6 : 0); }
  /// What `channel_partial` holds, so many groups of so many values.
  bool has_channel_partial() const { return weights && (spectra() || sides()); }
  std::int32_t channel_groups() const { return n_portion * groups(); }
  std::int32_t groups() const { return spectra() ? stripes() : sum.n_run; }  ///< groups of a portion
  RT_HD std::int64_t channel_values() const {
    return std::int64_t{sum.n_source} * (spectra() ? sum.n_out_channel : 1) * sum.n_plane;
  }
};

/// Adds up what blocks have summed, in order: total[value] (+)= sum over groups. With pieces of sides groups are parts
/// of these, and each side has a total of its own.
struct AddJob {
  const double* partial = nullptr;   ///< [group][value] or [piece][group][value]
  const SidePiece* piece = nullptr;  ///< or none: one side, the groups of which are its pieces
  double* total = nullptr;           ///< [side][value]
  std::int32_t n_piece = 0, n_group = 1, n_side = 1;
  std::int64_t n_value = 0;
  bool accumulate = false;

  RT_HD std::int32_t side_of(std::int64_t at) const { return piece == nullptr ? 0 : piece[at].side; }
  RT_HD std::int64_t n_thread() const { return (piece == nullptr ? 1 : n_piece) * n_value; }
  /// One value of the side that begins at a piece, if one does. `i`: [piece][value].
  RT_HD void thread(std::int64_t i) const {
    const std::int64_t value = i % n_value;
    std::int64_t at = i / n_value;
    const std::int32_t side = side_of(at);
    if (at > 0 && side_of(at - 1) == side) return;
    double sum = accumulate ? total[side * n_value + value] : 0;
    for (; at < n_piece && side_of(at) == side; ++at)
      for (std::int64_t group = 0; group < n_group; ++group) sum += partial[(at * n_group + group) * n_value + value];
    total[side * n_value + value] = sum;
  }
};

/// Compares visibilities with data: chi-square, and in place of the visibilities their conjugate adjoints.
struct CompareJob {
  const Complex<double>* data = nullptr;  ///< [row][XX XY YX YY][channel]
  const double* weight = nullptr;         ///< the same; 0 where a datum does not count
  Complex<double>* model = nullptr;       ///< the same
  double* partial = nullptr;              ///< [block][sum, what rounding took from it]
  double* total = nullptr;                ///< [sum, what rounding took]
  std::int32_t n_row = 0, n_channel = 0;  ///< of the launch
  double slope = 1;                       ///< of the objective with respect to chi-square
  bool accumulate = false;

  static constexpr int kCellsPerThread = 16;
  RT_HD std::int64_t n_cell() const { return std::int64_t{n_row} * n_channel; }
  RT_HD std::int32_t n_block() const {
    constexpr std::int64_t kPerBlock = std::int64_t{DeviceShape::kThreads} * kCellsPerThread;
    return static_cast<std::int32_t>((n_cell() + kPerBlock - 1) / kPerBlock);
  }
};

/// Conjugate adjoints of planes from those of correlations.
struct PlanesJob {
  const Complex<double>* correlations = nullptr;  ///< [row][XX XY YX YY][channel]
  Complex<double>* planes = nullptr;              ///< [row][plane][channel]
  std::int32_t n_row = 0, n_channel = 0, n_plane = 1;
  Plane plane[4] = {};

  RT_HD std::int64_t n_thread() const { return std::int64_t{n_row} * n_channel; }
  RT_HD void thread(std::int64_t cell) const {
    const std::int64_t row = cell / n_channel, channel = cell % n_channel;
    const Complex<double>* from = correlations + row * 4 * n_channel + channel;
    Complex<double>* to = planes + row * n_plane * n_channel + channel;
    for (int p = 0; p < n_plane; ++p) to[p * n_channel] = plane_adjoint(plane[p], from, n_channel);
  }
};

/// Calls f(array, number of elements) for each array that is there.
template <class F>
void for_each_array(AdjointJob& job, F&& f) {
  DirectJob<double>& sum = job.sum;
  for_each_array(sum, f);
  f(job.adjoint, std::int64_t{sum.n_row} * job.row_stride);
  if (job.n_sum > 0) f(job.partial, job.partial_values());
  if (job.has_channel_partial()) f(job.channel_partial, job.channel_groups() * job.channel_values());
  if (job.sides()) f(job.order, sum.n_row), f(job.piece, job.n_portion);
}
template <class F>
void for_each_array(AddJob& job, F&& f) {
  f(job.partial, job.n_value * job.n_group * job.n_piece);
  if (job.piece != nullptr) f(job.piece, job.n_piece);
  f(job.total, job.n_value * job.n_side);
}
template <class F>
void for_each_array(CompareJob& job, F&& f) {
  f(job.data, 4 * job.n_cell());
  f(job.weight, 4 * job.n_cell());
  f(job.model, 4 * job.n_cell());
  f(job.partial, std::int64_t{2} * job.n_block());
  f(job.total, std::int64_t{2});
}
template <class F>
void for_each_array(PlanesJob& job, F&& f) {
  f(job.correlations, std::int64_t{4} * job.n_row * job.n_channel);
  f(job.planes, std::int64_t{job.n_row} * job.n_plane * job.n_channel);
}

void launch(memory::Queue& queue, const AdjointJob& job);
void launch(memory::Queue& queue, const CompareJob& job);

}  // namespace rimetree::psv::device
