// What a block of threads stages for one (source, row) pair: the phasor in the middle of a run of channels, the
// rotations from there to the middles of tiles and on to channels, and the beginnings of amplitudes. One body for a
// GPU's threads and for the host.
#pragma once

#include "nodes/psv/device/direct_job.h"

namespace rimetree::psv::device {

RT_HD inline Complex<double> square(Complex<double> z) { return {z.re * z.re - z.im * z.im, (2 * z.re) * z.im}; }

/// exp(2 pi i turns / 2^32) by the series of sine and cosine up to an eighth of a turn, to 1e-7.
RT_HD inline Complex<float> turn_of(std::uint32_t turns) {
  const std::uint32_t quarter = (turns + 0x20000000u) >> 30;
  const float x =
      static_cast<float>(static_cast<std::int32_t>(turns - (quarter << 30))) * static_cast<float>(kPi / 2 * 0x1p-30);
  const float x2 = x * x;
  const float sine = x + x * x2 * (-1.0f / 6 + x2 * (1.0f / 120 + x2 * (-1.0f / 5040 + x2 * (1.0f / 362880))));
  const float cosine = 1.0f + x2 * (-0.5f + x2 * (1.0f / 24 + x2 * (-1.0f / 720 + x2 * (1.0f / 40320))));
  const bool swapped = (quarter & 1) != 0;
  const float re = swapped ? sine : cosine, im = swapped ? cosine : sine;
  return {((quarter + 1) & 2) != 0 ? -re : re, (quarter & 2) != 0 ? -im : im};
}

inline constexpr int kHalfTiles = DeviceShape::kMostTiles / 2;

/// Staged pairs, each array [..][pair]. kGeneral: with amplitudes, irregular channels and Jones terms.
template <class T, bool kGeneral>
struct Staged {
  static constexpr int kPairs = DeviceShape::kPairs;
  // Doubles step from channel to channel by the cosine of a step, singles turn by a rotation of their own for each.
  static constexpr int kSteps = sizeof(T) == 8 ? 1 : DeviceShape::kChannels / 2;
  PairedComplex<T> middle[kPairs];
  PairedComplex<T> outer[kHalfTiles][kPairs];
  PairedComplex<T> inner[kSteps][kPairs];
};
template <class T>
struct Staged<T, true> : Staged<T, false> {
  static constexpr int kPairs = DeviceShape::kPairs;
  double path[2][kPairs];              ///< metres, high and low part
  double change[kPairs];               ///< of the path over the exposure, over c: turns per hertz
  double taper[kPairs];                ///< X of G(X nu^2), see taper_argument()
  PairedComplex<double> sine[kPairs];  ///< cos and sin of the smearing's argument in the middle, over that argument
  PairedComplex<double> sine_outer[kHalfTiles][kPairs], sine_inner[kPairs];
  T jones[8][kPairs];  ///< re and im of J_p B J_q^H, where it does not vary along channels
};

/// Which rows and channels a block has.
struct DirectBlock {
  std::int32_t first_row = 0;
  std::int32_t run = 0;
};
struct DirectThread {
  std::int32_t row;    ///< within the block
  std::int32_t group;  ///< it takes every groups()-th source of a stage
  std::int32_t tile;   ///< of the run
};
template <class T>
RT_HD DirectThread place_of(const DirectJob<T>& job, int thread) {
  const int rest = thread >> job.tile_bits;
  return {rest >> job.group_bits, rest & (job.groups() - 1), thread & (job.tiles() - 1)};
}
/// Rows side by side, so that threads of neighbouring rows read without conflict; one more per source, so that they
/// write without.
template <class T>
RT_HD int pair_of(const DirectJob<T>& job, int row, int source) {
  return source * (job.rows_per_block() + 1) + row;
}

/// Rotations by an odd (n_tile even) or even number of half tiles, from those of one half tile.
template <class T, int kPairs>
RT_HD void stage_outer(Complex<double> half_tile, int n_tile, PairedComplex<T> (*to)[kPairs], int pair) {
  const Complex<double> tile = square(half_tile);
  Complex<double> r = n_tile % 2 == 0 ? half_tile : Complex<double>(1.0);
  RT_UNROLL
  for (int j = 0; j < kHalfTiles; ++j) {
    if (2 * j >= n_tile) break;
    to[j][pair] = r;
    r = r * tile;
  }
}

/// Phasor in the middle of the run, and rotations from there.
template <bool kGeneral>
RT_HD void stage_phasor(const DeviceRun& run, const Seed<double>& from, double amplitude, int pair,
                        Staged<double, kGeneral>& to) {
  to.middle[pair] = amplitude * from.middle;
  to.inner[0][pair] = from.half_step;
  // Half a tile is eight half steps.
  stage_outer(square(square(square(from.half_step))), run.n_tile, to.outer, pair);
}

/// Over 1, 3, 5 and 7 units, from those over 1, 4 and 8. Each is the product of two rotations at most, so that rounding
/// errors do not add up.
template <int kPairs>
RT_HD void stage_odd(Complex<float> one, Complex<float> four, Complex<float> eight, PairedComplex<float> (*to)[kPairs],
                     int pair) {
  to[0][pair] = one;
  to[1][pair] = four * conj(one);
  to[2][pair] = four * one;
  to[3][pair] = eight * conj(one);
}

template <bool kGeneral>
RT_HD void stage_phasor(const DeviceRun& run, const Seed<float>& from, double amplitude, int pair,
                        Staged<float, kGeneral>& to) {
  to.middle[pair] = (static_cast<float>(amplitude) + from.finite) * turn_of(from.middle);
  const std::uint32_t half_step = from.half_step, half_tile = 8 * half_step;
  const Complex<float> eight = turn_of(half_tile);
  stage_odd(turn_of(half_step), turn_of(4 * half_step), eight, to.inner, pair);
  if (run.n_tile % 2 == 0) return stage_odd(eight, turn_of(4 * half_tile), turn_of(8 * half_tile), to.outer, pair);
  for (int j = 0; 2 * j < run.n_tile; ++j) to.outer[j][pair] = turn_of(2 * static_cast<std::uint32_t>(j) * half_tile);
}

/// Time smearing sinc(x), x = pi change nu: sines of x at the channels, over x in the middle of the run. What is left,
/// a factor of middle / nu, is common to all sources.
template <class T>
RT_HD void stage_smearing(const DeviceRun& run, double change, int pair, Staged<T, true>& to) {
  // Sinc is even, and 1 to the last bit for arguments as small as this: no smearing needs no case of its own.
  // What is no number stays none.
  const double turn = abs(kPi * change * run.middle_hz), x = turn < 1e-9 ? 1e-9 : turn;
  const double half = 0.5 * x * (run.spacing_hz / run.middle_hz);
  to.sine[pair] = Complex<double>{cos(x) / x, sin(x) / x};
  const Complex<double> inner{cos(half), sin(half)};
  to.sine_inner[pair] = inner;
  if (run.n_tile > 1) stage_outer(square(square(square(inner))), run.n_tile, to.sine_outer, pair);
}

/// X of the taper G(X nu^2) of a shape (runtime/math/profile.h), nu in hertz.
RT_HD inline double taper_argument(Profile profile, const DeviceSource& s, const DeviceRow& row, double lowest_hz) {
  const double along = s.axes.along(row.u, row.v, row.w), across = s.axes.across(row.u, row.v, row.w);
  const double x = argument_scale(profile) * (along * along + across * across);
  // Beyond exp(-80) nothing is left to lose, and ratios of neighbouring channels stay within range.
  const bool is_limited = is_exponential(profile) && lowest_hz > 0 && x > 80 / (lowest_hz * lowest_hz);
  return is_limited ? 80 / (lowest_hz * lowest_hz) : x;
}

/// The two factors J_p B and J_q^H of what a row sees of a source, at a channel of the launch.
template <class T>
RT_HD Jones<T> left_side(const DirectJob<T>& job, const DeviceRow& row, int channel, int source) {
  const Jones<T> left = jones_at(job.left, row.left, row.time, channel, source);
  if (job.brightness == nullptr) return left;
  const Complex<T>* b = job.brightness + 4 * source;
  return left * Jones<T>{b[0], b[1], b[2], b[3]};
}
template <class T>
RT_HD Jones<T> right_side(const DirectJob<T>& job, const DeviceRow& row, int channel, int source) {
  return jones_at(job.right, row.right, row.time, channel, source);
}
template <class T>
RT_HD Jones<T> corrupted(const DirectJob<T>& job, const DeviceRow& row, int channel, int source) {
  return left_side(job, row, channel, source) * right_side(job, row, channel, source);
}

/// What the amplitudes that vary along channels start from. `path`: metres.
template <class T>
RT_HD void stage_amplitudes(const DirectJob<T>& job, const DeviceRun& run, const DeviceRow& row, const DeviceSource& s,
                            const DoubleDouble<double>& path, int pair, Staged<T, true>& to) {
  const double change = path_difference_m(row.du, row.dv, row.dw, s.l, s.m, s.n_high) * row.exposure;
  if (job.taper()) to.taper[pair] = taper_argument(job.profile, s, row, job.regular ? run.lowest_hz : 0.0);
  if (job.regular && job.smear_time) stage_smearing(run, change, pair, to);
  to.path[0][pair] = path.hi;
  to.path[1][pair] = path.lo;
  to.change[pair] = change;
}

template <class T>
RT_HD void stage_jones(const Jones<T>& b, int pair, Staged<T, true>& to) {
  for_each_element(b, [&](int i, Complex<T> z) { to.jones[2 * i][pair] = z.re, to.jones[2 * i + 1][pair] = z.im; });
}

/// The pair of a source and a row that a thread stages, the same row in each stage: as many sources as there are
/// threads for each row of the block.
struct StagedPair {
  std::int32_t in_stage;  ///< number of the source within a stage
  std::int32_t row;       ///< -1: none is left
  std::int32_t pair;      ///< where it is staged
  std::int32_t p, q;      ///< the row's antennas
};
template <class T>
RT_HD StagedPair staged_pair(const DirectJob<T>& job, const DirectBlock& block, int thread) {
  const int in_stage = thread & (job.stage_sources() - 1), in_block = place_of(job, thread).row;
  const int row = block.first_row + in_block;
  if (row >= job.n_row) return {in_stage, -1, 0, 0, 0};
  return {in_stage, row, pair_of(job, in_block, in_stage), job.row[row].p, job.row[row].q};
}

/// Stages a thread's pair of one stage. kAntennas: the launch has the seeds of antennas.
template <bool kAntennas, class T, bool kGeneral>
RT_HD void stage_pair(const DirectJob<T>& job, const DirectBlock& block, const StagedPair& at, int first_source,
                      Staged<T, kGeneral>& to) {
  const int source = first_source + at.in_stage;
  if (at.row < 0 || source >= job.n_source) return;
  const DeviceSource& s = job.source[source];
  const DeviceRow& row = job.row[at.row];
  const DeviceRun& run = job.run[block.run];
  DoubleDouble<double> path{};
  // Smearing and residuals need no more of it than a double has.
  if (!kAntennas || kGeneral || job.smear_frequency)
    path = kAntennas ? path_of<float>(s, row.u, row.v, row.w) : path_of<T>(s, row.u, row.v, row.w);
  if (!kGeneral || job.regular) {
    double amplitude = 1;
    if (job.smear_frequency) amplitude = smearing(2 * kPi * run.width_per_metre * path.hi);
    if (job.n_plane == 1 && job.n_weight_channel == 1)
      amplitude *= static_cast<double>(job.weight[source * job.n_weight_plane]);
    if constexpr (kAntennas) {
      const Seed<T>* of = job.antenna_seed + (std::int64_t{block.run} * job.n_source + source) * job.n_antenna;
      const Seed<T> p = of[at.p], q = of[at.q];  // copies, which are read in few pieces
      stage_phasor(run, difference(p, q), amplitude, at.pair, to);
    } else {
      stage_phasor(run, seed_of<T>(run, path), amplitude, at.pair, to);
    }
  }
  if constexpr (kGeneral) {
    stage_amplitudes(job, run, row, s, path, at.pair, to);
    if (job.with_jones() && !job.jones_vary()) stage_jones(corrupted(job, row, 0, source), at.pair, to);
  }
}

}  // namespace rimetree::psv::device
