// What a block of threads stages for some terms of the sum: the phasors of the antennas of its tile on both sides, at
// all its channels, with weights or Jones products. One body for a GPU's threads and for the host. Each phasor is made
// from its antenna's path, with phases reduced in twice double precision; along a regular run of channels it advances
// from the middle.
#pragma once

#include "nodes/psv/matrix/matrix_job.h"

namespace rimetree::psv::matrix {

/// Shared memory of a block.
template <class T, class Shape, int kPlanes>
struct MatrixStaged {
  T phasor[2][Shape::kChannels][2][Shape::kDepth][Shape::kStride];  ///< [side][channel][re, im][term][entry]
  T weight[Shape::kChannels][kPlanes][Shape::kDepth];               ///< where there are several planes
  std::int32_t row_of[Shape::kTile][Shape::kTile];                  ///< [left][right]: first row of the pair, or -1
};

/// Which tile and channels a block has.
struct MatrixBlock {
  std::int32_t tile = 0, run = 0;
};

/// A term of the sum: a source at a pair of smearing nodes.
struct MatrixTerm {
  std::int32_t source;
  int time_node, frequency_node;
};
template <class T>
RT_HD MatrixTerm term_of(const MatrixJob<T>& job, std::int32_t term) {
  const std::int32_t nodes = job.n_time_node * job.n_frequency_node;
  if (nodes == 1) return {term, 0, 0};  // divisions are slow
  const std::int32_t node = term % nodes;
  return {term / nodes, node / job.n_frequency_node, node % job.n_frequency_node};
}

/// The phasors of an antenna and a term at the channels of a run, of antennas that are on the left.
template <class T, int kChannels>
RT_HD void run_phasors(const MatrixJob<T>& job, const DeviceRun& run, const MatrixAntenna& a, const MatrixTerm& term,
                       Complex<double> (&z)[kChannels]) {
  const DeviceSource& s = job.source[term.source];
  const DoubleDouble<double> centre =
      path_difference_exact(a.x, a.y, a.z, s.l, s.m, DoubleDouble<double>{s.n_high, s.n_low});
  const double change = path_difference_m(a.dx, a.dy, a.dz, s.l, s.m, s.n_high);
  const DoubleDouble<double> path{centre.hi, centre.lo + job.time_node[term.time_node] * change};
  const double across = 0.5 * job.frequency_node[term.frequency_node];
  if (!job.regular) {
    for (int c = 0; c < kChannels; ++c) {
      z[c] = {};
      if (c >= run.count) continue;
      const DeviceChannel& channel = job.channel[run.first + c];
      z[c] = turn(reduced_turns(path, DoubleDouble<double>{channel.turns_high, channel.turns_low}) +
                  reduced_turns(centre, DoubleDouble<double>{across * channel.width_per_metre, 0.0}));
    }
    return;
  }
  const Complex<double> middle = turn(reduced_turns(path, DoubleDouble<double>{run.middle_high, run.middle_low}) +
                                      reduced_turns(centre, DoubleDouble<double>{across * run.width_per_metre, 0.0}));
  if constexpr (kChannels == 1) {
    z[0] = middle;
  } else {
    constexpr int kHalf = kChannels / 2;
    const Complex<double> half = turn(reduced_turns(path, DoubleDouble<double>{run.half_step_high, run.half_step_low}));
    z[kHalf] = middle * half;
    z[kHalf - 1] = middle * conj(half);
    step_outwards(2.0 - 4.0 * half.im * half.im, z);
  }
}

template <class T, class Shape, int kPlanes>
RT_HD void put(MatrixStaged<T, Shape, kPlanes>& to, int side, int channel, int depth, int entry, Complex<double> z) {
  to.phasor[side][channel][0][depth][entry] = static_cast<T>(z.re);
  to.phasor[side][channel][1][depth][entry] = static_cast<T>(z.im);
}

/// One antenna and term, times what weighs it there: real, on the left. On the diagonal the same antenna is on the
/// right as well, where phasors are the conjugate ones.
template <class T, class Shape, int kPlanes>
RT_HD void stage_antenna(const MatrixJob<T>& job, const MatrixTile& tile, const DeviceRun& run, int side, int entry,
                         std::int32_t term_number, int depth, MatrixStaged<T, Shape, kPlanes>& to) {
  Complex<double> z[Shape::kChannels] = {};
  double nodes = 1;
  const MatrixTerm term = term_of(job, term_number);
  if (entry < (side == kLeftSide ? tile.n_left : tile.n_right) && term_number < job.n_term()) {
    const int antenna = (side == kLeftSide ? tile.first_left : tile.first_right) + entry;
    run_phasors(job, run, job.antenna[antenna], term, z);
    nodes = job.time_weight[term.time_node] * job.frequency_weight[term.frequency_node];
  }
  for (int c = 0; c < Shape::kChannels; ++c) {
    if (side == kRightSide || tile.diagonal) put(to, kRightSide, c, depth, entry, conj(z[c]));
    if (side == kRightSide) continue;
    double weight = nodes;
    if (kPlanes == 1 && term_number < job.n_term()) {
      const int channel = run.first + (c < run.count ? c : 0);
      weight *= static_cast<double>(
          job.weight[std::int64_t{term.source} * job.n_weight_channel + (job.n_weight_channel > 1 ? channel : 0)]);
    }
    put(to, kLeftSide, c, depth, entry, weight * z[c]);
  }
}

/// The same with 2x2 Jones products: two entries of two terms.
template <class T, class Shape, int kPlanes>
RT_HD void stage_matrix(const MatrixJob<T>& job, const MatrixTile& tile, const DeviceRun& run, int side, int entry,
                        std::int32_t term_number, int depth, MatrixStaged<T, Shape, kPlanes>& to) {
  Complex<double> z[Shape::kChannels] = {};
  const MatrixTerm term = term_of(job, term_number);
  const bool is_there = entry < (side == kLeftSide ? tile.n_left : tile.n_right) && term_number < job.n_term();
  const MatrixAntenna& antenna =
      job.antenna[is_there ? (side == kLeftSide ? tile.first_left : tile.first_right) + entry : 0];
  if (is_there) run_phasors(job, run, antenna, term, z);
  const double nodes =
      side == kLeftSide ? job.time_weight[term.time_node] * job.frequency_weight[term.frequency_node] : 1.0;
  for (int c = 0; c < Shape::kChannels; ++c) {
    const int channel = run.first - job.first_channel + (c < run.count ? c : 0);
    const Complex<double> phasor = nodes * (side == kLeftSide ? z[c] : conj(z[c]));
    Complex<double> e[4] = {};
    if (is_there) {
      for_each_element(
          jones_at(side == kLeftSide ? job.left : job.right, antenna.product, tile.time, channel, term.source),
          [&](int i, Complex<T> value) { e[i] = phasor * Complex<double>(value.re, value.im); });
    }
    // Left: rows are what a matrix gives, terms what it takes; right the other way round.
    for (int i = 0; i < 4; ++i)
      put(to, side, c, depth + (side == kLeftSide ? i % 2 : i / 2), 2 * entry + (side == kLeftSide ? i / 2 : i % 2),
          e[i]);
  }
}

/// The phasors that thread `thread` stages of the terms from `first_term` on.
template <bool kJones, class T, class Shape, int kPlanes>
RT_HD void stage_phasors(const MatrixJob<T>& job, const MatrixBlock& place, int thread, std::int32_t first_term,
                         MatrixStaged<T, Shape, kPlanes>& to) {
  constexpr int kPerAntenna = kJones ? 2 : 1, kEntries = Shape::kTile / kPerAntenna,
                kTerms = Shape::kDepth / kPerAntenna;
  const MatrixTile& tile = job.tile[place.tile];
  const DeviceRun& run = job.run[place.run];
  // Antennas side by side, so that threads write without conflict.
  for (int i = thread; i < 2 * kEntries * kTerms; i += Shape::kThreads) {
    const int entry = i % kEntries, term = i / kEntries % kTerms, side = i / kEntries / kTerms;
    if (side == kRightSide && tile.diagonal) break;
    if constexpr (kJones)
      stage_matrix(job, tile, run, side, entry, first_term + term, kPerAntenna * term, to);
    else
      stage_antenna(job, tile, run, side, entry, first_term + term, term, to);
  }
}

/// The same, and the weights of several planes.
template <class T, class Shape, int kPlanes>
RT_HD void stage(const MatrixJob<T>& job, const MatrixBlock& place, int thread, std::int32_t first_term,
                 MatrixStaged<T, Shape, kPlanes>& to) {
  if constexpr (kPlanes == 1) {
    if (job.with_jones()) return stage_phasors<true>(job, place, thread, first_term, to);
  }
  stage_phasors<false>(job, place, thread, first_term, to);
  if constexpr (kPlanes > 1) {
    const DeviceRun& run = job.run[place.run];
    for (int i = thread; i < Shape::kChannels * kPlanes * Shape::kDepth; i += Shape::kThreads) {
      const int term = i % Shape::kDepth, plane = i / Shape::kDepth % kPlanes, c = i / Shape::kDepth / kPlanes;
      const int channel = job.n_weight_channel > 1 && c < run.count ? run.first + c : 0;
      const bool is_there = first_term + term < job.n_term();
      const std::int64_t source = is_there ? term_of(job, first_term + term).source : 0;
      to.weight[c][plane][term] =
          is_there ? job.weight[(source * job.n_weight_channel + channel) * kPlanes + plane] : T(0);
    }
  }
}

}  // namespace rimetree::psv::matrix
