// The arithmetic of a thread of the adjoint kernel: one source, one row, one tile of channels. With h_p the conjugate
// adjoint of plane p, w_p the source's weight there and K its phasor times amplitudes, the weights gain sum Re(h_p K),
// and with z = sum_p w_p h_p K the path gains -2 pi sum (nu/c) Im z and what follows from the amplitudes (see
// nodes/psv/adjoint/adjoint.h).
#pragma once

#include "nodes/psv/device/adjoint_weights.h"
#include "nodes/psv/device/direct_block.h"

namespace rimetree::psv::device {

/// cos of the time smearing's arguments over the argument in the middle of the run, by the recurrence of sines.
RT_HD inline void tile_cosines(const TileArguments& from, double (&a)[DeviceShape::kChannels]) {
  constexpr int kHalf = DeviceShape::kChannels / 2;
  a[kHalf] = from.above.re, a[kHalf - 1] = from.below.re;
  step_outwards(from.step, a);
}

/// Whether -G'/G of the tapers G is not one, and asked for.
RT_HD inline bool bends(const AdjointJob& job) { return job.shapes && !is_exponential(job.sum.profile); }

/// A regular tile, without amplitudes.
template <int kPlanes>
RT_HD void pull_plain(const AdjointJob& job, const TileOfRow& at, const Complex<double> (&k)[DeviceShape::kChannels],
                      const double* w, TileSums<kPlanes>& sums) {
  RT_UNROLL
  for (int i = 0; i < DeviceShape::kChannels; ++i) {
    if (at.first() + i >= at.run.count) break;
    const Complex<double> z = weigh<kPlanes>(at.h + i, job.sum.n_out_channel, w, k[i], 1.0, sums.weight);
    sums.phase += (at.run.first_hz + (at.first() + i) * at.run.spacing_hz) * z.im;
    sums.real += z.re;
  }
}

/// The same with smearing in time, tapers, and weights that vary along channels.
template <int kPlanes, bool kSpectra>
RT_HD void pull_shaped(const AdjointJob& job, const TileOfRow& at, const StagedAdjoint<true>& from,
                       const Complex<double> (&k)[DeviceShape::kChannels], TileSums<kPlanes>& sums,
                       SourceSums<kPlanes, kSpectra>& all) {
  double sine[DeviceShape::kChannels], cosine[DeviceShape::kChannels], taper[DeviceShape::kChannels];
  if (job.sum.smear_time) {
    const TileArguments x = tile_arguments(from, at.pair, at.run.n_tile, at.tile);
    tile_smearing(x, sine);
    tile_cosines(x, cosine);
  }
  RT_UNROLL
  for (double& one : taper) one = 1;
  if (job.sum.taper()) taper_tile(job.sum.profile, at.run, at.tile, from.taper[at.pair], taper);
  double w[kPlanes];
  if constexpr (!kSpectra) load_weights<kPlanes, true, kSpectra>(job, at, 0, from, w);
  RT_UNROLL
  for (int i = 0; i < DeviceShape::kChannels; ++i) {
    if (at.first() + i >= at.run.count) break;
    if constexpr (kSpectra && kPlanes == 8)
      if (is_nothing(at.h + i, job.sum.n_out_channel)) continue;
    const int number = at.run.first + at.first() + i;
    const DeviceChannel& channel = job.sum.channel[number];
    if constexpr (kSpectra) load_weights<kPlanes, true, kSpectra>(job, at, number, from, w);
    const double amplitude = job.sum.smear_time ? sine[i] * channel.middle_over_frequency : 1.0;
    const double nu = channel.frequency_hz;
    Complex<double> z;
    if constexpr (kSpectra) {
      double gained[kPlanes] = {};
      z = weigh<kPlanes>(at.h + i, job.sum.n_out_channel, w, k[i] * taper[i], amplitude * from.band[0][at.pair],
                         gained);
      add_weights(job, at, i, gained, sums, all);
    } else {
      z = weigh<kPlanes>(at.h + i, job.sum.n_out_channel, w, k[i] * taper[i], amplitude, sums.weight);
    }
    sums.phase += nu * amplitude * z.im;
    sums.real += amplitude * z.re;
    sums.square += nu * nu * amplitude * z.re;
    if (bends(job)) sums.fall += nu * nu * amplitude * z.re * fall_of(job.sum.profile, from.taper[at.pair] * nu * nu);
    if (job.sum.smear_time) sums.cosine += cosine[i] * z.re;
  }
}

/// The same where channels are irregular: phasor and amplitudes of each from its path.
template <int kPlanes, bool kSpectra>
RT_HD void pull_irregular(const AdjointJob& job, const TileOfRow& at, const StagedAdjoint<true>& from,
                          TileSums<kPlanes>& sums, SourceSums<kPlanes, kSpectra>& all) {
  const DoubleDouble<double> path{from.path[0][at.pair], from.path[1][at.pair]};
  double w[kPlanes];
  if constexpr (!kSpectra) load_weights<kPlanes, true, kSpectra>(job, at, 0, from, w);
  // Not unrolled: it is long, and rare.
  for (int i = 0; i < DeviceShape::kChannels && at.first() + i < at.run.count; ++i) {
    if constexpr (kSpectra && kPlanes == 8)
      if (is_nothing(at.h + i, job.sum.n_out_channel)) continue;
    const int number = at.run.first + at.first() + i;
    const DeviceChannel& c = job.sum.channel[number];
    const double nu = c.frequency_hz;
    if constexpr (kSpectra) load_weights<kPlanes, true, kSpectra>(job, at, number, from, w);
    Complex<double> k = turn(reduced_turns(path, DoubleDouble<double>{c.turns_high, c.turns_low}));
    if (job.sum.taper()) k = k * taper_of(job.sum.profile, from.taper[at.pair] * nu * nu);
    Dual<double> band{1.0, 0.0}, smeared{1.0, 0.0};
    const double b = kPi * c.width_per_metre;
    if (job.sum.smear_frequency) band = sinc(Dual<double>{b * path.hi, b});
    if (job.sum.smear_time) smeared = sinc(Dual<double>{kPi * nu * from.change[at.pair], kPi * nu});
    const double amplitude = band.v * smeared.v;
    double gained[kPlanes] = {};
    const Complex<double> z = weigh<kPlanes>(at.h + i, job.sum.n_out_channel, w, k, amplitude, gained);
    add_weights(job, at, i, gained, sums, all);
    sums.phase += nu * amplitude * z.im;
    sums.path += band.d * smeared.v * z.re;
    sums.change += band.v * smeared.d * z.re;
    sums.square += nu * nu * amplitude * z.re;
    if (bends(job)) sums.fall += nu * nu * amplitude * z.re * fall_of(job.sum.profile, from.taper[at.pair] * nu * nu);
  }
}

/// What the time smearing of a regular run adds to the derivative with respect to the change: (cos x - sinc x)/change.
RT_HD inline double change_share(const DeviceRun& run, double change, double real, double cosine, double square) {
  const double x = abs(kPi * change * run.middle_hz);
  if (x < 1e-4) return -kPi * kPi / 3 * change * square;  // the next term is x^2 / 10 of it
  return (cosine * x - real) / change;
}

/// From sums over channels to derivatives with respect to direction and shape.
template <int kPlanes, bool kSpectra>
RT_HD void add_row(const AdjointJob& job, const DeviceRow& row, const DeviceSource& s, TileSums<kPlanes>& of,
                   SourceSums<kPlanes, kSpectra>& all) {
  if constexpr (!kSpectra)
    for (int p = 0; p < kPlanes; ++p) all.weight[0][p] += of.weight[p];
  if (job.positions) {
    const double of_path = of.path - 2 * kPi / kSpeedOfLight_m_s * of.phase, of_change = of.change * row.exposure;
    all.position[0] += row.u * of_path + row.du * of_change;
    all.position[1] += row.v * of_path + row.dv * of_change;
    all.position[2] += row.w * of_path + row.dw * of_change;
  }
  if (job.shapes) {
    const double of_argument = -2 * argument_scale(job.sum.profile) * (bends(job) ? of.fall : of.square);
    const double along = of_argument * s.axes.along(row.u, row.v, row.w);
    const double across = of_argument * s.axes.across(row.u, row.v, row.w);
    all.axes[0] += along * row.u, all.axes[1] += along * row.v, all.axes[2] += along * row.w;
    all.axes[3] += across * row.u, all.axes[4] += across * row.v, all.axes[5] += across * row.w;
  }
}

/// Adds what a source gains on a tile of a row.
template <int kPlanes, bool kGeneral, bool kSpectra>
RT_HD void pull_row(const AdjointJob& job, const TileOfRow& at, const StagedAdjoint<kGeneral>& from,
                    SourceSums<kPlanes, kSpectra>& all) {
  TileSums<kPlanes> sums;
  if (!kGeneral || job.sum.regular) {
    Complex<double> k[DeviceShape::kChannels];
    tile_phasors(from, at.pair, at.run.n_tile, at.tile, k);
    if constexpr (kGeneral) {
      if (job.sum.residual) turn_by_residuals(job.sum, at.run, from.path[0][at.pair], at.tile, k);
      pull_shaped<kPlanes, kSpectra>(job, at, from, k, sums, all);
      if (job.sum.smear_time)
        sums.change =
            change_share(at.run, from.change[at.pair], sums.real, sums.cosine, sums.square) * from.band[0][at.pair];
    } else {
      double w[kPlanes];
      load_weights<kPlanes, kGeneral, kSpectra>(job, at, 0, from, w);
      pull_plain<kPlanes>(job, at, k, w, sums);
    }
    const double band = from.band[0][at.pair];
    for (int p = 0; p < kPlanes; ++p) sums.weight[p] *= band;
    sums.phase *= band;
    sums.square *= band;
    sums.fall *= band;
    sums.path = from.band[1][at.pair] * sums.real;
  } else if constexpr (kGeneral) {
    pull_irregular<kPlanes, kSpectra>(job, at, from, sums, all);
  }
  if constexpr (kGeneral && kPlanes == 8 && !kSpectra)
    if (job.sum.with_jones() && job.weights)
      job.sides() ? pull_to_side(job, at.row, 0, at.source, sums.weight)
                  : pull_to_brightness(job, at.row, at.source, sums.weight);
  add_row(job, at.row, job.sum.source[at.source], sums, all);
}

}  // namespace rimetree::psv::device
