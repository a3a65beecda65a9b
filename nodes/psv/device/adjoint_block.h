// The work of a block of threads of the adjoint kernel, in steps between which the threads of a block wait for each
// other:
//
//   for each stage of rows:  stage_adjoint | pull_stage |
//   for each sum:            put_sum | take_sum |
//
// A thread has one source and one tile of channels, and goes through rows: its sums stay in registers, and nothing is
// added up between threads before the end. With h_p the conjugate adjoint of plane p, w_p the source's weight there and
// K its phasor times amplitudes, the weights gain sum Re(h_p K), and with z = sum_p w_p h_p K the path gains
// -2 pi sum (nu/c) Im z and what follows from the amplitudes (see nodes/psv/adjoint/adjoint.h).
#pragma once

#include "nodes/psv/device/adjoint_job.h"
#include "nodes/psv/device/block.h"

namespace rimetree::psv {

/// Staged pairs of sources and rows, as in the forward kernel, but without weights and with the bandwidth smearing and
/// its derivative with respect to the path by themselves.
template <bool kGeneral>
struct StagedAdjoint : Staged<double, kGeneral> {
  double band[2][Staged<double, kGeneral>::kPairs];
};

/// Sums of a thread over rows. kSpectra: weights have derivatives for each channel.
template <int kPlanes, bool kSpectra>
struct SourceSums {
  double weight[kSpectra ? DeviceShape::kChannels : 1][kPlanes] = {};
  double position[3] = {};  ///< l, m, n, each as if independent of the others
  double shape[3] = {};     ///< major, minor axis, position angle
};

/// Sums over the channels of a tile, for one source and row.
template <int kPlanes>
struct TileSums {
  double weight[kPlanes] = {};
  double phase = 0;   ///< sum nu Im z
  double real = 0;    ///< sum Re z
  double cosine = 0;  ///< sum Re z with the cosine, over its argument in the middle, in place of the sinc
  double square = 0;  ///< sum nu^2 Re z
  double path = 0;    ///< the amplitudes' share in the derivatives with respect to path and change
  double change = 0;
};

/// Where a thread of a block is. Sources are side by side, so that neighbouring threads read the same adjoints.
struct AdjointPlace {
  std::int32_t source;  ///< within the block
  std::int32_t tile;    ///< of the run
  std::int32_t lane;    ///< it takes every lanes-th row
};
RT_HD inline AdjointPlace place_of(const DeviceAdjointJob& job, int thread) {
  const int rest = thread / job.sources;
  return {thread % job.sources, rest % job.sum.tiles, rest / job.sum.tiles};
}

/// Which sources, channels and rows a block has.
struct AdjointBlock {
  std::int32_t first_source = 0;
  std::int32_t run = 0;
  std::int32_t portion = 0;
};
RT_HD inline int first_row(const DeviceAdjointJob& job, const AdjointBlock& block) {
  return block.portion * job.rows_per_portion;
}
RT_HD inline int end_row(const DeviceAdjointJob& job, const AdjointBlock& block) {
  const int end = first_row(job, block) + job.rows_per_portion;
  return end < job.sum.n_row ? end : job.sum.n_row;
}

/// Stages the pair of a thread: a source of the block as row `stage_row` + thread / sources sees it.
template <bool kGeneral>
RT_HD void stage_adjoint(const DeviceAdjointJob& job, const AdjointBlock& block, int thread, int stage_row,
                         StagedAdjoint<kGeneral>& to) {
  const int source = block.first_source + thread % job.sources, row_number = stage_row + thread / job.sources;
  if (source >= job.sum.n_source || row_number >= end_row(job, block)) return;
  const DeviceRun& run = job.sum.run[block.run];
  const DeviceRow& row = job.sum.row[row_number];
  const DeviceSource& s = job.sum.source[source];
  const DoubleDouble<double> path = path_of(s, row);
  stage_source(job.sum, run, row, s, path, 1.0, thread, to);
  Dual<double> band{1.0, 0.0};
  if (job.sum.regular && job.sum.smear_frequency) {
    const double b = kPi * run.width_per_metre;
    band = sinc(Dual<double>{b * path.hi, b});
  }
  to.band[0][thread] = band.v;
  to.band[1][thread] = band.d;
  if constexpr (kGeneral)
    if (job.sum.with_jones()) stage_jones(corrupted(job.sum, row, 0, source), thread, to);
}

/// One channel's share: z = sum_p w_p h_p K, and Re(h_p K) times an amplitude goes to the weights' sums.
template <int kPlanes>
RT_HD Complex<double> weigh(const Complex<double>* h, std::int64_t stride, const double* w, Complex<double> k,
                            double amplitude, double* sums) {
  Complex<double> z{};
  RT_UNROLL
  for (int i = 0; i < adjoint_components(kPlanes); ++i) {
    const Complex<double> product = h[i * stride] * k;
    if constexpr (kPlanes == 8) {
      sums[2 * i] += product.re * amplitude;
      sums[2 * i + 1] -= product.im * amplitude;
      z += Complex<double>{w[2 * i], w[2 * i + 1]} * product;
    } else {
      sums[i] += product.re * amplitude;
      z.re += w[i] * product.re;
      z.im += w[i] * product.im;
    }
  }
  return z;
}

/// What weighs the planes of a source, at a channel of the launch where weights vary along them.
template <int kPlanes, bool kGeneral>
RT_HD void load_weights(const DeviceAdjointJob& job, int source, int pair, int channel,
                        const StagedAdjoint<kGeneral>& from, double* w) {
  if constexpr (kGeneral)
    if (job.sum.with_jones()) {
      for (int i = 0; i < kPlanes; ++i) w[i] = from.jones[i][pair];
      return;
    }
  const double* weight = job.sum.weight + (std::int64_t{source} * job.sum.n_weight_channel + channel) * job.sum.n_plane;
  for (int i = 0; i < kPlanes; ++i) w[i] = weight[i];
}

/// cos of the time smearing's arguments over the argument in the middle of the run, by the recurrence of sines.
RT_HD inline void tile_cosines(const Staged<double, true>& from, int pair, int n_tile, int tile,
                               double (&a)[DeviceShape::kChannels]) {
  constexpr int kHalf = DeviceShape::kChannels / 2;
  double s = from.sine[0][pair], c = from.sine[1][pair];
  if (n_tile > 1) {
    const TilePlace place = tile_place(n_tile, tile);
    const double cosine = from.sine_outer[place.outer][0][pair];
    const double sine = place.below ? -from.sine_outer[place.outer][1][pair] : from.sine_outer[place.outer][1][pair];
    const double turned = s * cosine + c * sine;
    c = c * cosine - s * sine;
    s = turned;
  }
  const double cosine = from.sine_inner[0][pair], sine = from.sine_inner[1][pair];
  a[kHalf] = c * cosine - s * sine;
  a[kHalf - 1] = c * cosine + s * sine;
  const double step = 2 - 4 * sine * sine;
  RT_UNROLL
  for (int k = 1; k < kHalf; ++k) {
    a[kHalf + k] = step * a[kHalf + k - 1] - a[kHalf + k - 2];
    a[kHalf - 1 - k] = step * a[kHalf - k] - a[kHalf + 1 - k];
  }
}

/// One source and row on a regular tile, without amplitudes.
template <int kPlanes>
RT_HD void pull_plain(const DeviceRun& run, int first, const Complex<double> (&k)[DeviceShape::kChannels],
                      const Complex<double>* h, std::int64_t stride, const double* w, TileSums<kPlanes>& sums) {
  RT_UNROLL
  for (int i = 0; i < DeviceShape::kChannels; ++i) {
    if (first + i >= run.count) break;
    const Complex<double> z = weigh<kPlanes>(h + i, stride, w, k[i], 1.0, sums.weight);
    sums.phase += (run.first_hz + (first + i) * run.spacing_hz) * z.im;
    sums.real += z.re;
  }
}

/// The same with smearing in time, tapers, and weights that vary along channels.
template <int kPlanes, bool kSpectra>
RT_HD void pull_shaped(const DeviceAdjointJob& job, const DeviceRun& run, int source, int pair, int tile,
                       const StagedAdjoint<true>& from, Complex<double> (&k)[DeviceShape::kChannels],
                       const Complex<double>* h, TileSums<kPlanes>& sums, SourceSums<kPlanes, kSpectra>& all) {
  const int first = tile * DeviceShape::kChannels;
  double sine[DeviceShape::kChannels], cosine[DeviceShape::kChannels], taper[DeviceShape::kChannels];
  if (job.sum.smear_time) {
    tile_smearing(from, pair, run.n_tile, tile, sine);
    tile_cosines(from, pair, run.n_tile, tile, cosine);
  }
  RT_UNROLL
  for (double& one : taper) one = 1;
  if (job.sum.taper) taper_tile(run, tile, from.taper[pair], taper);
  double w[kPlanes];
  if constexpr (!kSpectra) load_weights<kPlanes>(job, source, pair, 0, from, w);
  RT_UNROLL
  for (int i = 0; i < DeviceShape::kChannels; ++i) {
    if (first + i >= run.count) break;
    const DeviceChannel& channel = job.sum.channel[run.first + first + i];
    if constexpr (kSpectra) load_weights<kPlanes>(job, source, pair, run.first + first + i, from, w);
    const double amplitude = job.sum.smear_time ? sine[i] * channel.middle_over_frequency : 1.0;
    double* weights = sums.weight;
    double scale = amplitude;
    if constexpr (kSpectra) weights = all.weight[i], scale *= from.band[0][pair];
    const double nu = channel.frequency_hz;
    const Complex<double> z = weigh<kPlanes>(h + i, job.sum.n_out_channel, w, k[i] * taper[i], scale, weights);
    sums.phase += nu * amplitude * z.im;
    sums.real += amplitude * z.re;
    sums.square += nu * nu * amplitude * z.re;
    if (job.sum.smear_time) sums.cosine += cosine[i] * z.re;
  }
}

/// Adds a channel's weights to where they belong, without an index that is not known when this is compiled.
template <int kPlanes, bool kSpectra>
RT_HD void add_weights(const double* weights, int channel, TileSums<kPlanes>& sums,
                       SourceSums<kPlanes, kSpectra>& all) {
  for (int p = 0; p < kPlanes; ++p) {
    if constexpr (kSpectra) {
      RT_UNROLL
      for (int k = 0; k < DeviceShape::kChannels; ++k)
        if (k == channel) all.weight[k][p] += weights[p];
    } else {
      sums.weight[p] += weights[p];
    }
  }
}

/// The same where channels are irregular: phasor and amplitudes of each from its path.
template <int kPlanes, bool kSpectra>
RT_HD void pull_irregular(const DeviceAdjointJob& job, const DeviceRun& run, int source, int pair, int tile,
                          const StagedAdjoint<true>& from, const Complex<double>* h, TileSums<kPlanes>& sums,
                          SourceSums<kPlanes, kSpectra>& all) {
  const int first = tile * DeviceShape::kChannels;
  const DoubleDouble<double> path{from.path[0][pair], from.path[1][pair]};
  double w[kPlanes];
  if constexpr (!kSpectra) load_weights<kPlanes>(job, source, pair, 0, from, w);
  // Not unrolled: it is long, and rare.
  for (int i = 0; i < DeviceShape::kChannels && first + i < run.count; ++i) {
    const DeviceChannel& c = job.sum.channel[run.first + first + i];
    const double nu = c.frequency_hz;
    if constexpr (kSpectra) load_weights<kPlanes>(job, source, pair, run.first + first + i, from, w);
    Complex<double> k = turn(reduced_turns(path, DoubleDouble<double>{c.turns_high, c.turns_low}));
    if (job.sum.taper) k = k * exp(-from.taper[pair] * nu * nu);
    Dual<double> band{1.0, 0.0}, smeared{1.0, 0.0};
    const double b = kPi * c.width_per_metre;
    if (job.sum.smear_frequency) band = sinc(Dual<double>{b * path.hi, b});
    if (job.sum.smear_time) smeared = sinc(Dual<double>{kPi * nu * from.change[pair], kPi * nu});
    const double amplitude = band.v * smeared.v;
    double weights[kPlanes] = {};
    const Complex<double> z = weigh<kPlanes>(h + i, job.sum.n_out_channel, w, k, amplitude, weights);
    add_weights(weights, i, sums, all);
    sums.phase += nu * amplitude * z.im;
    sums.path += band.d * smeared.v * z.re;
    sums.change += band.v * smeared.d * z.re;
    sums.square += nu * nu * amplitude * z.re;
  }
}

/// What the time smearing of a regular run adds to the derivative with respect to the change: (cos x - sinc x)/change.
RT_HD inline double change_share(const DeviceRun& run, double change, double real, double cosine, double square) {
  const double x = abs(kPi * change * run.middle_hz);
  if (x < 1e-4) return -kPi * kPi / 3 * change * square;  // the next term is x^2 / 10 of it
  return (cosine * x - real) / change;
}

/// From derivatives with respect to what a source shows behind its Jones terms, J_p B J_q^H, to those with respect to
/// B: J_p^H X J_q.
RT_HD inline void pull_through_jones(const DeviceAdjointJob& job, const DeviceRow& row, int source, double* weight) {
  const Jones<double> x{{weight[0], weight[1]}, {weight[2], weight[3]}, {weight[4], weight[5]}, {weight[6], weight[7]}};
  const Jones<double> b = hermitian(jones_at(job.sum.left, row.left, row.time, 0, source)) * x *
                          hermitian(jones_at(job.sum.right, row.right, row.time, 0, source));
  const Complex<double> e[4] = {b.xx, b.xy, b.yx, b.yy};
  for (int i = 0; i < 4; ++i) weight[2 * i] = e[i].re, weight[2 * i + 1] = e[i].im;
}

/// From sums over channels to derivatives with respect to direction and shape.
template <int kPlanes, bool kSpectra>
RT_HD void add_row(const DeviceAdjointJob& job, const DeviceRow& row, const DeviceSource& s, TileSums<kPlanes>& of,
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
    constexpr double kScale =
        kPi * kPi / (4 * 0.693147180559945309417232121458) / (kSpeedOfLight_m_s * kSpeedOfLight_m_s);
    const double of_exponent = -2 * kScale * of.square;
    const double along = row.u * s.sin_angle + row.v * s.cos_angle, across = row.u * s.cos_angle - row.v * s.sin_angle;
    all.shape[0] += of_exponent * s.major_rad * along * along;
    all.shape[1] += of_exponent * s.minor_rad * across * across;
    all.shape[2] += of_exponent * (s.major_rad * s.major_rad - s.minor_rad * s.minor_rad) * along * across;
  }
}

