// Which sources, channels and rows a block of threads of the adjoint kernel has, and what it stages of them.
#pragma once

#include "nodes/psv/device/adjoint_job.h"
#include "nodes/psv/device/direct_stage.h"

namespace rimetree::psv::device {

/// Staged pairs of sources and rows, as in the forward kernel, but without weights and with the bandwidth smearing and
/// its derivative with respect to the path by themselves.
template <bool kGeneral>
struct StagedAdjoint : Staged<double, kGeneral> {
  double band[2][Staged<double, kGeneral>::kPairs];
};

/// Where a thread of a block is. Sources are side by side, so that neighbouring threads read the same adjoints.
struct AdjointThread {
  std::int32_t source;  ///< within the block
  std::int32_t tile;    ///< of the run
  std::int32_t stripe;  ///< it takes every stripes()-th row
};
RT_HD inline AdjointThread place_of(const AdjointJob& job, int thread) {
  const int rest = thread / job.sources;
  return {thread % job.sources, rest % job.sum.tiles(), rest / job.sum.tiles()};
}

/// Which sources, channels and rows a block has.
struct AdjointBlock {
  std::int32_t first_source = 0;
  std::int32_t run = 0;
  std::int32_t portion = 0;
};
RT_HD inline int first_row(const AdjointJob& job, const AdjointBlock& block) {
  return job.sides() ? job.piece[block.portion].first : block.portion * job.rows_per_portion;
}
RT_HD inline int end_row(const AdjointJob& job, const AdjointBlock& block) {
  if (job.sides()) return job.piece[block.portion].end;
  const int end = first_row(job, block) + job.rows_per_portion;
  return end < job.sum.n_row ? end : job.sum.n_row;
}
/// The row that is the i-th one in the order in which blocks take them.
RT_HD inline int row_number(const AdjointJob& job, int i) { return job.sides() ? job.order[i] : i; }

/// Stages the pair of a thread: a source of the block as row `stage_row` + thread / sources sees it.
template <bool kGeneral>
RT_HD void stage_adjoint(const AdjointJob& job, const AdjointBlock& block, int thread, int stage_row,
                         StagedAdjoint<kGeneral>& to) {
  const int source = block.first_source + thread % job.sources, i = stage_row + thread / job.sources;
  if (source >= job.sum.n_source || i >= end_row(job, block)) return;
  const DeviceRun& run = job.sum.run[block.run];
  const DeviceRow& row = job.sum.row[row_number(job, i)];
  const DeviceSource& s = job.sum.source[source];
  const DoubleDouble<double> path = path_of<double>(s, row.u, row.v, row.w);
  if (!kGeneral || job.sum.regular) stage_phasor(run, seed_of<double>(run, path), 1.0, thread, to);
  if constexpr (kGeneral) stage_amplitudes(job.sum, run, row, s, path, thread, to);
  Dual<double> band{1.0, 0.0};
  if (job.sum.regular && job.sum.smear_frequency) {
    const double b = kPi * run.width_per_metre;
    band = sinc(Dual<double>{b * path.hi, b});
  }
  to.band[0][thread] = band.v;
  to.band[1][thread] = band.d;
  if constexpr (kGeneral)
    if (job.sum.with_jones() && !job.sum.jones_vary()) stage_jones(corrupted(job.sum, row, 0, source), thread, to);
}

}  // namespace rimetree::psv::device
