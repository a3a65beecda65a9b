// The work of a block of threads of the PSV kernel, in steps (runtime/device/block_kernel.h):
// for each stage of sources, stage_pair (direct_stage.h) and accumulate, and at the end store. A thread keeps the sums
// of its channels in registers, and nothing else is kept.
#pragma once

#include "nodes/psv/device/direct_stage.h"
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

/// A tile of a run, from its middle: outer rotation number and direction.
struct TileRotation {
  int outer;
  bool below;
};
RT_HD inline TileRotation tile_rotation(int n_tile, int tile) {
  const int half_tiles = 2 * tile + 1 - n_tile;
  return {(half_tiles < 0 ? -half_tiles : half_tiles) / 2, half_tiles < 0};
}

/// Phasor in the middle of a tile.
template <class T, bool kGeneral, int kThreads>
RT_HD Complex<T> tile_middle(const Staged<T, kGeneral, kThreads>& from, int pair, TileRotation place) {
  const Complex<T> outer = from.outer[place.outer][pair];
  return from.middle[pair] * Complex<T>{outer.re, place.below ? -outer.im : outer.im};
}

/// Phasors at the channels of a tile.
template <class T, bool kGeneral, int kThreads>
RT_HD void tile_phasors(const Staged<T, kGeneral, kThreads>& from, int pair, int n_tile, int tile,
                        Complex<T> (&z)[DeviceShape::kChannels]) {
  constexpr int kHalf = DeviceShape::kChannels / 2;
  const Complex<T> middle = tile_middle(from, pair, tile_rotation(n_tile, tile));
  if constexpr (sizeof(T) == 8) {
    const Complex<T> half = from.inner[0][pair];
    z[kHalf] = middle * half;
    z[kHalf - 1] = middle * conj(half);
    step_outwards(T(2) - T(4) * half.im * half.im, z);
  } else {
    RT_UNROLL
    for (int k = 0; k < kHalf; ++k) {
      const Complex<T> inner = from.inner[k][pair];
      z[kHalf + k] = middle * inner;
      z[kHalf - 1 - k] = middle * conj(inner);
    }
  }
}

/// Rotations from the middle of a tile to its upper channels.
template <class T, int kThreads>
RT_HD void tile_rotations(const Staged<T, false, kThreads>& from, int pair,
                          Complex<T> (&rotation)[DeviceShape::kChannels / 2]) {
  constexpr int kHalf = DeviceShape::kChannels / 2;
  if constexpr (sizeof(T) == 4) {
    RT_UNROLL
    for (int k = 0; k < kHalf; ++k) rotation[k] = from.inner[k][pair];
  } else {
    const Complex<T> half = from.inner[0][pair];
    const T step = T(2) - T(4) * half.im * half.im;
    rotation[0] = half;
    rotation[1] = step * half - conj(half);
    RT_UNROLL
    for (int k = 2; k < kHalf; ++k) rotation[k] = step * rotation[k - 1] - rotation[k - 2];
  }
}

/// The smearing's argument x at the two channels in the middle of a tile, as exp(i x) over the argument in the middle
/// of the run, and what steps on from there.
struct TileArguments {
  Complex<double> above, below;
  double step;
};
template <class T, int kThreads>
RT_HD TileArguments tile_arguments(const Staged<T, true, kThreads>& from, int pair, int n_tile, int tile) {
  Complex<double> middle = from.sine[pair];
  if (n_tile > 1) {
    const TileRotation place = tile_rotation(n_tile, tile);
    const Complex<double> outer = from.sine_outer[place.outer][pair];
    middle = middle * (place.below ? conj(outer) : outer);
  }
  const Complex<double> inner = from.sine_inner[pair];
  return {middle * inner, middle * conj(inner), 2 - 4 * inner.im * inner.im};
}

/// Smearing at the channels of a tile, times nu / middle; by the recurrence of sines.
RT_HD inline void tile_smearing(const TileArguments& from, double (&a)[DeviceShape::kChannels]) {
  constexpr int kHalf = DeviceShape::kChannels / 2;
  a[kHalf] = from.above.im, a[kHalf - 1] = from.below.im;
  step_outwards(from.step, a);
}

/// Multiplies by the taper G(X nu^2). The ratio of an exponential one from channel to channel has a constant ratio
/// itself.
RT_HD inline void taper_tile(Profile profile, const DeviceRun& run, int tile, double argument,
                             double (&a)[DeviceShape::kChannels]) {
  const double step = run.spacing_hz, nu = run.first_hz + (tile * DeviceShape::kChannels) * step;
  if (!is_exponential(profile)) {
    for (int k = 0; k < DeviceShape::kChannels; ++k) {
      const double nu_k = nu + k * step;
      a[k] *= taper_of(profile, argument * nu_k * nu_k);
    }
    return;
  }
  double taper = exp(-argument * nu * nu), ratio = exp(-argument * step * (2 * nu + step));
  const double change = exp(-2 * argument * step * step);
  RT_UNROLL
  for (int k = 0; k < DeviceShape::kChannels; ++k) {
    a[k] *= taper;
    taper *= ratio;
    ratio *= change;
  }
}

