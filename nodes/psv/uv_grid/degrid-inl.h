// The visibilities of a row, interpolated on the grids. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_UV_GRID_DEGRID_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_UV_GRID_DEGRID_INL_H_
#undef RIMETREE_NODES_PSV_UV_GRID_DEGRID_INL_H_
#else
#define RIMETREE_NODES_PSV_UV_GRID_DEGRID_INL_H_
#endif

#include <algorithm>
#include <cmath>

#include "nodes/psv/exposure_rule.h"
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
  std::size_t first = 0;  ///< of the modes that the widest kernel covers, from the beginning of a grid
  double place[2];        ///< in that mode, see GriddingKernel
  double w = 0;           ///< in [-1, 1] between the points in W
  Complex<double> phasor;
  bool mirrored = false;
  alignas(64) double along_u[2 * kMaxKernelWidth], along_v[2 * kMaxKernelWidth];  ///< of one kernel
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
  if (!row.plan.means.is_smeared_in_time(row.plan.means.rows[r])) return point;
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
    const long double start = (at[i] - plan.samples.middle(i)) * axis.modes_per_wavelength - 0.5L * plan.widest().width;
    const long double first = std::ceil(start);
    sample.first =
        sample.first * axis.n_mode + static_cast<std::size_t>(static_cast<std::ptrdiff_t>(first) - axis.first_mode);
    sample.place[i] = static_cast<double>(2 * (first - start) - 1);
  }
  const double half = plan.samples.half(2);
  sample.w = half > 0 ? static_cast<double>(at[2] - plan.samples.middle(2)) / half : 0;
}

