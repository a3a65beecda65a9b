// The work of a block of threads of the PSV kernel, in steps (runtime/device/block_kernel.h):
// for each stage of sources, stage_pair (direct_stage.h) and accumulate, and at the end store. A thread keeps the sums
// of its channels in registers, and nothing else is kept.
#pragma once

#include "nodes/psv/device/direct_phasors.h"
#include "nodes/psv/plane_shares.h"
#include "runtime/device/block_kernel.h"

namespace rimetree::psv::device {

/// Sums of a thread. kPlanes of 1, 2 or 4: planes with real weights; 8: four correlations with complex ones.
template <class T, int kPlanes>
struct Sums {
  static constexpr int kCount = kPlanes == 8 ? 4 : kPlanes;
  Complex<T> sum[DeviceShape::kChannels][kCount] = {};
};
/// Singles over a block of sources, doubles over all of them.
template <int kPlanes>
struct Sums<float, kPlanes> {
  static constexpr int kCount = kPlanes == 8 ? 4 : kPlanes;
  Complex<float> sum[DeviceShape::kChannels][kCount] = {};
  Complex<double> total[DeviceShape::kChannels][kCount] = {};
  int n_added = 0;
};

/// sum[k] += weights * z, with real weights of planes or complex ones of correlations.
template <class T, int kPlanes>
RT_HD void add_weighted(const T* weight, Complex<T> z, Complex<T>* sum) {
  RT_UNROLL
  for (int i = 0; i < Sums<T, kPlanes>::kCount; ++i) {
    if constexpr (kPlanes == 8) {
      sum[i].re += weight[2 * i] * z.re - weight[2 * i + 1] * z.im;
      sum[i].im += weight[2 * i] * z.im + weight[2 * i + 1] * z.re;
    } else {
      sum[i].re += weight[i] * z.re;
      sum[i].im += weight[i] * z.im;
    }
  }
}

/// What is staged of some sources: pairs with each row of a block and, of several planes, their weights.
template <class T, int kPlanes, DirectKind kKind>
struct DirectStage {
  static constexpr int kWeights = kKind == DirectKind::kPlain && kPlanes > 1 ? kPlanes : 0;  ///< of a source
  Staged<T, kKind != DirectKind::kPlain> pairs;
  T weight[kWeights > 0 ? kWeights* DeviceShape::kThreads / DeviceShape::kLeastRows : 1];
};

/// What a thread adds staged sources to, and from where.
struct ThreadTile {
  std::int32_t row, tile;
  TileRotation place;
};

/// Adds a staged source, with the amplitudes and weights that kernels of this kind take.
template <DirectKind kKind, class T, int kPlanes>
RT_HD void add_source(const DirectJob<T>& job, const DeviceRun& run, const ThreadTile& at, int source, int pair,
                      const T* /*staged_weight*/, const Staged<T, true>& from, Sums<T, kPlanes>& sums) {
  Complex<T> z[DeviceShape::kChannels];
  general_phasors<kKind>(job, run, from, pair, at.tile, z);
  const bool jones = job.with_jones(), jones_vary = kKind == DirectKind::kGeneral && job.jones_vary();
  if (jones ? jones_vary : job.n_weight_channel > 1) {  // weights of their own for each channel
    const int first = at.tile * DeviceShape::kChannels;
    RT_UNROLL
    for (int k = 0; k < DeviceShape::kChannels; ++k) {
      if (first + k >= run.count) break;
      const int channel = run.first + first + k;
      if (jones_vary) {
        const Jones<T> b = corrupted(job, job.row[at.row], channel - job.first_channel, source);
        const T weight[8] = {b.xx.re, b.xx.im, b.xy.re, b.xy.im, b.yx.re, b.yx.im, b.yy.re, b.yy.im};
        add_weighted<T, kPlanes>(weight, z[k], sums.sum[k]);
      } else {
        add_weighted<T, kPlanes>(
            job.weight + (std::int64_t{source} * job.n_weight_channel + channel) * job.n_weight_plane, z[k],
            sums.sum[k]);
      }
    }
    return;
  }
  T weight[8] = {T(1)};
  if (jones) {
    RT_UNROLL
    for (int i = 0; i < 8; ++i) weight[i] = from.jones[i][pair];
  }
  // The weight of a single plane is part of the phasor already, but where channels are irregular.
  if (job.weight != nullptr && (kPlanes > 1 || !job.regular)) {
    RT_UNROLL
    for (int i = 0; i < kPlanes; ++i) weight[i] = job.weight[source * job.n_weight_plane + i];
  }
  RT_UNROLL
  for (int k = 0; k < DeviceShape::kChannels; ++k) add_weighted<T, kPlanes>(weight, z[k], sums.sum[k]);
}

/// The same where neither amplitudes nor weights depend on the channel. Phasors at equal distances from the middle of a
/// tile are z (c +- i s): sums of z c and of z s are all that is needed (unfold()), two multiply-adds per channel. They
/// take the places of the upper and the lower channel.
template <DirectKind, class T, int kPlanes>
RT_HD void add_source(const DirectJob<T>&, const DeviceRun&, const ThreadTile& at, int /*source*/, int pair,
                      const T* staged_weight, const Staged<T, false>& from, Sums<T, kPlanes>& sums) {
  constexpr int kHalf = DeviceShape::kChannels / 2, kCount = Sums<T, kPlanes>::kCount;
  const Complex<T> middle = tile_middle(from, pair, at.place);
  Complex<T> weighted[kCount] = {};
  if constexpr (kPlanes == 1)
    weighted[0] = middle;
  else
    add_weighted<T, kPlanes>(staged_weight, middle, weighted);
  Complex<T> rotation[kHalf];
  tile_rotations(from, pair, rotation);
  RT_UNROLL
  for (int k = 0; k < kHalf; ++k) {
    RT_UNROLL
    for (int i = 0; i < kCount; ++i) {
      Complex<T>&even = sums.sum[kHalf + k][i], &odd = sums.sum[kHalf - 1 - k][i];
      even.re += rotation[k].re * weighted[i].re;
      even.im += rotation[k].re * weighted[i].im;
      odd.re += rotation[k].im * weighted[i].re;
      odd.im += rotation[k].im * weighted[i].im;
    }
  }
}

template <int kPlanes>
RT_HD void flush(Sums<double, kPlanes>&, int, bool) {}
/// Moves the sums of a block of sources on to the totals.
template <int kPlanes>
RT_HD void flush(Sums<float, kPlanes>& sums, int n_source, bool last) {
  sums.n_added += n_source;
  if (!last && sums.n_added < DeviceShape::kBlockSources) return;
  sums.n_added = 0;
  RT_UNROLL
  for (int k = 0; k < DeviceShape::kChannels; ++k)
    for (int i = 0; i < Sums<float, kPlanes>::kCount; ++i) {
      sums.total[k][i] += Complex<double>(sums.sum[k][i].re, sums.sum[k][i].im);
      sums.sum[k][i] = {};
    }
}

/// Stages the weights of as many sources as a row of the block has threads.
template <class T, int kPlanes>
RT_HD void stage_weights(const DirectJob<T>& job, int thread, int first_source, T* to) {
  const int source = first_source + thread;
  if (thread >= job.stage_sources() || source >= job.n_source) return;
  RT_UNROLL
  for (int i = 0; i < kPlanes; ++i)
    to[thread * kPlanes + i] = job.weight[std::int64_t{source} * job.n_weight_plane + i];
}

/// Adds the staged sources that are the thread's to its sums.
template <class T, int kPlanes, DirectKind kKind>
RT_HD void accumulate(const DirectJob<T>& job, const DirectBlock& block, int thread, int first_source,
                      const DirectStage<T, kPlanes, kKind>& from, Sums<T, kPlanes>& sums) {
  const DirectThread place = place_of(job, thread);
  const DeviceRun& run = job.run[block.run];
  const int row = block.first_row + place.row, n_tile = run.n_tile;
  if (row >= job.n_row || place.tile >= n_tile) return;
  const ThreadTile at{row, place.tile, tile_rotation(n_tile, place.tile)};
  const int left = job.n_source - first_source, n_staged = left < job.stage_sources() ? left : job.stage_sources();
  const int step = job.groups(), first_pair = pair_of(job, place.row, place.group),
            next_pair = pair_of(job, place.row, place.group + step) - first_pair;
  for (int s = place.group, pair = first_pair; s < n_staged; s += step, pair += next_pair)
    add_source<kKind>(job, run, at, first_source + s, pair, from.weight + s * from.kWeights, from.pairs, sums);
  flush(sums, job.tiles(), false);
}

template <int kPlanes>
RT_HD auto& totals(Sums<double, kPlanes>& sums) {
  return sums.sum;
}
template <int kPlanes>
RT_HD auto& totals(Sums<float, kPlanes>& sums) {
  return sums.total;
}

/// Makes channels of the sums of z c and of z s.
template <class Sum, int kCount>
RT_HD void unfold(Sum (&sum)[DeviceShape::kChannels][kCount]) {
  constexpr int kHalf = DeviceShape::kChannels / 2;
  RT_UNROLL
  for (int k = 0; k < kHalf; ++k) {
    RT_UNROLL
    for (int i = 0; i < kCount; ++i) {
      Sum &above = sum[kHalf + k][i], &below = sum[kHalf - 1 - k][i];
      const Sum even = above, odd{-below.im, below.re};
      above = even + odd;
      below = even - odd;
    }
  }
}

/// Hands a channel's sums over to the thread of the same tile that has the first share of the sources.
template <class T, int kPlanes, class Exchange>
RT_HD void hand_over(const DirectJob<T>& job, int thread, int channel, Sums<T, kPlanes>& sums, Exchange& to) {
  if (place_of(job, thread).group == 0) return;
  RT_UNROLL
  for (int i = 0; i < Sums<T, kPlanes>::kCount; ++i) to[i][thread] = totals(sums)[channel][i];
}
template <class T, int kPlanes, class Exchange>
RT_HD void take_over(const DirectJob<T>& job, int thread, int channel, const Exchange& from, Sums<T, kPlanes>& sums) {
  if (place_of(job, thread).group != 0) return;
  RT_KEEP_ROLLED
  for (int group = 1; group < job.groups(); ++group) {
    RT_UNROLL
    for (int i = 0; i < Sums<T, kPlanes>::kCount; ++i)
      totals(sums)[channel][i] += from[i][thread + group * job.tiles()];
  }
}

/// Writes the thread's visibilities.
template <class T, int kPlanes, bool kGeneral>
RT_HD void store(const DirectJob<T>& job, const DirectBlock& block, int thread, Sums<T, kPlanes>& sums) {
  const DirectThread place = place_of(job, thread);
  const DeviceRun& run = job.run[block.run];
  const int row = block.first_row + place.row, first = place.tile * DeviceShape::kChannels;
  if (row >= job.n_row || place.tile >= run.n_tile || place.group > 0) return;
  if constexpr (!kGeneral) unfold(totals(sums));
  RT_UNROLL
  for (int k = 0; k < DeviceShape::kChannels; ++k) {
    if (first + k >= run.count) break;
    Complex<double> e[4];
    for (int i = 0; i < Sums<T, kPlanes>::kCount; ++i) {
      if constexpr (kPlanes == 8)
        e[i] = totals(sums)[k][i];
      else
        add_plane(job.plane[i], totals(sums)[k][i], e);
    }
    const int channel = run.first + first + k;
    const double scale = job.regular && job.smear_time ? job.channel[channel].middle_over_frequency : 1.0;
    Complex<double>* to = job.out + std::int64_t{row} * 4 * job.n_out_channel + (channel - job.first_channel);
    for (int i = 0; i < 4; ++i, to += job.n_out_channel) *to = job.accumulate ? *to + scale * e[i] : scale * e[i];
  }
}

/// What is staged of sources or, after the last of them, what threads hand over to each other. Where there is room for
/// two stages, threads stage the next one before they add the last, and wait for each other half as often.
template <class T, int kPlanes, DirectKind kKind>
struct DirectShared {
  using Stage = DirectStage<T, kPlanes, kKind>;
  static constexpr int kStages = kKind == DirectKind::kPlain ? 2 : 1;
  RT_HD DirectShared() {}
  union {
    Stage stage[kStages];
    Complex<double> exchange[Sums<T, kPlanes>::kCount][DeviceShape::kThreads];
  };
};

/// A block has some rows and a run of channels. kAntennas: the launch has the seeds of antennas.
template <class T, int kPlanes, DirectKind kKind, bool kAntennas>
struct DirectKernel {
  using Job = DirectJob<T>;
  using Shared = DirectShared<T, kPlanes, kKind>;
  using Stage = typename Shared::Stage;
  struct Own {
    Sums<T, kPlanes> sums;
    StagedPair pair;
  };
  static constexpr int kThreads = DeviceShape::kThreads;
  /// Twelve warps on a multiprocessor hide each other's waiting; sums of four planes would leave room for eight.
  static constexpr int kLeastBlocks = kKind == DirectKind::kPlain ? 384 / kThreads : 1;

