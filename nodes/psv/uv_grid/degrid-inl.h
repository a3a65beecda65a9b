// The visibilities of a row, interpolated on the grids. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_UV_GRID_DEGRID_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_UV_GRID_DEGRID_INL_H_
#undef RIMETREE_NODES_PSV_UV_GRID_DEGRID_INL_H_
#else
#define RIMETREE_NODES_PSV_UV_GRID_DEGRID_INL_H_
#endif

#include <cmath>

#include "nodes/psv/fourier/gridding-inl.h"
#include "nodes/psv/uv_grid/grids.h"
#include "nodes/psv/uv_grid/samples.h"
#include "runtime/math/conventions.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::uv_grid {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace fourier::HWY_NAMESPACE;

/// One visibility: a channel of a row, or a node of the rules that smear it.
struct Sample {
  std::size_t first = 0;  ///< of the modes that the kernel covers, from the beginning of a grid
  double w = 0;           ///< in [-1, 1] between the points in W
  Complex<double> phasor;
  bool mirrored = false;
  alignas(64) double along_u[2 * kMaxKernelWidth], along_v[2 * kMaxKernelWidth];
};

/// What all samples of a row are made of, in metres.
struct RowPoint {
  Point at, change;  ///< U, V, W; over the exposure
  long double path = 0, path_change = 0;
};

inline RowPoint point_of(const SampledRow& row) {
  const Rows& rows = row.of.rows;
  const Frame& frame = row.plan.frame;
  const std::size_t r = row.number;
  RowPoint point{frame.of_baseline(rows.u[r], rows.v[r], rows.w[r]),
                 {{0, 0, 0}},
                 frame.common_path(rows.u[r], rows.v[r], rows.w[r])};
  if (row.plan.rows[r].time == 1) return point;
  const Point rate = frame.of_baseline(rows.du[r], rows.dv[r], rows.dw[r]);
  for (int i = 0; i < 3; ++i) point.change.at[i] = rows.exposure_s[r] * rate.at[i];
  point.path_change = rows.exposure_s[r] * frame.common_path(rows.du[r], rows.dv[r], rows.dw[r]);
  return point;
}

/// The sample at p (U, V, W) + q (dU, dV, dW), p and q in turns per metre.
inline void place_sample(const UvGridPlan& plan, const RowPoint& point, long double p, long double q, Sample& sample) {
  long double at[3], turns = p * point.path + q * point.path_change;
  for (int i = 0; i < 3; ++i) {
    at[i] = p * point.at.at[i] + q * point.change.at[i];
    turns += at[i] * plan.sources.middle(i);
  }
  const double angle = 2 * kPi * static_cast<double>(turns - std::rint(turns));
  sample.phasor = {std::cos(angle), std::sin(angle)};
  sample.mirrored = plan.mirror >= 0 && at[plan.mirror] < 0;
  if (sample.mirrored)
    for (long double& coordinate : at) coordinate = -coordinate;
  sample.first = 0;
  for (int i = 0; i < 2; ++i) {
    const GridAxis& axis = plan.axis[i];
    const long double start = (at[i] - plan.samples.middle(i)) * axis.modes_per_wavelength - 0.5L * plan.kernel->width;
    const long double first = std::ceil(start);
    sample.first =
        sample.first * axis.n_mode + static_cast<std::size_t>(static_cast<std::ptrdiff_t>(first) - axis.first_mode);
    kernel_values(*plan.kernel, static_cast<double>(2 * (first - start) - 1), i == 0 ? sample.along_u : sample.along_v);
  }
  const double half = plan.samples.half(2);
  sample.w = half > 0 ? static_cast<double>(at[2] - plan.samples.middle(2)) / half : 0;
}

/// What each point in W counts.
inline void w_shares(const WPoints& points, int n, double w, double* shares) {
  if (n == 1) {
    shares[0] = 1;
    return;
  }
  double sum = 0;
  for (int k = 0; k < n; ++k) {
    const double from = w - points.at[k];
    if (from == 0) {
      std::fill_n(shares, n, 0.0);
      shares[k] = 1;
      return;
    }
    sum += shares[k] = points.weight[k] / from;
  }
  for (int k = 0; k < n; ++k) shares[k] /= sum;
}