/// The value of a grid there, by a kernel whose values are kStride numbers.
template <std::size_t kStride>
HWY_INLINE Complex<double> interpolate(const Sample& sample, std::size_t width, const Complex<double>* grid,
                                       std::size_t n_mode) {
  const GridTag d;
  constexpr std::size_t kVectors = kStride / hn::MaxLanes(d);
  const std::size_t row = 2 * n_mode;
  const auto* HWY_RESTRICT from = reinterpret_cast<const double*>(grid + sample.first);
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

/// The values of samples of a row, of the series that grids at hand belong to. Some samples are interpolated together,
/// a grid after the other: what they read of one stays in the nearest cache.
class SampleValues {
 public:
  explicit SampleValues(const SampledRow& row)
      : row_(row),
        point_(point_of(row)),
        first_(row.plan.grids[row.grids.first].series),
        end_(row.plan.grids[row.grids.first + row.grids.count - 1].series + 1) {}

  void begin(std::size_t n_sample) {
    n_sample_ = n_sample;
    count_ = done_ = 0;
    row_.values.assign((end_ - first_) * n_sample, {});
  }
  /// The next one, at p (U, V, W) + q (dU, dV, dW).
  void add(long double p, long double q) {
    place_sample(row_.plan, point_, p, q, samples_[count_]);
    if (++count_ == kTogether) flush();
  }
  void flush() {
    const UvGridPlan& plan = row_.plan;
    const GriddingKernel* kernel = nullptr;
    int n_w = 0;
    for (std::size_t g = 0; g < row_.grids.count; ++g) {
      const GridNumber number = plan.grids[row_.grids.first + g];
      const GridSeries& series = plan.series[number.series];
      if (kernel != &plan.kernel_of(series)) kernel = &plan.kernel_of(series), read_with(*kernel);
      if (n_w != series.n_w) {
        n_w = series.n_w;
        for (std::size_t i = 0; i < count_; ++i)
          row_.w_points[static_cast<std::size_t>(n_w)].shares(samples_[i].w, shares_[i]);
      }
      add_grid(*kernel, number, row_.grids.values + g * plan.grid_size());
    }
    done_ += count_;
    count_ = 0;
  }
  std::size_t first_series() const { return first_; }
  std::size_t end_series() const { return end_; }
  const Complex<double>* of(std::size_t series) const { return row_.values.data() + (series - first_) * n_sample_; }

 private:
  static constexpr std::size_t kTogether = 16;

  void read_with(const GriddingKernel& kernel) {
    for (std::size_t i = 0; i < count_; ++i) {
      kernel_values(kernel, samples_[i].place[0], samples_[i].along_u);
      kernel_values(kernel, samples_[i].place[1], samples_[i].along_v);
    }
  }
  void add_grid(const GriddingKernel& kernel, GridNumber number, const Complex<double>* grid) {
    switch (kernel.stride) {
      case 8:
        return add_grid<8>(kernel, number, grid);
      case 16:
        return add_grid<16>(kernel, number, grid);
      case 24:
        return add_grid<24>(kernel, number, grid);
      default:
        return add_grid<2 * kMaxKernelWidth>(kernel, number, grid);
    }
  }
  template <std::size_t kStride>
  void add_grid(const GriddingKernel& kernel, GridNumber number, const Complex<double>* grid) {
    const std::size_t n_mode = row_.plan.axis[1].n_mode, width = static_cast<std::size_t>(kernel.width);
    grid += static_cast<std::size_t>(cells_skipped(row_.plan, kernel)) * (n_mode + 1);
    Complex<double>* to = row_.values.data() + (number.series - first_) * n_sample_ + done_;
    for (std::size_t i = 0; i < count_; ++i) {
      const Complex<double> value = shares_[i][number.w] * interpolate<kStride>(samples_[i], width, grid, n_mode);
      to[i] += samples_[i].phasor * (samples_[i].mirrored ? conj(value) : value);
    }
  }

  const SampledRow& row_;
  RowPoint point_;
  std::size_t first_, end_;  // series
  std::size_t n_sample_ = 0, done_ = 0, count_ = 0;
  Sample samples_[kTogether];
  double shares_[kTogether][kMostPoints];
};

inline Complex<double>* plane_of(const SampledRow& row, const GridSeries& series) {
  return row.to + row.plan.sky.slot_of(series.plane) * row.of.n_channel();
}

constexpr long double kPerMetre = 1 / static_cast<long double>(kSpeedOfLight_m_s);

/// Each cell by rules of its own; some channels at a time.
inline void add_by_rules(const SampledRow& row, SampleValues& values) {
  const Channels& channels = row.of.channels;
  const CellMeans& means = row.plan.means;
  const RowMeans& how = means.rows[row.number];
  const ExposureRule &of_time = exposure_rule(how.n_time), &of_width = exposure_rule(how.n_frequency);
  const std::size_t n_channel = row.of.n_channel(), n_term = row.plan.sky.n_term;
  const std::size_t each = std::size_t{how.n_time} * how.n_frequency, together = (127 + each) / each;
  double terms[kMaxTerms];
  for (std::size_t first = 0; first < n_channel; first += together) {
    const std::size_t count = std::min(together, n_channel - first);
    values.begin(count * each);
    for (std::size_t f = first; f < first + count; ++f) {
      const long double nu = channels.frequency_hz[f] * kPerMetre, half = means.half_width_hz[f] * kPerMetre;
      for (int t = 0; t < how.n_time; ++t)
        for (int k = 0; k < how.n_frequency; ++k) values.add(nu + of_width.node[k] * half, 0.5L * of_time.node[t] * nu);
    }
    values.flush();
    for (std::size_t f = first; f < first + count; ++f) {
      chebyshev_values(f, n_channel, n_term, terms);
      for (std::size_t i = values.first_series(); i < values.end_series(); ++i) {
        const GridSeries& series = row.plan.series[i];
        const Complex<double>* value = values.of(i) + (f - first) * each;
        Complex<double> sum;
        for (int t = 0; t < how.n_time; ++t)
          for (int k = 0; k < how.n_frequency; ++k) sum += of_time.weight[t] * of_width.weight[k] * *value++;
        plane_of(row, series)[f] += terms[series.term] * sum;
      }
    }
  }
}

/// Means over the cells of channels k, k + 1, ... in the order of frequency, from samples [point of the band][point of
/// the exposure].
HWY_INLINE void mean_of_points(const CellMeans& means, const BandPoints& band, const ExposurePoints& exposure,
                               std::size_t k, const Complex<double>* HWY_RESTRICT value, double* HWY_RESTRICT re,
                               double* HWY_RESTRICT im) {
  const GridTag d;
  GridVec sum_re = hn::Zero(d), sum_im = hn::Zero(d);
  for (int i = 0; i < band.n_point; ++i) {
    GridVec in_re = hn::Zero(d), in_im = hn::Zero(d);
    const double* share = exposure.share.data() + k;
    for (int j = 0; j < exposure.n_point; ++j, ++value, share += means.stride) {
      const GridVec part = hn::LoadU(d, share);
      in_re = hn::MulAdd(part, hn::Set(d, value->re), in_re);
      in_im = hn::MulAdd(part, hn::Set(d, value->im), in_im);
    }
    const GridVec part = hn::LoadU(d, band.share.data() + static_cast<std::size_t>(i) * means.stride + k);
    sum_re = hn::MulAdd(part, in_re, sum_re);
    sum_im = hn::MulAdd(part, in_im, sum_im);
  }
  hn::Store(sum_re, d, re);
  hn::Store(sum_im, d, im);
}

/// Polynomials through samples at points of the band and the exposure.
inline void add_by_points(const SampledRow& row, SampleValues& values) {
  const GridTag d;
  const CellMeans& means = row.plan.means;
  const RowMeans& how = means.rows[row.number];
  const BandPoints& band = means.bands.at(how.band);
  const ExposurePoints& exposure = means.exposures.at(how.exposure);
  const std::size_t n_channel = row.of.n_channel(), n_term = row.plan.sky.n_term;
  double terms[kMaxTerms];
  alignas(64) double re[8], im[8];
  for (const Segment& segment : band.segments) {
    const long double middle = 0.5L * segment.low_hz + 0.5L * segment.high_hz;
    const long double half = 0.5L * segment.high_hz - 0.5L * segment.low_hz;
    values.begin(static_cast<std::size_t>(band.n_point * exposure.n_point));
    for (const double p : band.at)
      for (const double q : exposure.at)
        values.add((middle + half * p) * kPerMetre, 0.5L * q * means.highest_hz * kPerMetre);
    values.flush();
    for (std::size_t k = segment.begin; k < segment.end; k += hn::Lanes(d))
      for (std::size_t s = values.first_series(); s < values.end_series(); ++s) {
        const GridSeries& series = row.plan.series[s];
        mean_of_points(means, band, exposure, k, values.of(s), re, im);
        for (std::size_t i = 0; i < std::min(hn::Lanes(d), segment.end - k); ++i) {
          const std::size_t f = means.order[k + i];
          chebyshev_values(f, n_channel, n_term, terms);
          const double term = terms[series.term];
          plane_of(row, series)[f] += Complex<double>(term * re[i], term * im[i]);
        }
      }
  }
}

inline void degrid_row(const SampledRow& row) {
  SampleValues values(row);
  if (row.plan.means.rows[row.number].by_points)
    add_by_points(row, values);
  else
    add_by_rules(row, values);
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::uv_grid
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_UV_GRID_DEGRID_INL_H_