/// One source and row on the tile of a thread.
template <int kPlanes, bool kGeneral, bool kSpectra>
RT_HD void pull_row(const DeviceAdjointJob& job, const DeviceRun& run, int row_number, int source, int pair, int tile,
                    const StagedAdjoint<kGeneral>& from, SourceSums<kPlanes, kSpectra>& all) {
  const DeviceRow& row = job.sum.row[row_number];
  const Complex<double>* h = job.adjoint + std::int64_t{row_number} * job.row_stride +
                             (run.first - job.sum.first_channel + tile * DeviceShape::kChannels);
  TileSums<kPlanes> sums;
  if (!kGeneral || job.sum.regular) {
    Complex<double> k[DeviceShape::kChannels];
    tile_phasors(from, pair, run.n_tile, tile, k);
    if constexpr (kGeneral) {
      if (job.sum.residual) turn_by_residuals(job.sum, run, from.path[0][pair], tile, k);
      pull_shaped<kPlanes, kSpectra>(job, run, source, pair, tile, from, k, h, sums, all);
      if (job.sum.smear_time)
        sums.change = change_share(run, from.change[pair], sums.real, sums.cosine, sums.square) * from.band[0][pair];
    } else {
      double w[kPlanes];
      load_weights<kPlanes>(job, source, pair, 0, from, w);
      pull_plain<kPlanes>(run, tile * DeviceShape::kChannels, k, h, job.sum.n_out_channel, w, sums);
    }
    const double band = from.band[0][pair];
    for (int p = 0; p < kPlanes; ++p) sums.weight[p] *= band;
    sums.phase *= band;
    sums.square *= band;
    sums.path = from.band[1][pair] * sums.real;
  } else if constexpr (kGeneral) {
    pull_irregular<kPlanes, kSpectra>(job, run, source, pair, tile, from, h, sums, all);
  }
  if constexpr (kGeneral && kPlanes == 8 && !kSpectra)
    if (job.sum.with_jones() && job.weights) pull_through_jones(job, row, source, sums.weight);
  add_row(job, row, job.sum.source[source], sums, all);
}

