// The work of a block of threads of the adjoint kernel, in steps (runtime/device/block_kernel.h): for each stage of
// rows stage_adjoint and pull_stage, for each sum put_sum and take_sum.
//
// A thread has one source and one tile of channels, and goes through rows: its sums stay in registers, and nothing is
// added up between threads before the end.
#pragma once

#include "nodes/psv/device/adjoint_pull.h"

namespace rimetree::psv::device {

/// Takes the staged rows: a thread those of its stripe.
template <int kPlanes, bool kGeneral, bool kSpectra>
RT_HD void pull_stage(const AdjointJob& job, const AdjointBlock& block, int thread, int stage_row,
                      const StagedAdjoint<kGeneral>& from, SourceSums<kPlanes, kSpectra>& sums) {
  const AdjointThread place = place_of(job, thread);
  const DeviceRun& run = job.sum.run[block.run];
  const int source = block.first_source + place.source;
  if (source >= job.sum.n_source || place.tile >= run.n_tile) return;
  const int left = end_row(job, block) - stage_row;
  const int n_staged = left < job.rows_per_stage() ? left : job.rows_per_stage();
  const int first_channel = run.first - job.sum.first_channel + place.tile * DeviceShape::kChannels;
  for (int r = place.stripe; r < n_staged; r += job.stripes()) {
    const int row = row_number(job, stage_row + r);
    const Complex<double>* h = job.adjoint + std::int64_t{row} * job.row_stride + first_channel;
    pull_row<kPlanes, kGeneral, kSpectra>(
        job, {run, job.sum.row[row], source, r * job.sources + place.source, place.tile, h}, from, sums);
  }
}

/// All sums that a source may have: weights, positions, shapes.
template <int kPlanes, bool kSpectra>
inline constexpr int kSourceSums = (kSpectra ? 0 : kPlanes) + 3 + 6;

/// Where a block's sum of a source belongs; nowhere if it is not asked for.
template <int kPlanes, bool kSpectra>
RT_HD double* place_of_sum(const AdjointJob& job, const AdjointBlock& block, int source, int sum) {
  constexpr int kWeights = kSpectra ? 0 : kPlanes;
  const std::int64_t at = (std::int64_t{block.portion} * job.sum.n_run + block.run) * job.sum.n_source + source;
  if (sum < kWeights) {
    if (!job.weights) return nullptr;
    return job.sides() ? job.channel_partial + at * kPlanes + sum : job.partial + at * job.n_sum + sum;
  }
  const int rest = sum - kWeights;
  if (rest < 3) return job.positions ? job.partial + at * job.n_sum + job.weight_sums() + rest : nullptr;
  if (!job.shapes) return nullptr;
  return job.partial + at * job.n_sum + job.weight_sums() + (job.positions ? 3 : 0) + rest - 3;
}

/// One sum of all threads of a block to where they can be added up. `sum` is known when this is compiled: sums are in
/// registers.
template <int kPlanes, bool kSpectra>
RT_HD void put_sum(int thread, int sum, const SourceSums<kPlanes, kSpectra>& sums, double* shared) {
  constexpr int kWeights = kSpectra ? 0 : kPlanes;
  double value = 0;
  RT_UNROLL
  for (int i = 0; i < kWeights; ++i)
    if (sum == i) value = sums.weight[0][i];
  RT_UNROLL
  for (int i = 0; i < 3; ++i)
    if (sum == kWeights + i) value = sums.position[i];
  RT_UNROLL
  for (int i = 0; i < 6; ++i)
    if (sum == kWeights + 3 + i) value = sums.axes[i];
  shared[thread] = value;
}
/// The threads of a source, in order.
template <int kPlanes, bool kSpectra>
RT_HD void take_sum(const AdjointJob& job, const AdjointBlock& block, int thread, int sum, const double* shared) {
  const int source = block.first_source + thread;
  if (thread >= job.sources || source >= job.sum.n_source) return;
  double total = 0;
  for (int k = thread; k < DeviceShape::kThreads; k += job.sources) total += shared[k];
  *place_of_sum<kPlanes, kSpectra>(job, block, source, sum) = total;
}

/// Sums for each channel: each thread has its own.
template <int kPlanes>
RT_HD void store_spectra(const AdjointJob& job, const AdjointBlock& block, int thread,
                         const SourceSums<kPlanes, true>& sums) {
  const AdjointThread place = place_of(job, thread);
  const DeviceRun& run = job.sum.run[block.run];
  const int source = block.first_source + place.source, first = place.tile * DeviceShape::kChannels;
  if (source >= job.sum.n_source || place.tile >= run.n_tile) return;
  const std::int64_t group = std::int64_t{block.portion} * job.stripes() + place.stripe;
  double* to = job.channel_partial + group * job.channel_values() +
               (std::int64_t{source} * job.sum.n_out_channel + (run.first - job.sum.first_channel)) * kPlanes;
  RT_UNROLL
  for (int k = 0; k < DeviceShape::kChannels; ++k) {
    if (first + k >= run.count) break;
    for (int p = 0; p < kPlanes; ++p) to[(first + k) * kPlanes + p] = sums.weight[k][p];
  }
}

/// A block has some sources, a run of channels and a portion of the rows.
template <int kPlanes, bool kGeneral, bool kSpectra>
struct AdjointKernel {
  using Job = AdjointJob;
  struct Shared {
    StagedAdjoint<kGeneral> staged;
    double sum[DeviceShape::kThreads];
  };
  using Own = SourceSums<kPlanes, kSpectra>;
  static constexpr int kThreads = DeviceShape::kThreads;

  static BlockIndex grid(const Job& job) {
    return {(job.sum.n_source + job.sources - 1) / job.sources, job.sum.n_run, job.n_portion};
  }
  template <class Team>
  RT_HD static void run(const Job& job, BlockIndex at, Team& team) {
    const AdjointBlock block{at.x * job.sources, at.y, at.z};
    Shared& shared = team.shared();
    for (int row = first_row(job, block); row < end_row(job, block); row += job.rows_per_stage()) {
      team.each([&](int thread, Own&) { stage_adjoint(job, block, thread, row, shared.staged); });
      team.each([&](int thread, Own& sums) {
        pull_stage<kPlanes, kGeneral, kSpectra>(job, block, thread, row, shared.staged, sums);
      });
    }
    RT_UNROLL
    for (int sum = 0; sum < kSourceSums<kPlanes, kSpectra>; ++sum) {
      if (place_of_sum<kPlanes, kSpectra>(job, block, 0, sum) == nullptr) continue;
      team.each([&](int thread, Own& sums) { put_sum(thread, sum, sums, shared.sum); });
      team.each([&](int thread, Own&) { take_sum<kPlanes, kSpectra>(job, block, thread, sum, shared.sum); });
    }
    if constexpr (kSpectra)
      if (job.weights) team.each([&](int thread, Own& sums) { store_spectra(job, block, thread, sums); });
  }
};

template <class F>
void with_kernel(const AdjointJob& job, F&& f) {
  with_planes(job.sum.n_plane, [&]<int kPlanes>() {
    if (job.spectra())
      f.template operator()<AdjointKernel<kPlanes, true, true>>();
    else if (job.sum.general())
      f.template operator()<AdjointKernel<kPlanes, true, false>>();
    else
      f.template operator()<AdjointKernel<kPlanes, false, false>>();
  });
}

}  // namespace rimetree::psv::device
