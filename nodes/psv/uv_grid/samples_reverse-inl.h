// The transposes of degrid-inl.h and strips-inl.h. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_UV_GRID_SAMPLES_REVERSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_UV_GRID_SAMPLES_REVERSE_INL_H_
#undef RIMETREE_NODES_PSV_UV_GRID_SAMPLES_REVERSE_INL_H_
#else
#define RIMETREE_NODES_PSV_UV_GRID_SAMPLES_REVERSE_INL_H_
#endif

#include "nodes/psv/uv_grid/sample_places-inl.h"
#include "nodes/psv/uv_grid/samples_reverse.h"
#include "nodes/psv/uv_grid/strips-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::uv_grid {
namespace HWY_NAMESPACE {

/// The samples of a row, one after the other: those of a series lie together.
class PlacedRow {
 public:
  explicit PlacedRow(const AdjointRow& row)
      : row_(row), point_(point_of(row.plan, row.of.rows, row.number)), next_(row.first_sample) {}

  std::size_t n_series() const { return row_.batch.end_series - row_.batch.first_series; }
  const GridSeries& series(std::size_t i) const { return row_.plan.series[row_.batch.first_series + i]; }
  const Complex<double>* adjoint_of(const GridSeries& series) const {
    return row_.adjoint + series.plane * row_.of.n_channel();
  }
  /// What the next samples bring to the i-th series, before they are placed.
  Complex<double>* values(std::size_t i) { return row_.batch.value.data() + i * row_.batch.size() + next_; }

  /// The next one, at p (U, V, W) + q (dU, dV, dW).
  void add(long double p, long double q) {
    const Sample sample = place_sample(row_.plan, point_, p, q);
    SampleBatch& batch = row_.batch;
    for (int i = 0; i < 2; ++i) batch.first[i][next_] = sample.first[i], batch.place[i][next_] = sample.place[i];
    batch.w[next_] = sample.w;
    for (std::size_t i = 0; i < n_series(); ++i) {
      Complex<double>& value = *values(i);
      value = value * sample.phasor;
      // Weights are real then, so that the conjugate gives the same real part.
      if (sample.mirrored) value = conj(value);
    }
    ++next_;
  }