/// Takes the staged rows: a thread those of its lane.
template <int kPlanes, bool kGeneral, bool kSpectra>
RT_HD void pull_stage(const DeviceAdjointJob& job, const AdjointBlock& block, int thread, int stage_row,
                      const StagedAdjoint<kGeneral>& from, SourceSums<kPlanes, kSpectra>& sums) {
  const AdjointPlace place = place_of(job, thread);
  const DeviceRun& run = job.sum.run[block.run];
  const int source = block.first_source + place.source;
  if (source >= job.sum.n_source || place.tile >= run.n_tile) return;
  const int left = end_row(job, block) - stage_row;
  const int n_staged = left < job.rows_per_stage() ? left : job.rows_per_stage();
  for (int r = place.lane; r < n_staged; r += job.lanes())
    pull_row<kPlanes, kGeneral, kSpectra>(job, run, stage_row + r, source, r * job.sources + place.source, place.tile,
                                          from, sums);
}

/// All sums that a source may have: weights, positions, shapes.
template <int kPlanes, bool kSpectra>
inline constexpr int kSourceSums = (kSpectra ? 0 : kPlanes) + 6;

/// Which of the sums asked for one of these is; -1: it is not.
template <int kPlanes, bool kSpectra>
RT_HD int sum_number(const DeviceAdjointJob& job, int sum) {
  constexpr int kWeights = kSpectra ? 0 : kPlanes;
  if (sum < kWeights) return job.weights ? sum : -1;
  const int rest = sum - kWeights;
  if (rest < 3) return job.positions ? job.weight_sums() + rest : -1;
  return job.shapes ? job.weight_sums() + (job.positions ? 3 : 0) + rest - 3 : -1;
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
  for (int i = 0; i < 3; ++i) {
    if (sum == kWeights + i) value = sums.position[i];
    if (sum == kWeights + 3 + i) value = sums.shape[i];
  }
  shared[thread] = value;
}
/// The threads of a source, in order. `i`: the number of the sum among those asked for.
RT_HD inline void take_sum(const DeviceAdjointJob& job, const AdjointBlock& block, int thread, int i,
                           const double* shared) {
  const int source = block.first_source + thread;
  if (thread >= job.sources || source >= job.sum.n_source) return;
  double sum = 0;
  for (int k = thread; k < DeviceShape::kThreads; k += job.sources) sum += shared[k];
  const std::int64_t group = std::int64_t{block.portion} * job.sum.n_run + block.run;
  job.partial[(group * job.sum.n_source + source) * job.n_sum + i] = sum;
}

/// Sums of weights that vary along channels: each thread has its own.
template <int kPlanes>
RT_HD void store_spectra(const DeviceAdjointJob& job, const AdjointBlock& block, int thread,
                         const SourceSums<kPlanes, true>& sums) {
  const AdjointPlace place = place_of(job, thread);
  const DeviceRun& run = job.sum.run[block.run];
  const int source = block.first_source + place.source, first = place.tile * DeviceShape::kChannels;
  if (source >= job.sum.n_source || place.tile >= run.n_tile) return;
  const std::int64_t group = std::int64_t{block.portion} * job.lanes() + place.lane;
  double* to = job.channel_partial + group * job.channel_values() +
               (std::int64_t{source} * job.sum.n_out_channel + (run.first - job.sum.first_channel)) * kPlanes;
  RT_UNROLL
  for (int k = 0; k < DeviceShape::kChannels; ++k) {
    if (first + k >= run.count) break;
    for (int p = 0; p < kPlanes; ++p) to[(first + k) * kPlanes + p] = sums.weight[k][p];
  }
}

}  // namespace rimetree::psv
