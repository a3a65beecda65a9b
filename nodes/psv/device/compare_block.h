// The work of a block of threads that compares visibilities with data. Sums are formed in a fixed order.
#pragma once

#include "nodes/psv/device/adjoint_job.h"
#include "runtime/device/block_kernel.h"
#include "runtime/math/double_double.h"

namespace rimetree::psv::device {

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
RT_HD inline void compare(const CompareJob& job, int block, int thread, double* shared) {
  ExactSum sum;
  for (int i = 0; i < CompareJob::kCellsPerThread; ++i) {
    const std::int64_t cell = (std::int64_t{block} * CompareJob::kCellsPerThread + i) * DeviceShape::kThreads + thread;
    if (cell >= job.n_cell()) break;
    const std::int64_t row = cell / job.n_channel, channel = cell % job.n_channel;
    for (int e = 0; e < 4; ++e) {
      const std::int64_t at = (row * 4 + e) * job.n_channel + channel;
      Complex<double>& model = job.model[at];
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
RT_HD inline void compare_block(const CompareJob& job, int block, int thread, const double* shared) {
  if (thread != 0) return;
  ExactSum sum;
  for (int k = 0; k < DeviceShape::kThreads; ++k) sum.add(shared + 2 * k);
  job.partial[2 * std::int64_t{block}] = sum.sum;
  job.partial[2 * std::int64_t{block} + 1] = sum.lost;
}

/// What all blocks have, by one block: each thread every kThreads-th, then the first thread all of them.
RT_HD inline void collect(const CompareJob& job, int thread, double* shared) {
  ExactSum sum;
  for (int k = thread; k < job.n_block(); k += DeviceShape::kThreads) sum.add(job.partial + 2 * std::int64_t{k});
  shared[2 * thread] = sum.sum;
  shared[2 * thread + 1] = sum.lost;
}
RT_HD inline void collect_total(const CompareJob& job, int thread, const double* shared) {
  if (thread != 0) return;
  ExactSum sum;
  if (job.accumulate) sum = {job.total[0], job.total[1]};
  for (int k = 0; k < DeviceShape::kThreads; ++k) sum.add(shared + 2 * k);
  job.total[0] = sum.sum;
  job.total[1] = sum.lost;
}

struct CompareKernelShape {
  using Job = CompareJob;
  struct Shared {
    double sum[2 * DeviceShape::kThreads];
  };
  using Own = NothingOwn;
  static constexpr int kThreads = DeviceShape::kThreads;
};
struct CompareKernel : CompareKernelShape {
  static BlockIndex grid(const Job& job) { return {job.n_block(), 1, 1}; }
  template <class Team>
  RT_HD static void run(const Job& job, BlockIndex at, Team& team) {
    team.each([&](int thread, Own&) { compare(job, at.x, thread, team.shared().sum); });
    team.each([&](int thread, Own&) { compare_block(job, at.x, thread, team.shared().sum); });
  }
};
struct CollectKernel : CompareKernelShape {
  static BlockIndex grid(const Job&) { return {1, 1, 1}; }
  template <class Team>
  RT_HD static void run(const Job& job, BlockIndex, Team& team) {
    team.each([&](int thread, Own&) { collect(job, thread, team.shared().sum); });
    team.each([&](int thread, Own&) { collect_total(job, thread, team.shared().sum); });
  }
};

template <class F>
void with_kernel(const CompareJob&, F&& f) {
  f.template operator()<CompareKernel>();
  f.template operator()<CollectKernel>();
}

}  // namespace rimetree::psv::device
