// The visibilities of a row, interpolated on the grids. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_UV_GRID_DEGRID_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_UV_GRID_DEGRID_INL_H_
#undef RIMETREE_NODES_PSV_UV_GRID_DEGRID_INL_H_
#else
#define RIMETREE_NODES_PSV_UV_GRID_DEGRID_INL_H_
#endif

#include "nodes/psv/uv_grid/sample_places-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::uv_grid {
namespace HWY_NAMESPACE {

/// The values of samples of a row, of the series that grids at hand belong to. Some samples are interpolated together,
/// a grid after the other: what they read of one stays in the nearest cache.
class SampleValues {
 public:
  explicit SampleValues(const SampledRow& row)
      : row_(row),
        point_(point_of(row.plan, row.of.rows, row.number)),
        first_(row.plan.grids[row.grids.first].series),
        end_(row.plan.grids[row.grids.first + row.grids.count - 1].series + 1) {}

  void begin(std::size_t n_sample) {
    n_sample_ = n_sample;
    count_ = done_ = 0;
    row_.values.assign((end_ - first_) * n_sample, {});
  }
  /// The next one, at p (U, V, W) + q (dU, dV, dW).
  void add(long double p, long double q) {
    samples_[count_] = place_sample(row_.plan, point_, p, q);
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
    for (std::size_t i = 0; i < count_; ++i) stencils_[i].set(kernel, samples_[i].place[0], samples_[i].place[1]);
  }
  void add_grid(const GriddingKernel& kernel, GridNumber number, const Complex<double>* grid) {
    const std::size_t n_mode = row_.plan.axis[1].n_mode, width = static_cast<std::size_t>(kernel.width);
    const auto skipped = static_cast<std::int32_t>(cells_skipped(row_.plan, kernel));
    Complex<double>* to = row_.values.data() + (number.series - first_) * n_sample_ + done_;
    with_stride(kernel, [&](auto stride) HWY_ATTR {
      for (std::size_t i = 0; i < count_; ++i) {
        const Sample& sample = samples_[i];
        const std::size_t at = static_cast<std::size_t>(sample.first[0] + skipped) * n_mode +
                               static_cast<std::size_t>(sample.first[1] + skipped);
        const Complex<double> value =
            shares_[i][number.w] * interpolate<decltype(stride)::value>(stencils_[i], width, grid + at, n_mode);
        to[i] += sample.phasor * (sample.mirrored ? conj(value) : value);
      }
    });
  }

  const SampledRow& row_;
  RowPoint point_;
  std::size_t first_, end_;  // series
  std::size_t n_sample_ = 0, done_ = 0, count_ = 0;
  Sample samples_[kTogether];
  Stencil stencils_[kTogether];
  double shares_[kTogether][kMostPoints];
};

inline Complex<double>* plane_of(const SampledRow& row, const GridSeries& series) {
  return row.to + row.plan.sky.slot_of(series.plane) * row.of.n_channel();
}

/// Each cell by rules of its own; some channels at a time.
inline void add_by_rules(const SampledRow& row, SampleValues& values) {
  const Channels& channels = row.of.channels;
  const CellMeans& means = row.plan.means;
  const RowMeans& how = means.rows[row.number];
  const ExposureRule &of_time = exposure_rule(how.n_time), &of_width = exposure_rule(how.n_frequency);
  const std::size_t n_channel = row.of.n_channel(), n_term = row.plan.sky.n_term;
  const std::size_t each = std::size_t{how.n_time} * how.n_frequency, together = channels_together(how);
  double terms[kMaxTerms];
  for (std::size_t first = 0; first < n_channel; first += together) {
    const std::size_t count = std::min(together, n_channel - first);
    values.begin(count * each);
    for_samples_by_rules(means, channels, how, first, first + count,
                         [&values](long double p, long double q) { values.add(p, q); });
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
    values.begin(static_cast<std::size_t>(band.n_point * exposure.n_point));
    for_samples_by_points(means, segment, band, exposure,
                          [&values](long double p, long double q) { values.add(p, q); });
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
