// Phasors and amplitudes of a thread of the PSV kernel at the channels of its tile, from what is staged of a source and
// row (direct_stage.h).
#pragma once

#include <climits>

#include "nodes/psv/device/direct_stage.h"

namespace rimetree::psv::device {

/// A tile of a run, from its middle: outer rotation number and direction.
struct TileRotation {
  int outer;
  bool below;
};
RT_HD inline TileRotation tile_rotation(int n_tile, int tile) {
  const int half_tiles = 2 * tile + 1 - n_tile;
  return {(half_tiles < 0 ? -half_tiles : half_tiles) / 2, half_tiles < 0};
}

/// -x where asked to, by its sign bit: subtractions of doubles would take turns with the sums.
RT_HD inline double negated_if(bool negative, double x) {
#ifdef __CUDA_ARCH__
  return __hiloint2double(__double2hiint(x) ^ (negative ? INT_MIN : 0), __double2loint(x));
#else
  return negative ? -x : x;
#endif
}
RT_HD inline float negated_if(bool negative, float x) { return negative ? -x : x; }

/// Phasor in the middle of a tile.
template <class T, bool kGeneral>
RT_HD Complex<T> tile_middle(const Staged<T, kGeneral>& from, int pair, TileRotation place) {
  const Complex<T> outer = from.outer[place.outer][pair];
  return from.middle[pair] * Complex<T>{outer.re, negated_if(place.below, outer.im)};
}

/// Phasors at the channels of a tile.
template <class T, bool kGeneral>
RT_HD void tile_phasors(const Staged<T, kGeneral>& from, int pair, int n_tile, int tile,
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
template <class T>
RT_HD void tile_rotations(const Staged<T, false>& from, int pair, Complex<T> (&rotation)[DeviceShape::kChannels / 2]) {
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
template <class T>
RT_HD TileArguments tile_arguments(const Staged<T, true>& from, int pair, int n_tile, int tile) {
  Complex<double> middle = from.sine[pair];
  if (n_tile > 1) {
    const TileRotation place = tile_rotation(n_tile, tile);
    const Complex<double> outer = from.sine_outer[place.outer][pair];
    middle = middle * Complex<double>{outer.re, negated_if(place.below, outer.im)};
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

/// Multiplies by the taper exp(-X nu^2): its ratio from channel to channel has a constant ratio itself.
RT_HD inline void exponential_taper_tile(const DeviceRun& run, int tile, double argument,
                                         double (&a)[DeviceShape::kChannels]) {
  const double step = run.spacing_hz, nu = run.first_hz + (tile * DeviceShape::kChannels) * step;
  double taper = exp(-argument * nu * nu), ratio = exp(-argument * step * (2 * nu + step));
  const double change = exp(-2 * argument * step * step);
  RT_UNROLL
  for (int k = 0; k < DeviceShape::kChannels; ++k) {
    a[k] *= taper;
    taper *= ratio;
    ratio *= change;
  }
}

/// Multiplies by the taper G(X nu^2).
RT_HD inline void taper_tile(Profile profile, const DeviceRun& run, int tile, double argument,
                             double (&a)[DeviceShape::kChannels]) {
  if (is_exponential(profile)) return exponential_taper_tile(run, tile, argument, a);
  for (int k = 0; k < DeviceShape::kChannels; ++k) {
    const double nu = run.first_hz + (tile * DeviceShape::kChannels + k) * run.spacing_hz;
    a[k] *= taper_of(profile, argument * nu * nu);
  }
}

/// Phasor with all amplitudes at one channel, from nothing but the path: where channels are irregular.
template <class T>
RT_HD Complex<T> channel_phasor(const DirectJob<T>& job, const Staged<T, true>& from, int pair, int channel) {
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
  RT_UNROLL
  for (int k = 0; k < DeviceShape::kChannels; ++k) {
    if (first + k >= run.count) break;
    const T x = static_cast<T>(2 * kPi * path * job.channel[run.first + first + k].residual);
    z[k] = {z[k].re - x * z[k].im, z[k].im + x * z[k].re};
  }
}

/// Phasors of a regular run, with their amplitudes. Arrays are indexed by constants only, so that they stay in
/// registers, but where the kernel is the one for anything.
template <DirectKind kKind, class T>
RT_HD void shaped_seeds(const DirectJob<T>& job, const DeviceRun& run, const Staged<T, true>& from, int pair, int tile,
                        Complex<T> (&z)[DeviceShape::kChannels]) {
  tile_phasors(from, pair, run.n_tile, tile, z);
  if (job.residual) turn_by_residuals(job, run, from.path[0][pair], tile, z);
  if (!job.smear_time && !job.taper()) return;
  double a[DeviceShape::kChannels];
  if (job.smear_time) {
    tile_smearing(tile_arguments(from, pair, run.n_tile, tile), a);
  } else {
    RT_UNROLL
    for (double& one : a) one = 1;
  }
  if (job.taper()) {
    if constexpr (kKind == DirectKind::kShaped)
      exponential_taper_tile(run, tile, from.taper[pair], a);
    else
      taper_tile(job.profile, run, tile, from.taper[pair], a);
  }
  RT_UNROLL
  for (int k = 0; k < DeviceShape::kChannels; ++k) z[k] = z[k] * static_cast<T>(a[k]);
}

/// Phasors of any channels, with their amplitudes.
template <DirectKind kKind, class T>
RT_HD void general_phasors(const DirectJob<T>& job, const DeviceRun& run, const Staged<T, true>& from, int pair,
                           int tile, Complex<T> (&z)[DeviceShape::kChannels]) {
  if (kKind == DirectKind::kShaped || job.regular) return shaped_seeds<kKind>(job, run, from, pair, tile, z);
  // With the weight of a single plane, which stage_pair puts into the phasor of regular runs, left to add_source.
  const int first = tile * DeviceShape::kChannels;
  for (int k = 0; k < DeviceShape::kChannels; ++k)
    z[k] = first + k < run.count ? channel_phasor(job, from, pair, run.first + first + k) : Complex<T>();
}

}  // namespace rimetree::psv::device