/// The value of a grid there, by a kernel whose values are kStride numbers.
template <std::size_t kStride>
HWY_INLINE Complex<double> interpolate(const UvGridPlan& plan, const Sample& sample,
                                       const Complex<double>* HWY_RESTRICT grid) {
  const GridTag d;
  constexpr std::size_t kVectors = kStride / hn::MaxLanes(d);
  const std::size_t row = 2 * plan.axis[1].n_mode, width = static_cast<std::size_t>(plan.kernel->width);
  const auto* from = reinterpret_cast<const double*>(grid + sample.first);
  GridVec along[kVectors];
  for (GridVec& sum : along) sum = hn::Zero(d);
  for (std::size_t i = 0; i < width; ++i, from += row) {
    const GridVec psi = hn::Set(d, sample.along_u[2 * i]);
    for (std::size_t k = 0; k < kVectors; ++k)
      along[k] = hn::MulAdd(psi, hn::LoadU(d, from + k * hn::MaxLanes(d)), along[k]);
  }
  // Where a vector is one number, real and imaginary parts take turns.
  GridVec sum[2] = {hn::Zero(d), hn::Zero(d)};
  for (std::size_t k = 0; k < kVectors; ++k) {
    GridVec& to = sum[hn::MaxLanes(d) > 1 ? 0 : k % 2];
    to = hn::MulAdd(along[k], hn::Load(d, sample.along_v + k * hn::MaxLanes(d)), to);
  }
  alignas(64) double parts[8] = {};
  hn::Store(sum[0], d, parts);
  if (hn::MaxLanes(d) == 1) parts[1] = hn::GetLane(sum[1]);
  return {(parts[0] + parts[2]) + (parts[4] + parts[6]), (parts[1] + parts[3]) + (parts[5] + parts[7])};
}

/// T_0(x) to T_(n - 1)(x) of a channel.
inline void chebyshev_values(std::size_t channel, std::size_t n_channel, std::size_t n, double* values) {
  const double x = n_channel > 1 ? 2.0 * double(channel) / double(n_channel - 1) - 1 : 0;
  for (std::size_t j = 0; j < n; ++j) values[j] = j == 0 ? 1 : j == 1 ? x : 2 * x * values[j - 1] - values[j - 2];
}

/// Samples of a row that are interpolated together, a grid after the other: what they read of one stays in the nearest
/// cache.
class SampleBlock {
 public:
  explicit SampleBlock(const SampledRow& row) : row_(row), point_(point_of(row)) {}

  /// A node of the rules of a channel.
  void add(std::size_t channel, long double p, long double q, double weight) {
    Sample& sample = samples_[count_];
    place_sample(row_.plan, point_, p, q, sample);
    w_shares(row_.points, row_.plan.n_w, sample.w, shares_[count_]);
    chebyshev_values(channel, row_.of.n_channel(), row_.plan.sky.n_term, terms_[count_]);
    channel_[count_] = channel;
    weight_[count_] = weight;
    if (++count_ == kSamples) finish();
  }
  /// Brings what is left to the row.
  void finish() {
    const UvGridPlan& plan = row_.plan;
    Complex<double> sums[kSamples][4] = {};
    switch (plan.kernel->stride) {
      case 8:
        add_grids<8>(sums);
        break;
      case 16:
        add_grids<16>(sums);
        break;
      case 24:
        add_grids<24>(sums);
        break;
      default:
        add_grids<2 * kMaxKernelWidth>(sums);
    }
    for (std::size_t p = 0; p < plan.sky.planes.size(); ++p) {
      Complex<double>* to = row_.to + static_cast<std::ptrdiff_t>(plan.sky.slot_of(p)) * row_.plane_stride;
      for (std::size_t i = 0; i < count_; ++i) {
        const Complex<double> value = samples_[i].mirrored ? conj(sums[i][p]) : sums[i][p];
        to[channel_[i]] += weight_[i] * (samples_[i].phasor * value);
      }
    }
    count_ = 0;
  }

 private:
  static constexpr std::size_t kSamples = 16;

  template <std::size_t kStride>
  void add_grids(Complex<double> (&sums)[kSamples][4]) const {
    const UvGridPlan& plan = row_.plan;
    for (std::size_t g = 0; g < row_.grids.count; ++g) {
      const GridNumber number = grid_number(plan, row_.grids.first + g);
      const Complex<double>* grid = row_.grids.values + g * plan.grid_size();
      for (std::size_t i = 0; i < count_; ++i)
        sums[i][number.plane] +=
            shares_[i][number.w] * terms_[i][number.term] * interpolate<kStride>(plan, samples_[i], grid);
    }
  }

  const SampledRow& row_;
  RowPoint point_;
  std::size_t count_ = 0, channel_[kSamples];
  Sample samples_[kSamples];
  double weight_[kSamples], terms_[kSamples][kMaxTerms], shares_[kSamples][kMostWPoints];
};

inline void degrid_row(const SampledRow& row) {
  const Channels& channels = row.of.channels;
  const RowNodes nodes = row.plan.rows[row.number];
  const ExposureRule &of_time = exposure_rule(nodes.time), &of_width = exposure_rule(nodes.frequency);
  const auto per_hz = 1 / static_cast<long double>(kSpeedOfLight_m_s);
  const bool smeared = row.of.rows.is_smeared_in_frequency();
  SampleBlock block(row);
  for (std::size_t f = 0; f < row.of.n_channel(); ++f) {
    const long double nu = channels.frequency_hz[f] * per_hz;
    const long double half_width = smeared ? 0.5L * channels.width_hz[f] * per_hz : 0;
    for (int t = 0; t < nodes.time; ++t)
      for (int k = 0; k < nodes.frequency; ++k)
        block.add(f, nu + of_width.node[k] * half_width, 0.5L * of_time.node[t] * nu,
                  of_time.weight[t] * of_width.weight[k]);
  }
  block.finish();
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::uv_grid
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_UV_GRID_DEGRID_INL_H_