/// Phasor with all amplitudes at one channel, from nothing but the path: where channels are irregular.
template <class T, int kThreads>
RT_HD Complex<T> channel_phasor(const DirectJob<T>& job, const Staged<T, true, kThreads>& from, int pair, int channel) {
  const DeviceChannel& c = job.channel[channel];
  const DoubleDouble<double> path{from.path[0][pair], from.path[1][pair]};
  Complex<double> z = turn(reduced_turns(path, DoubleDouble<double>{c.turns_high, c.turns_low}));
  if (job.smear_frequency) z = z * smearing(2 * kPi * c.width_per_metre * path.hi);
  if (job.smear_time) z = z * smearing(2 * kPi * c.frequency_hz * from.change[pair]);
  if (job.taper()) z = z * taper_of(job.profile, from.taper[pair] * c.frequency_hz * c.frequency_hz);
  return {static_cast<T>(z.re), static_cast<T>(z.im)};
}

/// Turns phasors on a regular run by what frequencies are off, rotations so small that they are 1 + i x.
template <class T>
RT_HD void turn_by_residuals(const DirectJob<T>& job, const DeviceRun& run, double path, int tile,
                             Complex<T> (&z)[DeviceShape::kChannels]) {
  const int first = tile * DeviceShape::kChannels;
  for (int k = 0; k < DeviceShape::kChannels && first + k < run.count; ++k) {
    const T x = static_cast<T>(2 * kPi * path * job.channel[run.first + first + k].residual);
    z[k] = {z[k].re - x * z[k].im, z[k].im + x * z[k].re};
  }
}

template <class T, int kThreads>
RT_HD void general_phasors(const DirectJob<T>& job, const DeviceRun& run, const Staged<T, true, kThreads>& from,
                           int pair, int tile, Complex<T> (&z)[DeviceShape::kChannels]) {
  const int first = tile * DeviceShape::kChannels;
  if (!job.regular) {
    // With the weight of a single plane, which stage_pair puts into the phasor of regular runs, left to add_source.
    for (int k = 0; k < DeviceShape::kChannels; ++k)
      z[k] = first + k < run.count ? channel_phasor(job, from, pair, run.first + first + k) : Complex<T>();
    return;
  }
  tile_phasors(from, pair, run.n_tile, tile, z);
  if (job.residual) turn_by_residuals(job, run, from.path[0][pair], tile, z);
  if (!job.smear_time && !job.taper()) return;
  double a[DeviceShape::kChannels];
  if (job.smear_time) {
    tile_smearing(tile_arguments(from, pair, run.n_tile, tile), a);
  } else {
    for (double& one : a) one = 1;
  }
  if (job.taper()) taper_tile(job.profile, run, tile, from.taper[pair], a);
  RT_UNROLL
  for (int k = 0; k < DeviceShape::kChannels; ++k) z[k] = z[k] * static_cast<T>(a[k]);
}

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

/// What a thread adds staged sources to, and from where.
struct ThreadTile {
  std::int32_t row, tile;
  TileRotation place;
};

