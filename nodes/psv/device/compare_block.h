// The work of a block of threads of the kernels that go with the adjoint one: visibilities against data, conjugate
// adjoints of planes, and what blocks have summed. Sums are formed in a fixed order.
#pragma once

#include "nodes/psv/device/adjoint_job.h"
#include "runtime/math/double_double.h"

namespace rimetree::psv {

/// A sum and what rounding took from it.
struct ExactSum {
  double sum = 0, lost = 0;
  RT_HD void add(double x) {
    const DoubleDouble<double> s = exact::sum(sum, x);
    sum = s.hi;
    lost += s.lo;
  }
  RT_HD void add(const double* other) {
    add(other[0]);
    lost += other[1];
  }
};

/// The cells of a thread: |data - model|^2, and the conjugate adjoint of each model visibility in its place.
RT_HD inline void compare(const DeviceCompareJob& job, int block, int thread, double* shared) {
  ExactSum sum;
  for (int i = 0; i < DeviceCompareJob::kCellsPerThread; ++i) {
    const std::int64_t cell =
        (std::int64_t{block} * DeviceCompareJob::kCellsPerThread + i) * DeviceShape::kThreads + thread;
    if (cell >= job.n_cell()) break;
    const std::int64_t row = cell / job.n_out_channel, channel = cell % job.n_out_channel;
    for (int e = 0; e < 4; ++e) {
      const std::int64_t at = (row * 4 + e) * job.n_channel + job.first_channel + channel;
      Complex<double>& model = job.model[(row * 4 + e) * job.n_out_channel + channel];
      const double w = job.weight[at];
      if (w == 0) {
        model = {};
        continue;
      }
      const Complex<double> r = job.data[at] - model;
      sum.add(w * (r.re * r.re + r.im * r.im));
      const double slope = -2 * job.slope * w;
      model = {slope * r.re, -slope * r.im};
    }
  }
  shared[2 * thread] = sum.sum;
  shared[2 * thread + 1] = sum.lost;
}
/// What the threads of a block have, by its first one.
RT_HD inline void compare_block(const DeviceCompareJob& job, int block, int thread, const double* shared) {
  if (thread != 0) return;
  ExactSum sum;
  for (int k = 0; k < DeviceShape::kThreads; ++k) sum.add(shared + 2 * k);
  job.partial[2 * std::int64_t{block}] = sum.sum;
  job.partial[2 * std::int64_t{block} + 1] = sum.lost;
}

/// What all blocks have, by one block: each thread every kThreads-th, then the first thread all of them.
RT_HD inline void collect(const DeviceCompareJob& job, int thread, double* shared) {
  ExactSum sum;
  for (int k = thread; k < job.n_block(); k += DeviceShape::kThreads) sum.add(job.partial + 2 * std::int64_t{k});
  shared[2 * thread] = sum.sum;
  shared[2 * thread + 1] = sum.lost;
}
RT_HD inline void collect_total(const DeviceCompareJob& job, int thread, const double* shared) {
  if (thread != 0) return;
  ExactSum sum;
  if (job.accumulate) sum = {job.total[0], job.total[1]};
  for (int k = 0; k < DeviceShape::kThreads; ++k) sum.add(shared + 2 * k);
  job.total[0] = sum.sum;
  job.total[1] = sum.lost;
}

/// The conjugate adjoints of the planes from those of the correlations, on one cell: the transpose of add_plane.
RT_HD inline Complex<double> plane_adjoint(Plane plane, const Complex<double>* c, std::int64_t stride) {
  switch (plane) {
    case Plane::kI:
      return c[0] + c[3 * stride];
    case Plane::kQ:
      return c[0] - c[3 * stride];
    case Plane::kU:
      return c[stride] + c[2 * stride];
    case Plane::kV: {
      const Complex<double> d = c[stride] - c[2 * stride];
      return {-d.im, d.re};
    }
    default: {
      const int i = static_cast<int>(plane) - static_cast<int>(Plane::kXxRe);
      const Complex<double> d = c[i / 2 * stride];
      return i % 2 == 0 ? d : Complex<double>{-d.im, d.re};
    }
  }
}
RT_HD inline void plane_adjoints(const DevicePlanesJob& job, std::int64_t cell) {
  if (cell >= std::int64_t{job.n_row} * job.n_channel) return;
  const std::int64_t row = cell / job.n_channel, channel = cell % job.n_channel;
  const Complex<double>* from = job.correlations + row * 4 * job.n_channel + channel;
  Complex<double>* to = job.planes + row * job.n_plane * job.n_channel + channel;
  for (int p = 0; p < job.n_plane; ++p) to[p * job.n_channel] = plane_adjoint(job.plane[p], from, job.n_channel);
}

/// One value of a side that begins at a piece. `at`: [piece][value].
RT_HD inline void add_pieces(const DeviceSideAddJob& job, std::int64_t at) {
  const std::int64_t value = at % job.n_value;
  std::int64_t piece = at / job.n_value;
  if (piece >= job.n_piece) return;
  const std::int32_t side = job.piece[piece].side;
  if (piece > 0 && job.piece[piece - 1].side == side) return;
  double sum = job.total[side * job.n_value + value];
  for (; piece < job.n_piece && job.piece[piece].side == side; ++piece)
    for (std::int64_t part = 0; part < job.n_part; ++part)
      sum += job.partial[(piece * job.n_part + part) * job.n_value + value];
  job.total[side * job.n_value + value] = sum;
}

/// One value of all groups.
RT_HD inline void add_groups(const DeviceAddJob& job, std::int64_t value) {
  if (value >= job.n_value) return;
  double sum = job.accumulate ? job.total[value] : 0;
  for (std::int64_t group = 0; group < job.n_group; ++group) sum += job.partial[group * job.n_value + value];
  job.total[value] = sum;
}

}  // namespace rimetree::psv
