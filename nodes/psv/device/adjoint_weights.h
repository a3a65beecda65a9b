// What the weights of a source gain from a row on the device: of planes, or behind Jones terms of the matrix P Q, with
// P = J_p B and Q = J_q^H. What that gains is a matrix X, of which P gains X Q^H, Q gains P^H X, and B gains J_p^H X
// J_q.
#pragma once

#include "nodes/psv/device/adjoint_stage.h"

namespace rimetree::psv::device {

/// Sums of a thread over rows. kSpectra: weights have derivatives for each channel.
template <int kPlanes, bool kSpectra>
struct SourceSums {
  double weight[kSpectra ? DeviceShape::kChannels : 1][kPlanes] = {};  ///< or those of one side of the Jones terms
  double position[3] = {};  ///< l, m, n, each as if independent of the others
  double axes[6] = {};      ///< components of both axes
};

/// Sums over the channels of a tile, for one source and row.
template <int kPlanes>
struct TileSums {
  double weight[kPlanes] = {};
  double phase = 0;   ///< sum nu Im z
  double real = 0;    ///< sum Re z
  double cosine = 0;  ///< sum Re z with the cosine, over its argument in the middle, in place of the sinc
  double square = 0;  ///< sum nu^2 Re z
  double fall = 0;    ///< the same times -G'/G of the taper G
  double path = 0;    ///< the amplitudes' share in the derivatives with respect to path and change
  double change = 0;
};

/// What a thread takes next: a source as a row sees it, on a tile of a run.
struct TileOfRow {
  const DeviceRun& run;
  const DeviceRow& row;
  int source, pair, tile;
  const Complex<double>* h;                                          ///< conjugate adjoints at the tile's first channel
  RT_HD int first() const { return tile * DeviceShape::kChannels; }  ///< channel, within the run
};

RT_HD inline void put_matrix(const Jones<double>& m, double* x) {
  for_each_element(m, [x](int i, Complex<double> z) { x[2 * i] = z.re, x[2 * i + 1] = z.im; });
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

/// What weighs the planes of a source, at a channel where weights vary along them. Weights that vary behind Jones terms
/// are made where something asks for them only.
template <int kPlanes, bool kGeneral, bool kSpectra>
RT_HD void load_weights(const AdjointJob& job, const TileOfRow& at, int channel, const StagedAdjoint<kGeneral>& from,
                        double* w) {
  if constexpr (kGeneral && kPlanes == 8)
    if (job.sum.with_jones()) {
      for (int i = 0; i < kPlanes; ++i) w[i] = kSpectra ? 0 : from.jones[i][at.pair];
      if (kSpectra && (job.positions || job.shapes))
        put_matrix(corrupted(job.sum, at.row, channel - job.sum.first_channel, at.source), w);
      return;
    }
  const double* weight =
      job.sum.weight + (std::int64_t{at.source} * job.sum.n_weight_channel + channel) * job.sum.n_plane;
  for (int i = 0; i < kPlanes; ++i) w[i] = weight[i];
}

/// Whether nothing depends on a channel. Its Jones terms may be anything then.
RT_HD inline bool is_nothing(const Complex<double>* h, std::int64_t stride) {
  for (int i = 0; i < 4; ++i)
    if (h[i * stride].re != 0 || h[i * stride].im != 0) return false;
  return true;
}

/// From X to what one side gains. `channel`: of the launch.
RT_HD inline void pull_to_side(const AdjointJob& job, const DeviceRow& row, int channel, int source, double* x) {
  if (job.right)
    put_matrix(hermitian(left_side(job.sum, row, channel, source)) * jones_from(x), x);
  else
    put_matrix(jones_from(x) * hermitian(right_side(job.sum, row, channel, source)), x);
}
/// From X to what the brightness gains, where it is apart from the products on the left.
RT_HD inline void pull_to_brightness(const AdjointJob& job, const DeviceRow& row, int source, double* x) {
  const Jones<double> left = jones_at(job.sum.left, row.left, row.time, 0, source);
  put_matrix(hermitian(left) * jones_from(x) * hermitian(right_side(job.sum, row, 0, source)), x);
}

/// Adds what the weights gain at channel `i` of the tile to where it belongs, without an index that is not known when
/// this is compiled.
template <int kPlanes, bool kSpectra>
RT_HD void add_weights(const AdjointJob& job, const TileOfRow& at, int i, double* gained, TileSums<kPlanes>& sums,
                       SourceSums<kPlanes, kSpectra>& all) {
  if constexpr (kSpectra && kPlanes == 8)
    if (job.sides() && job.weights)
      pull_to_side(job, at.row, at.run.first + at.first() + i - job.sum.first_channel, at.source, gained);
  for (int p = 0; p < kPlanes; ++p) {
    if constexpr (kSpectra) {
      RT_UNROLL
      for (int k = 0; k < DeviceShape::kChannels; ++k)
        if (k == i) all.weight[k][p] += gained[p];
    } else {
      sums.weight[p] += gained[p];
    }
  }
}

}  // namespace rimetree::psv::device