/// Adds a staged source, whatever amplitudes and weights it has.
template <class T, int kPlanes, int kThreads>
RT_HD void add_source(const DirectJob<T>& job, const DeviceRun& run, const ThreadTile& at, int source, int pair,
                      const Staged<T, true, kThreads>& from, Sums<T, kPlanes>& sums) {
  Complex<T> z[DeviceShape::kChannels];
  general_phasors(job, run, from, pair, at.tile, z);
  const bool jones = job.left.value != nullptr;
  if (jones ? job.jones_vary() : job.n_weight_channel > 1) {  // weights of their own for each channel
    const int first = at.tile * DeviceShape::kChannels;
    RT_UNROLL
    for (int k = 0; k < DeviceShape::kChannels; ++k) {
      if (first + k >= run.count) break;
      const int channel = run.first + first + k;
      if (jones) {
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
  if (jones)
    for (int i = 0; i < 8; ++i) weight[i] = from.jones[i][pair];
  // The weight of a single plane is part of the phasor already, but where channels are irregular.
  if (job.weight != nullptr && (kPlanes > 1 || !job.regular))
    for (int i = 0; i < kPlanes; ++i) weight[i] = job.weight[source * job.n_weight_plane + i];
  RT_UNROLL
  for (int k = 0; k < DeviceShape::kChannels; ++k) add_weighted<T, kPlanes>(weight, z[k], sums.sum[k]);
}

/// The same where neither amplitudes nor weights depend on the channel. Phasors at equal distances from the middle of a
/// tile are z (c +- i s): sums of z c and of z s are all that is needed (unfold()), two multiply-adds per channel. They
/// take the places of the upper and the lower channel.
template <class T, int kPlanes, int kThreads>
RT_HD void add_source(const DirectJob<T>& job, const DeviceRun&, const ThreadTile& at, int source, int pair,
                      const Staged<T, false, kThreads>& from, Sums<T, kPlanes>& sums) {
  constexpr int kHalf = DeviceShape::kChannels / 2, kCount = Sums<T, kPlanes>::kCount;
  const Complex<T> middle = tile_middle(from, pair, at.place);
  Complex<T> weighted[kCount] = {};
  if constexpr (kPlanes == 1)
    weighted[0] = middle;
  else
    add_weighted<T, kPlanes>(job.weight + source * job.n_weight_plane, middle, weighted);
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

/// Adds the staged sources to the thread's sums.
template <class T, int kPlanes, bool kGeneral, int kThreads>
RT_HD void accumulate(const DirectJob<T>& job, const DirectBlock& block, int thread, int first_source,
                      const Staged<T, kGeneral, kThreads>& from, Sums<T, kPlanes>& sums) {
  const DirectThread place = place_of(job, thread);
  const DeviceRun& run = job.run[block.run];
  const int row = block.first_row + place.row, n_tile = run.n_tile;
  if (row >= job.n_row || place.tile >= n_tile) return;
  const ThreadTile at{row, place.tile, tile_rotation(n_tile, place.tile)};
  const int left = job.n_source - first_source, n_staged = left < job.tiles() ? left : job.tiles();
  const int first_pair = pair_of(job, place.row, 0), next_pair = pair_of(job, place.row, 1) - first_pair;
  for (int s = 0, pair = first_pair; s < n_staged; ++s, pair += next_pair)
    add_source(job, run, at, first_source + s, pair, from, sums);
  flush(sums, n_staged, false);
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

/// Writes the thread's visibilities.
template <class T, int kPlanes, bool kGeneral>
RT_HD void store(const DirectJob<T>& job, const DirectBlock& block, int thread, Sums<T, kPlanes>& sums) {
  const DirectThread place = place_of(job, thread);
  const DeviceRun& run = job.run[block.run];
  const int row = block.first_row + place.row, first = place.tile * DeviceShape::kChannels;
  if (row >= job.n_row || place.tile >= run.n_tile) return;
  flush(sums, 0, true);
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

/// A block has some rows and a run of channels.
template <class T, int kPlanes, bool kGeneral, int kBlockThreads>
struct DirectKernel {
  using Job = DirectJob<T>;
  using Shared = Staged<T, kGeneral, kBlockThreads>;
  using Own = Sums<T, kPlanes>;
  static constexpr int kThreads = kBlockThreads;

  static BlockIndex grid(const Job& job) {
    return {(job.n_row + job.rows_per_block() - 1) / job.rows_per_block(), job.n_run, 1};
  }
  template <class Team>
  RT_HD static void run(const Job& job, BlockIndex at, Team& team) {
    const DirectBlock block{at.x * job.rows_per_block(), at.y};
    Shared& staged = team.shared();
    for (int first = 0; first < job.n_source; first += job.tiles()) {
      team.each([&](int thread, Own&) { stage_pair(job, block, thread, first, staged); });
      team.each([&](int thread, Own& sums) { accumulate(job, block, thread, first, staged, sums); });
    }
    team.each([&](int thread, Own& sums) { store<T, kPlanes, kGeneral>(job, block, thread, sums); });
  }
};

template <class T, class F>
void with_kernel(const DirectJob<T>& job, F&& f) {
  const auto with_threads = [&]<int kPlanes, bool kGeneral>() {
    switch (job.threads) {
      case 64:
        return f.template operator()<DirectKernel<T, kPlanes, kGeneral, 64>>();
      case 256:
        return f.template operator()<DirectKernel<T, kPlanes, kGeneral, 256>>();
      default:
        return f.template operator()<DirectKernel<T, kPlanes, kGeneral, 128>>();
    }
  };
  with_planes(job.n_plane, [&]<int kPlanes>() {
    job.general() ? with_threads.template operator()<kPlanes, true>()
                  : with_threads.template operator()<kPlanes, false>();
  });
}

}  // namespace rimetree::psv::device