  static BlockIndex grid(const Job& job) {
    return {(job.n_row + job.rows_per_block() - 1) / job.rows_per_block(), job.n_run, 1};
  }
  template <class Team>
  RT_HD static void run(const Job& job, BlockIndex at, Team& team) {
    const DirectBlock block{at.x * job.rows_per_block(), at.y};
    Shared& shared = team.shared();
    const int step = job.stage_sources();
    const auto stage = [&](int thread, int number, const StagedPair& pair) {
      Stage& to = shared.stage[number % Shared::kStages];
      stage_pair<kAntennas>(job, block, pair, number * step, to.pairs);
      if constexpr (Stage::kWeights > 0) stage_weights<T, kPlanes>(job, thread, number * step, to.weight);
    };
    const auto add = [&](int thread, int number, Own& own) {
      accumulate(job, block, thread, number * step, shared.stage[number % Shared::kStages], own.sums);
    };
    team.each_at_once([&](int thread, Own& own) { own.pair = staged_pair(job, block, thread); });
    if constexpr (Shared::kStages > 1) {
      team.each([&](int thread, Own& own) { stage(thread, 0, own.pair); });
      for (int number = 0; number * step < job.n_source; ++number) {
        team.each([&](int thread, Own& own) {
          stage(thread, number + 1, own.pair);
          add(thread, number, own);
        });
      }
    } else {
      for (int number = 0; number * step < job.n_source; ++number) {
        team.each([&](int thread, Own& own) { stage(thread, number, own.pair); });
        team.each([&](int thread, Own& own) { add(thread, number, own); });
      }
    }
    team.each([&](int, Own& own) { flush(own.sums, 0, true); });
    if (job.groups() > 1) {
      RT_UNROLL
      for (int k = 0; k < DeviceShape::kChannels; ++k) {
        team.each([&](int thread, Own& own) { hand_over(job, thread, k, own.sums, shared.exchange); });
        team.each([&](int thread, Own& own) { take_over(job, thread, k, shared.exchange, own.sums); });
      }
    }
    team.each(
        [&](int thread, Own& own) { store<T, kPlanes, kKind != DirectKind::kPlain>(job, block, thread, own.sums); });
  }
};

template <class T, class F>
void with_kernel(const DirectJob<T>& job, F&& f) {
  with_planes(job.n_plane, [&]<int kPlanes>() {
    const auto with_kind = [&]<DirectKind kKind>() {
      if (job.antenna_seed != nullptr) return f.template operator()<DirectKernel<T, kPlanes, kKind, true>>();
      return f.template operator()<DirectKernel<T, kPlanes, kKind, false>>();
    };
    switch (job.kind()) {
      case DirectKind::kPlain:
        return with_kind.template operator()<DirectKind::kPlain>();
      case DirectKind::kShaped:
        return with_kind.template operator()<DirectKind::kShaped>();
      case DirectKind::kGeneral:  // phasors of each channel: what a run begins with is the least of it
        return f.template operator()<DirectKernel<T, kPlanes, DirectKind::kGeneral, false>>();
    }
  });
}

}  // namespace rimetree::psv::device