 private:
  const AdjointRow& row_;
  RowPoint point_;
  std::size_t next_;
};

inline void place_by_rules(const AdjointRow& row, PlacedRow& placed) {
  const RowMeans& how = row.plan.means.rows[row.number];
  const ExposureRule &of_time = exposure_rule(how.n_time), &of_width = exposure_rule(how.n_frequency);
  const std::size_t n_channel = row.of.n_channel(), n_term = row.plan.sky.n_term;
  double terms[kMaxTerms];
  for (std::size_t f = 0; f < n_channel; ++f) {
    chebyshev_values(f, n_channel, n_term, terms);
    for (std::size_t i = 0; i < placed.n_series(); ++i) {
      const GridSeries& series = placed.series(i);
      const Complex<double> adjoint = terms[series.term] * placed.adjoint_of(series)[f];
      Complex<double>* to = placed.values(i);
      for (int t = 0; t < how.n_time; ++t)
        for (int k = 0; k < how.n_frequency; ++k) *to++ = of_time.weight[t] * of_width.weight[k] * adjoint;
    }
    for_samples_by_rules(row.plan.means, row.of.channels, how, f, f + 1,
                         [&placed](long double p, long double q) { placed.add(p, q); });
  }
}

/// Adds what channels of one vector, whose adjoints are given, bring to [point of the band][point of the exposure]
/// [re, im][lane].
HWY_INLINE void add_to_points(const CellMeans& means, const BandPoints& band, const ExposurePoints& exposure,
                              std::size_t k, GridVec re, GridVec im, double* HWY_RESTRICT sums) {
  const GridTag d;
  for (int i = 0; i < band.n_point; ++i) {
    const GridVec part = hn::LoadU(d, band.share.data() + static_cast<std::size_t>(i) * means.stride + k);
    const GridVec of_re = hn::Mul(part, re), of_im = hn::Mul(part, im);
    const double* share = exposure.share.data() + k;
    for (int j = 0; j < exposure.n_point; ++j, share += means.stride, sums += 2 * hn::Lanes(d)) {
      const GridVec each = hn::LoadU(d, share);
      hn::Store(hn::MulAdd(each, of_re, hn::Load(d, sums)), d, sums);
      hn::Store(hn::MulAdd(each, of_im, hn::Load(d, sums + hn::Lanes(d))), d, sums + hn::Lanes(d));
    }
  }
}

inline void place_by_points(const AdjointRow& row, PlacedRow& placed) {
  const GridTag d;
  const CellMeans& means = row.plan.means;
  const RowMeans& how = means.rows[row.number];
  const BandPoints& band = means.bands.at(how.band);
  const ExposurePoints& exposure = means.exposures.at(how.exposure);
  const std::size_t n_channel = row.of.n_channel(), n_term = row.plan.sky.n_term, lanes = hn::Lanes(d);
  const auto n_point = static_cast<std::size_t>(band.n_point * exposure.n_point);
  row.sums.resize(2 * lanes * n_point + lanes);
  auto* sums = reinterpret_cast<double*>((reinterpret_cast<std::uintptr_t>(row.sums.data()) + 8 * lanes - 1) /
                                         (8 * lanes) * (8 * lanes));
  double terms[kMaxTerms];
  alignas(64) double re[8] = {}, im[8] = {};
  for (const Segment& segment : band.segments) {
    for (std::size_t s = 0; s < placed.n_series(); ++s) {
      const GridSeries& series = placed.series(s);
      std::fill_n(sums, 2 * lanes * n_point, 0.0);
      for (std::size_t k = segment.begin; k < segment.end; k += lanes) {
        for (std::size_t i = 0; i < lanes; ++i) {
          re[i] = im[i] = 0;
          if (k + i >= segment.end) continue;
          const std::size_t f = means.order[k + i];
          chebyshev_values(f, n_channel, n_term, terms);
          const Complex<double> adjoint = terms[series.term] * placed.adjoint_of(series)[f];
          re[i] = adjoint.re, im[i] = adjoint.im;
        }
        add_to_points(means, band, exposure, k, hn::Load(d, re), hn::Load(d, im), sums);
      }
      Complex<double>* to = placed.values(s);
      for (std::size_t i = 0; i < n_point; ++i)
        to[i] = {hn::GetLane(hn::SumOfLanes(d, hn::Load(d, sums + 2 * i * lanes))),
                 hn::GetLane(hn::SumOfLanes(d, hn::Load(d, sums + (2 * i + 1) * lanes)))};
    }
    for_samples_by_points(means, segment, band, exposure,
                          [&placed](long double p, long double q) { placed.add(p, q); });
  }
}

inline void place_adjoint_row(const AdjointRow& row) {
  PlacedRow placed(row);
  if (row.plan.means.rows[row.number].by_points)
    place_by_points(row, placed);
  else
    place_by_rules(row, placed);
}

/// Some samples together, a grid after the other: what they write of one stays in the nearest cache.
inline void spread_to_modes(const ModeStrip& strip) {
  constexpr std::size_t kTogether = 16;
  const UvGridPlan& plan = strip.plan;
  const SampleBatch& batch = strip.batch;
  const std::size_t n_mode = plan.axis[1].n_mode;
  Stencil stencils[kTogether];
  double shares[kTogether][kMostPoints];
  for (std::size_t first = 0; first < strip.n_sample; first += kTogether) {
    const std::size_t count = std::min(kTogether, strip.n_sample - first);
    const std::uint32_t* samples = strip.samples + first;
    const GriddingKernel* kernel = nullptr;
    int n_w = 0;
    for (std::size_t g = 0; g < strip.n_grid; ++g) {
      const GridNumber number = plan.grids[strip.first_grid + g];
      const GridSeries& series = plan.series[number.series];
      if (kernel != &plan.kernel_of(series)) {
        kernel = &plan.kernel_of(series);
        for (std::size_t i = 0; i < count; ++i)
          stencils[i].set(*kernel, batch.place[0][samples[i]], batch.place[1][samples[i]]);
      }
      if (n_w != series.n_w) {
        n_w = series.n_w;
        for (std::size_t i = 0; i < count; ++i)
          strip.w_points[static_cast<std::size_t>(n_w)].shares(batch.w[samples[i]], shares[i]);
      }
      const Complex<double>* value = batch.value.data() + (number.series - batch.first_series) * batch.size();
      Complex<double>* grid = strip.grids + g * plan.grid_size();
      const std::ptrdiff_t skipped = cells_skipped(plan, *kernel);
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t s = samples[i];
        const std::ptrdiff_t u = batch.first[0][s] + skipped;
        const std::ptrdiff_t begin = std::max<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(strip.begin) - u),
                             end = std::min<std::ptrdiff_t>(kernel->width, static_cast<std::ptrdiff_t>(strip.end) - u);
        if (begin >= end) continue;  // a wider kernel would reach this strip
        spread(stencils[i], static_cast<std::size_t>(kernel->stride), begin, end, shares[i][number.w] * value[s],
               grid + u * static_cast<std::ptrdiff_t>(n_mode) + batch.first[1][s] + skipped, n_mode);
      }
    }
  }
}

inline void read_gained(const ReadSources& job) {
  const PlacedSources& sources = job.sources;
  const GriddingKernel& kernel = job.plan.kernel_of(job.plan.series[job.grid.series]);
  const auto skipped = static_cast<std::size_t>(cells_skipped(job.plan, kernel));
  const double w = w_of(job.plan, job.grid);
  Stencil stencil;
  alignas(64) double weight[2 * kSourcePad];
  for (std::size_t first = job.begin; first < job.end; first += kSourcePad) {
    const std::size_t count = std::min(kSourcePad, job.end - first);
    weigh(sources, job.amplitude, w, first, count, weight);
    with_stride(kernel, [&](auto stride) HWY_ATTR {
      for (std::size_t s = first; s < first + count; ++s) {
        stencil.set(kernel, sources.place[1][s], sources.place[0][s]);
        const std::size_t at = (static_cast<std::size_t>(sources.cell[1][s]) + skipped) * job.stride +
                               static_cast<std::size_t>(sources.cell[0][s]) + skipped;
        const Complex<double> value = interpolate<decltype(stride)::value>(
            stencil, static_cast<std::size_t>(kernel.width), job.cells + at, job.stride);
        job.gained[s] += Complex<double>(weight[2 * (s - first)], weight[2 * (s - first) + 1]) * value;
      }
    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::uv_grid
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_UV_GRID_SAMPLES_REVERSE_INL_H_
